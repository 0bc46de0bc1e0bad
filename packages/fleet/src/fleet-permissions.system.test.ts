import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
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
  writeAccounts,
} from './index.ts'

const HOST = 'h1.example.com'
const HOST_TOKEN = HOST.replaceAll('.', '=2E')
const ROLES = describePermissions().map(({ role }) => role)
type Role = (typeof ROLES)[number]

/** The accounts that `stoke fleet init` prints, with a password for each user, a user without limits, and the account of another tenant. */
const CONFIG = `${writeAccounts()
  .replaceAll(/nkey: "<(\w+)>"/g, 'user: $1, password: secret')
  .replaceAll('<host>', HOST_TOKEN)
  .replace('users: [', 'users: [{ user: owner, password: secret }')
  .slice(0, -1)}
  OTHER { jetstream: enabled, users: [{ user: other, password: secret }] }
}`

function inboxOf(role: Role): string {
  return `_INBOX_${role === 'agent' ? HOST_TOKEN : role}`
}

const SERVERS = [{ name: 'newest' }, { name: 'oldest' }] as const

describe.each(SERVERS)('the accounts that init prints, on the $name server', ({ name }) => {
  describe.skipIf(findNatsServer(name) === undefined)('', () => {
    let server: NatsServer
    let folder: TemporaryFolder

    beforeAll(async () => {
      server = await NatsServer.start({ version: name, config: CONFIG })
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
        ...(role === 'other' ? {} : { inboxPrefix: inboxOf(role) }),
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
        '$JS.API.CONSUMER.CREATE.KV_SK',
        '$JS.API.STREAM.MSG.DELETE.SKB',
      ])
        await expect(nc.request(subject, 'x', { timeout: 1_000 }), subject).rejects.toThrow(/permission/i)
      const denied = nc.subscribe('_INBOX_publisher.>')
      await expect(denied.closed).resolves.toMatchObject({ message: expect.stringMatching(/permission/i) })
    })

    test('an agent changes nothing by naming a subject for the answer to a request', async () => {
      const source = fleetSource(connectAs('agent'), { trust: 'auto' })
      await using runtime = await createSkillRuntime({ sources: [source] })
      expect(runtime.current.list()).toHaveLength(1)
      const owner = await connectRaw('owner')
      await owner.request('$KV.AG.another-host.one', 'a report')
      const { feed } = source.connection
      const fleet = connectAs('administrator')
      const before = await listEverything(fleet)
      const known = feed.state
      const digest = known.heads.get('$KV.SK.stable.maps')?.manifest.files[0]?.digest.slice('sha256:'.length)
      const nc = await connectRaw('agent')
      const requests: readonly (readonly [subject: string, body: string])[] = [
        ['$JS.API.DIRECT.GET.KV_SK.$KV.SK.stable.maps', ''],
        ['$JS.API.DIRECT.GET.KV_SK', JSON.stringify({ seq: 1, next_by_subj: '>' })],
        ['$JS.API.DIRECT.GET.KV_SK', JSON.stringify({ seq: 1, batch: 10 })],
        [`$JS.API.DIRECT.GET.SKB.skb.${digest}`, ''],
        [`$KV.AG.${HOST_TOKEN}.one`, 'no report'],
      ]
      for (const reply of [
        '$KV.SK._meta',
        '$KV.SK.stable.maps',
        '$KV.SK.stable.another',
        'skv.stable.maps.9',
        `skb.${'0'.repeat(64)}`,
        '$KV.AG.another-host.one',
        '$JS.API.STREAM.PURGE.KV_SK',
        '$JS.API.STREAM.DELETE.KV_SK',
        '$JS.API.STREAM.UPDATE.KV_SK',
        '$JS.API.STREAM.MSG.DELETE.KV_SK',
        'sk.live.SK._meta',
        'sk.live.SK.stable.maps',
        'sk.live.SK.stable.another',
      ])
        for (const [subject, body] of requests) nc.publish(subject, body, { reply })
      const erasing = headers()
      erasing.set('Nats-Rollup', 'all')
      nc.publish(`$KV.AG.${HOST_TOKEN}.two`, 'no report', { headers: erasing })
      await nc.flush()
      // An answer passes through the same connections before the next one.
      await nc.request('$JS.API.DIRECT.GET.KV_SK.$KV.SK.stable.maps', '')
      expect(await listEverything(fleet)).toEqual(before)
      await source.connection.feed.reload()
      expect(feed.state.heads).toBe(known.heads)
      expect(feed.stale?.reason).toBeUndefined()
      expect(feed.hasNews).toBe(false)
    })

    test('a wrong report ends no status, and counts for no other agent', async () => {
      const source = fleetSource(connectAs('agent'), { trust: 'auto' })
      await using runtime = await createSkillRuntime({ sources: [source] })
      await using reporter = new FleetReporter(source, { runtime, host: HOST, agent: 'honest' })
      const { report } = reporter
      const nc = await connectRaw('agent')
      const wrong: readonly object[] = [
        { host: 'another-host' },
        { agent: 'honest' },
        { staleSince: 'yesterday' },
        { staleSince: 1e300 },
        { errors: [{}] },
        { errors: ['a', 'b', 'c', 'd', 'e', 'f'] },
        { errors: ['a'.repeat(10_000)] },
        { sandbox: 7 },
        { lagMs: '1' },
        { epoch: null },
        { seq: -1 },
        { prefetched: 7 },
        { generation: null },
        { channel: '\u001b[2J' },
        { digest: 'sha256:0' },
      ]
      for (const [index, change] of wrong.entries()) {
        const agent = `wrong-${index}`
        nc.publish(`$KV.AG.${HOST_TOKEN}.${agent}`, JSON.stringify({ ...report, agent, ...change }))
      }
      for (const [index, text] of ['', 'null', '[]', '7', '{', '\u0000'].entries())
        nc.publish(`$KV.AG.${HOST_TOKEN}.text-${index}`, text)
      nc.publish(`$KV.AG.${HOST_TOKEN}.right`, JSON.stringify({ ...report, agent: 'right' }))
      await nc.flush()
      const status = new FleetStatus(connectAs('publisher'))
      await vi.waitFor(async () => {
        const { agents } = await status.read()
        expect(agents.map(({ agent }) => agent).sort()).toEqual(['honest', 'right'])
      })
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

    /** All messages but beats and the reports of this host, and the settings of the streams. */
    async function listEverything(fleet: FleetConnection): Promise<readonly string[]> {
      const engine = await fleet.open()
      const found: string[] = []
      for (const stream of ['KV_SK', 'SKV', 'SKB', 'KV_AG']) {
        found.push(JSON.stringify((await engine.describeStream(stream))?.config))
        for await (const { subject, seq, data } of engine.readFrom(stream, 1))
          if (subject !== '$KV.SK._beat' && !subject.startsWith(`$KV.AG.${HOST_TOKEN}.`))
            found.push(`${subject} ${seq} ${Buffer.from(data).toString()}`)
      }
      return found
    }

    async function connectRaw(role: Role | 'owner'): Promise<NatsConnection> {
      const nc = await connect({
        servers: server.url,
        user: role,
        pass: 'secret',
        ...(role === 'owner' ? {} : { inboxPrefix: inboxOf(role) }),
      })
      onTestFinished(async () => await nc.close())
      return nc
    }
  })
})
