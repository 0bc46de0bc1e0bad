import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '@nats-io/transport-node'
import { createSkillRuntime } from '@skillstoke/core'
import { openState } from '@skillstoke/core/node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  connectTo,
  createFolder,
  describeNumber,
  follow,
  LONG,
  namesOf,
  numberOf,
  problemsOf,
  startAgent,
  startFleet,
  startServer,
} from '../../../tests/fixtures/fleet.ts'
import { NatsProxy } from '../../../tests/fixtures/nats-proxy.ts'
import { NATS_SERVER, OLDEST_NATS_SERVER } from '../../../tests/fixtures/nats-server.ts'
import {
  type FleetConnection,
  FleetReporter,
  FleetStatus,
  fleetSource,
  prepareFleet,
  SkillPublisher,
} from './index.ts'

/** A user who hears no live messages, so that only reads bring news. */
const DEAF = `authorization { users: [
  { user: admin, password: secret }
  { user: deaf, password: secret, permissions: { subscribe: { deny: "sk.live.>" } } }
] }`

function loginTo(port: number, user: string): FleetConnection {
  return connectTo({ servers: `nats://${user}:secret@127.0.0.1:${port}` })
}

/** Publishes a skill as the only one of its channel. */
async function publishAs(fleet: FleetConnection, name: string, number: number): Promise<void> {
  const folder = createFolder()
  folder.writeSkill(name, describeNumber(number))
  await new SkillPublisher(fleet).publish(folder.path, { isMirror: true })
}

describe.skipIf(NATS_SERVER === undefined)('agents of a fleet', { timeout: 60_000 }, () => {
  test('two tenants of one server never see the skills of each other, also with one state directory', async () => {
    const users = ['a', 'b'].map(
      name => `${name} { jetstream: enabled, users: [{ user: ${name}, password: secret }] }`,
    )
    const server = await startServer({ config: `accounts { ${users.join(', ')} }` })
    const state = createFolder()
    for (const user of ['b', 'a']) {
      const fleet = loginTo(server.port, user)
      await prepareFleet(fleet)
      await publishAs(fleet, `of-${user}`, 1)
    }
    for (const user of ['a', 'b', 'a']) {
      const agent = await follow(loginTo(server.port, user), { state: state.path })
      expect(namesOf(agent)).toEqual([`of-${user}`])
      await agent.close()
    }
    await server.kill()
    const offline = await follow(loginTo(server.port, 'b'), { state: state.path })
    expect(namesOf(offline)).toEqual(['of-b'])
  })

  test('another fleet at the same address replaces the stored one', async () => {
    const { server, publish } = await startFleet()
    const state = createFolder()
    await publish(1)
    await (await follow(server.url, { state: state.path })).close()
    await server.kill()
    server.eraseData()
    await server.restart()
    // The clock of the machine that prepared this fleet was behind, so its epoch is lower.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
    onTestFinished(() => void vi.useRealTimers())
    const fleet = connectTo({ servers: server.url })
    await prepareFleet(fleet)
    await publishAs(fleet, 'notes', 1)
    const agent = await follow(server.url, { state: state.path })
    await vi.waitFor(() => expect(namesOf(agent)).toEqual(['notes']), LONG)
    expect(problemsOf(agent)).toBe('')
  })

  test('an agent that may not report or read asks the servers at growing intervals', async () => {
    const refused = 'publish: { deny: ["$KV.AG.>", "$JS.API.DIRECT.GET.KV_SK.>"] }'
    const server = await startServer({
      config: `authorization { users: [
        { user: admin, password: secret }
        { user: mute, password: secret, permissions: { publish: { deny: ["$KV.AG.>"] } } }
        { user: blind, password: secret, permissions: { ${refused} } }
      ] }`,
    })
    await prepareFleet(loginTo(server.port, 'admin'))
    for (const user of ['mute', 'blind']) {
      const proxy = await NatsProxy.start(server.port)
      onTestFinished(async () => await proxy[Symbol.asyncDispose]())
      let requests = 0
      proxy.losesAnswersTo = sent => {
        requests += sent.split('$JS.API.DIRECT.GET').length - 1
        return false
      }
      const fleet = connectTo({ servers: proxy.url.replace('//', `//${user}:secret@`) })
      const { runtime, source } = await startAgent(fleet, { firstWaitMs: 500 })
      await using reporter = new FleetReporter(source, { runtime, agent: user })
      await sleep(1_000)
      const before = requests
      await sleep(3_000)
      // Each attempt to read asks up to five times.
      expect(requests - before, reporter.report.agent).toBeLessThan(15)
    }
  })

  test.skipIf(OLDEST_NATS_SERVER === undefined)(
    'the first message after a silence ends the pauses after failed downloads',
    async () => {
      // This server sends no beat.
      const { server, publish } = await startFleet({ version: 'oldest' })
      await publish(1)
      const nc = await connect({ servers: server.url })
      onTestFinished(async () => await nc.close())
      await nc.request('$JS.API.STREAM.PURGE.SKB', '{}')
      let downloads = 0
      nc.subscribe('$JS.API.DIRECT.GET.SKB.>', { callback: () => void downloads++ })
      await startAgent(server.url, { firstWaitMs: 0 })
      // Each attempt asks four times. After the fourth attempt, the pause is at least 6 s.
      await vi.waitFor(() => expect(downloads).toBeGreaterThanOrEqual(16), LONG)
      await sleep(500)
      const before = downloads
      await nc.request('$KV.SK._beat')
      await vi.waitFor(() => expect(downloads).toBeGreaterThan(before))
    },
  )

  test.skipIf(OLDEST_NATS_SERVER === undefined)(
    'the first message after a silence ends the pauses after failed reads',
    async () => {
      const server = await startServer({
        version: 'oldest',
        config: `authorization { users: [
        { user: admin, password: secret }
        { user: blind, password: secret, permissions: { publish: { deny: ["$JS.API.DIRECT.GET.>"] } } }
      ] }`,
      })
      const admin = loginTo(server.port, 'admin')
      await prepareFleet(admin)
      const { feed } = loginTo(server.port, 'blind')
      let reads = 0
      const read = (): void => {
        reads++
        void feed.settle().catch(() => undefined)
      }
      onTestFinished(feed.onNews(read))
      read()
      // After the fourth attempt, the pause is at least 6 s.
      await vi.waitFor(() => expect(reads).toBe(4), LONG)
      await sleep(500)
      const nc = await connect({ servers: server.url, user: 'admin', pass: 'secret' })
      onTestFinished(async () => await nc.close())
      await nc.request('$KV.SK._beat')
      await vi.waitFor(() => expect(reads).toBe(5))
    },
  )

  test('an agent that starts without servers asks for them again by itself', async () => {
    const { server, publish } = await startFleet()
    await publish(1)
    await server.kill('SIGTERM')
    const { feed } = connectTo({ servers: server.url })
    await expect(feed.reload()).rejects.toMatchObject({ code: 'IO_FAILED' })
    await server.restart()
    await new Promise<void>(resolve => onTestFinished(feed.onNews(resolve)))
    await feed.settle()
    expect(feed.state.heads.size).toBe(1)
  })

  test('what one reader of a connection reads, the sources of the connection serve', async () => {
    const server = await startServer({ config: DEAF })
    const admin = loginTo(server.port, 'admin')
    await prepareFleet(admin)
    await publishAs(admin, 'maps', 1)
    const shared = loginTo(server.port, 'deaf')
    const agent = await follow(shared)
    expect(numberOf(agent, 'maps')).toBe(1)
    await publishAs(admin, 'maps', 2)
    await new FleetStatus(shared).read()
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2))
    // The same holds for a new epoch with lower versions.
    const nc = await connect({ servers: server.url, user: 'admin', pass: 'secret' })
    onTestFinished(async () => await nc.close())
    for (const [stream, filter] of [
      ['KV_SK', '$KV.SK.stable.maps'],
      ['SKV', 'skv.>'],
    ])
      await nc.request(`$JS.API.STREAM.PURGE.${stream}`, JSON.stringify({ filter }))
    await prepareFleet(admin, { isNewEpoch: true })
    await publishAs(admin, 'maps', 7)
    await new FleetStatus(shared).read()
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(7))
    expect(problemsOf(agent)).toBe('')
  })

  test('reload() shows what another connection published just before', async () => {
    const { server, publish } = await startFleet()
    const runtime = await createSkillRuntime({
      sources: [fleetSource(server.url, { trust: 'auto' })],
      state: await openState(createFolder().path),
    })
    onTestFinished(async () => await runtime.close())
    for (let number = 1; number <= 30; number++) {
      await publish(number)
      await runtime.reload()
      expect(numberOf(runtime, 'maps')).toBe(number)
    }
  })

  test('the status lists each of many agents once, while all of them report', async () => {
    const { server, fleet } = await startFleet()
    const nc = await connect({ servers: server.url })
    onTestFinished(async () => await nc.close())
    const report = (index: number): void => {
      const agent = `agent-${index}`
      const digest = `sha256:${'0'.repeat(64)}`
      const text = {
        host: 'h',
        agent,
        instance: agent,
        pid: 1,
        channel: 'stable',
        digest,
        skills: 0,
        held: 0,
        generation: { number: 1, digest },
        seq: 1,
        errors: [],
        at: 1,
      }
      nc.publish(`$KV.AG.h.${agent}`, JSON.stringify(text))
    }
    for (let index = 0; index < 3_000; index++) report(index)
    await nc.flush()
    const status = new FleetStatus(fleet)
    for (let round = 0; round < 5; round++) {
      const reading = status.read()
      for (let index = 0; index < 3_000; index++) {
        report(index)
        if (index % 100 === 0) await nc.flush()
      }
      const { agents } = await reading
      expect(new Set(agents.map(({ agent }) => agent)).size).toBe(agents.length)
    }
    expect((await status.read()).agents).toHaveLength(3_000)
  })
})
