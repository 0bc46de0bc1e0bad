import type { SkillRuntime } from '@skillstoke/core'
import { defined, quote, toMessage } from '@skillstoke/core/internal'
import type { FleetSource, SkillPublisher } from '@skillstoke/fleet'
import { Hono } from 'hono'
import { z } from 'zod'
import type { FleetRollbackRequest } from '../client/api-types.ts'
import { readSigner } from '../config/fleet-config.ts'
import { currentUser, fleetsOf } from '../skills/open-skills.ts'
import { fail } from './api-failure.ts'
import { body, query, reply } from './api-route.ts'
import { skillName } from './review-routes.ts'

const rollback = z.strictObject({
  source: z.string().min(1).max(100),
  skill: skillName,
  version: z.number().int().min(1).optional(),
  expect: z.number().int().min(0),
}) satisfies z.ZodType<FleetRollbackRequest>

/** Creates the routes that show the followed fleets, and that publish an earlier version again. */
export function createFleetRoutes(skills: SkillRuntime) {
  const open = async (label: string): Promise<{ publisher: SkillPublisher; channel: string }> => {
    const { channel, connection } =
      fleetsOf(skills).find(each => each.label === label) ??
      fail(404, 'NOT_FOUND', `no fleet is followed under the label ${quote(label)}`)
    const { SkillPublisher } = await import('@skillstoke/fleet')
    const signer = readSigner()
    return {
      channel,
      publisher: new SkillPublisher(connection, { publisher: currentUser(), ...defined({ signer }) }),
    }
  }
  return new Hono()
    .get('/fleet', async context => {
      const fleets = await Promise.all(fleetsOf(skills).map(readFleet))
      return reply(context, { fleets })
    })
    .get('/fleet/versions', query('source', 'skill'), async context => {
      const { source: label = '', skill = '' } = context.req.valid('query')
      const { publisher, channel } = await open(label)
      const records = await publisher.history(skill, { channel })
      const versions = records.map(({ version, publisher, at, note, ...record }) => ({
        ...{ version, publisher, at, ...defined({ note }) },
        /** Null for a removal. */
        revision: record.kind === 'skill' ? record.revision : null,
      }))
      return reply(context, { versions })
    })
    .post('/fleet/rollback', body(rollback), async context => {
      const { source: label, skill, version, expect } = context.req.valid('json')
      const { publisher, channel } = await open(label)
      const options = { channel, expect, note: 'rolled back on the page' }
      return reply(context, await publisher.rollback(skill, { ...options, ...defined({ version }) }))
    })
}

async function readFleet({ label, channel, connection }: FleetSource) {
  const { FleetStatus } = await import('@skillstoke/fleet')
  const place = { label, channel, servers: connection.address }
  try {
    return { ...place, report: await new FleetStatus(connection, { channel }).read(), failure: null }
  } catch (thrown) {
    return { ...place, report: null, failure: toMessage(thrown) }
  }
}
