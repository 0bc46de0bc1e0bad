import type { SkillRuntime } from '@skillstoke/core'
import { quote, toMessage } from '@skillstoke/core/internal'
import type { FleetSource } from '@skillstoke/fleet'
import type { Hono } from 'hono'
import { z } from 'zod'
import type { FleetList } from '../client/api-types.ts'
import { readSigner } from '../config/fleet-config.ts'
import { currentUser, fleetsOf } from '../open-skills.ts'
import { answer, describeFaults, fail, readJson } from './api-failure.ts'

const rollback = z.strictObject({
  source: z.string().min(1).max(100),
  skill: z.string().min(1).max(400),
  version: z.number().int().min(1).optional(),
  expect: z.number().int().min(0),
})

/** Adds the routes that show the followed fleets, and that publish an earlier version again. */
export function addFleetRoutes(api: Hono, skills: SkillRuntime): void {
  api.get('/fleet', async context => {
    const fleets = await Promise.all(fleetsOf(skills).map(readFleet))
    return context.json({ fleets } satisfies FleetList)
  })
  api.post('/fleet/rollback', async context => {
    const parsed = rollback.safeParse(await readJson(context))
    if (!parsed.success) return fail(context, 400, 'INVALID_REQUEST', describeFaults(parsed.error))
    const { source: label, skill, version, expect } = parsed.data
    const source = fleetsOf(skills).find(each => each.label === label)
    if (source === undefined)
      return fail(context, 404, 'NOT_FOUND', `no fleet is followed under the label ${quote(label)}`)
    return await answer(context, async () => {
      const { SkillPublisher } = await import('@skillstoke/fleet')
      const signer = readSigner()
      const publisher = new SkillPublisher(source.connection, {
        publisher: currentUser(),
        ...(signer === undefined ? {} : { signer }),
      })
      const options = { channel: source.channel, expect, note: 'rolled back on the page' }
      return await publisher.rollback(skill, { ...options, ...(version === undefined ? {} : { version }) })
    })
  })
}

async function readFleet({ label, channel, connection }: FleetSource): Promise<FleetList['fleets'][number]> {
  const { FleetStatus } = await import('@skillstoke/fleet')
  const place = { label, channel, servers: connection.address }
  try {
    return { ...place, report: await new FleetStatus(connection, { channel }).read(), failure: null }
  } catch (thrown) {
    return { ...place, report: null, failure: toMessage(thrown) }
  }
}
