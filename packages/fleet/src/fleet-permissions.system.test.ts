import { connect, type NatsConnection } from '@nats-io/transport-node'
import { createSkillRuntime } from '@skillstoke/core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { findNatsServer } from '../../../scripts/nats-server.ts'
import { NatsServer } from '../../../tests/fixtures/nats-server.ts'
import { TemporaryFolder } from '../../../tests/fixtures/skill-folder.ts'
import {
  describePermissions,
  examineFleet,
  FleetConnection,
  FleetReporter,
  FleetStatus,
  fleetSource,
  prepareFleet,
  SkillPublisher,
} from './index.ts'

const HOST = 'h1.example.com'
const ROLES = describePermissions().map(({ role }) => role)
type Role = (typeof ROLES)[number]

/** Writes the permissions of a role as `stoke fleet init` prints them, for one user of the server's configuration. */
function toUser(role: Role, version: string): string {
  const { publish, subscribe } = describePermissions(version).find(each => each.role === role) ?? {
    publish: [],
    subscribe: [],
  }
  const fill = (subjects: readonly string[]): string =>
    JSON.stringify(
      subjects.map(each =>
        each.replace('<inbox>', `_INBOX_${role}`).replace('<host>', HOST.replaceAll('.', '=2E')),
      ),
    )
  return `{ user: ${role}, password: secret, permissions: { publish: ${fill(publish)}, subscribe: ${fill(subscribe)} } }`
}

function configFor(version: string): string {
  return `accounts {
    TENANT { jetstream: enabled, users: [${ROLES.map(role => toUser(role, version)).join(', ')}] }
    OTHER { jetstream: enabled, users: [{ user: other, password: secret }] }
  }`
}

const SERVERS = [
  { name: 'newest', version: '2.15.1' },
  { name: 'oldest', version: '2.9.10' },
] as const

describe.each(SERVERS)('the permissions that init prints for the $name server', ({ name, version }) => {
  describe.skipIf(findNatsServer(name) === undefined)('', () => {
    let server: NatsServer
    let folder: TemporaryFolder

    beforeAll(async () => {
      server = await NatsServer.start({ version: name, config: configFor(version) })
      folder = new TemporaryFolder()
      folder.writeSkill('maps')
      await prepareFleet(connectAs('administrator'))
      await new SkillPublisher(connectAs('publisher')).publish(folder.path)
    })
    afterAll(async () => {
      await Promise.all(opened.map(async fleet => await fleet.close()))
      await server[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    })

    const opened: FleetConnection[] = []

    function connectAs(role: Role | 'other'): FleetConnection {
      const fleet = new FleetConnection({
        servers: `nats://${role}:secret@127.0.0.1:${server.port}`,
        ...(role === 'other' ? {} : { inboxPrefix: `_INBOX_${role}` }),
      })
      opened.push(fleet)
      return fleet
    }

    test('a publisher can publish, roll back, promote, remove and read the log', async () => {
      const publisher = new SkillPublisher(connectAs('publisher'))
      folder.writeSkill('notes', { body: 'One.' })
      await publisher.publish(folder.path, { channel: 'canary' })
      folder.writeSkill('notes', { body: 'Two.' })
      await publisher.publish(folder.path, { channel: 'canary', names: ['notes'] })
      await publisher.rollback('notes', { channel: 'canary' })
      await publisher.promote({ from: 'canary', to: 'edge' }, { names: ['notes'] })
      await publisher.remove('notes', { channel: 'canary' })
      expect((await publisher.history('notes', { channel: 'canary' })).map(({ version }) => version)).toEqual(
        [4, 3, 2, 1],
      )
      expect(
        (await new FleetStatus(connectAs('publisher'), { channel: 'edge' }).read()).skills,
      ).toMatchObject([{ name: 'notes', version: 1 }])
    })

    test('an administrator can examine the fleet and collect garbage', async () => {
      const fleet = connectAs('administrator')
      const { findings } = await examineFleet(fleet)
      expect(findings.filter(({ severity }) => severity === 'error')).toEqual([])
      await expect(new SkillPublisher(fleet).collectGarbage({ isDryRun: true })).resolves.toMatchObject({
        pieces: 0,
      })
    })

    test('an agent can follow and report, and nothing else', async () => {
      const source = fleetSource(connectAs('agent'), { trust: 'auto' })
      await using runtime = await createSkillRuntime({ sources: [source] })
      expect(runtime.current.list().map(({ name }) => name)).toEqual(['maps'])
      await using reporter = new FleetReporter(source, { runtime, host: HOST, agent: 'one' })
      expect(reporter.report).toMatchObject({ host: HOST, skills: 1 })
      const status = new FleetStatus(connectAs('publisher'))
      await vi.waitFor(async () => expect((await status.read()).agents).toMatchObject([{ state: 'current' }]))
      await new SkillPublisher(connectAs('publisher')).publish(folder.path, { names: ['maps'] })

      const agent = new SkillPublisher(connectAs('agent'))
      await expect(agent.publish(folder.path)).rejects.toMatchObject({
        code: 'IO_FAILED',
        message: expect.stringContaining('does not permit'),
      })
      await expect(prepareFleet(connectAs('agent'))).rejects.toMatchObject({ code: 'IO_FAILED' })
      const nc = await connectRaw('agent')
      for (const subject of [
        '$KV.SK.stable.maps',
        '$KV.SK._meta',
        'sk.live.SK.stable.maps',
        `skb.${'0'.repeat(64)}`,
        'skv.stable.maps.1',
        '$KV.AG.another-host.one',
        '$JS.API.STREAM.DELETE.KV_SK',
        '$JS.API.STREAM.PURGE.KV_SK',
        ...(name === 'newest' ? ['$JS.API.CONSUMER.CREATE.KV_SK'] : []),
        '$JS.API.STREAM.MSG.DELETE.SKB',
      ])
        await expect(nc.request(subject, 'x', { timeout: 1_000 }), subject).rejects.toThrow(/permission/i)
      const denied = nc.subscribe('_INBOX_publisher.>')
      await expect(denied.closed).resolves.toMatchObject({ message: expect.stringMatching(/permission/i) })
    })

    test('another tenant sees nothing, and a wrong password is refused with a clear error', async () => {
      await expect(new FleetStatus(connectAs('other')).read()).rejects.toMatchObject({ code: 'IO_FAILED' })
      const stranger = new FleetConnection({ servers: `nats://agent:wrong@127.0.0.1:${server.port}` })
      opened.push(stranger)
      await expect(new FleetStatus(stranger).read()).rejects.toMatchObject({
        code: 'IO_FAILED',
        message: expect.stringMatching(/no connection to .*authorization/i),
      })
    })

    async function connectRaw(role: Role): Promise<NatsConnection> {
      const nc = await connect({
        servers: server.url,
        user: role,
        pass: 'secret',
        inboxPrefix: `_INBOX_${role}`,
      })
      onTestFinished(async () => await nc.close())
      return nc
    }
  })
})
