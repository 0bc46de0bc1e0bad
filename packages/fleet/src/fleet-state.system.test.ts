import { cpSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { connect } from '@nats-io/transport-node'
import { openState } from '@skillstoke/core/node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  createFolder,
  describeNumber,
  follow,
  LONG,
  numberOf,
  startAgent,
  startFleet,
  watchNumbers,
} from '../../../tests/fixtures/fleet.ts'
import { NATS_SERVER } from '../../../tests/fixtures/nats-server.ts'
import { FleetReporter, FleetStatus } from './index.ts'

/** Bytes of all files in the store of a state directory. */
function sizeOfStore(state: string): number {
  const store = new DatabaseSync(`${state}/store.sqlite`)
  const row = store.prepare('SELECT sum(length(bytes)) AS total FROM content').get()
  store.close()
  return Number(row?.['total'])
}

describe.skipIf(NATS_SERVER === undefined)('the state of an agent', { timeout: 60_000 }, () => {
  test('grows at each publication by a small part of all heads', async () => {
    const { server, fleet, folder, publish } = await startFleet()
    for (let index = 0; index < 300; index++) folder.writeSkill(`skill-${index}`)
    await publish(0)
    const [state, other] = [createFolder(), createFolder()]
    await (await follow(server.url, { state: state.path })).close()
    await fleet.feed.reload()
    const heads = [...fleet.feed.state.heads.values()]
    const headBytes = heads.reduce((sum, { data }) => sum + data.length, 0)
    const before = sizeOfStore(state.path)
    for (let number = 1; number <= 8; number++) {
      await publish(number)
      const agent = await follow(server.url, { state: state.path })
      await agent.reload()
      await agent.close()
    }
    expect(sizeOfStore(state.path) - before).toBeLessThan(headBytes)
    // Nothing of it is needed to start with all skills, also without the server.
    cpSync(state.path, other.path, { recursive: true })
    await server.kill('SIGTERM')
    const agent = await follow(server.url, { state: other.path })
    expect(agent.current.list()).toHaveLength(301)
    expect(numberOf(agent, 'maps')).toBe(8)
  })

  test('is not served after a start while the servers have something newer', async () => {
    const { server, folder, publisher, publish } = await startFleet()
    const [state, outdated] = [createFolder(), createFolder()]
    await publish(1)
    await (await follow(server.url, { state: state.path })).close()
    // As after a kill while the disk was full: the state is older than what the process served.
    cpSync(state.path, outdated.path, { recursive: true })
    await publish(2)
    const agent = await follow(server.url, { state: outdated.path })
    expect(numberOf(agent, 'maps')).toBe(2)
    await agent.close()

    await server.kill('SIGTERM')
    const offline = await follow(server.url, { state: outdated.path })
    const watched = watchNumbers(offline, 'maps')
    expect(numberOf(offline, 'maps')).toBe(2)
    await vi.waitFor(() => expect(offline.status()[0]?.reason).toContain('no connection'), LONG)
    await server.restart()
    folder.writeSkill('maps', describeNumber(3))
    await publisher.publish(folder.path)
    await vi.waitFor(() => expect(numberOf(offline, 'maps')).toBe(3), LONG)
    expect(watched.wentBack()).toBe(false)
  })

  test('is filled by one of the processes that share it, also for a live publication', async () => {
    const { server, fleet, folder, publisher, publish } = await startFleet()
    const state = createFolder()
    await publish(1)
    const nc = await connect({ servers: server.url })
    onTestFinished(async () => await nc.close())
    const gets: string[] = []
    nc.subscribe('$JS.API.DIRECT.GET.SKB.>', { callback: (_error, { subject }) => void gets.push(subject) })
    await nc.flush()
    const started = await Promise.all(
      Array.from({ length: 8 }, async () => await startAgent(server.url, { state: state.path })),
    )
    const agents = started.map(({ runtime }) => runtime)
    const show = (): readonly number[] => agents.map(agent => numberOf(agent, 'maps'))
    expect(show()).toEqual(agents.map(() => 1))
    await nc.flush()
    expect(gets).toHaveLength(1)
    for (const number of [2, 3]) {
      folder.writeSkill('maps', describeNumber(number))
      folder.write('maps/notes.md', `Notes of edition ${number}.`)
      await publisher.publish(folder.path)
      await vi.waitFor(() => expect(show()).toEqual(agents.map(() => number)), LONG)
    }
    await nc.flush()
    expect(gets).toHaveLength(5)
    const reporters = started.map(
      ({ runtime, source }, index) => new FleetReporter(source, { runtime, agent: `agent-${index}` }),
    )
    await vi.waitFor(async () => expect((await new FleetStatus(fleet).read()).agents).toHaveLength(8), LONG)
    folder.write('maps/notes.md', 'Notes that all agents have before the commit.')
    await publisher.publish(folder.path, { prefetchMs: 20_000 })
    for (const reporter of reporters) await reporter.close()
    await vi.waitFor(async () => {
      for (const agent of agents)
        expect((await agent.load('maps')).files.map(({ path }) => path)).toContain('notes.md')
    }, LONG)
    for (const agent of agents) await agent.close()
    await nc.flush()
    expect(gets).toHaveLength(6)
  })

  test('gets a file that several skills have in common once', async () => {
    const { server, folder, publisher } = await startFleet()
    const names = Array.from({ length: 6 }, (_, index) => `skill-${index}`)
    for (const name of names) {
      folder.writeSkill(name)
      folder.write(`${name}/LICENSE.txt`, 'The licence of all skills.')
    }
    await publisher.publish(folder.path)
    const nc = await connect({ servers: server.url })
    onTestFinished(async () => await nc.close())
    const gets: string[] = []
    nc.subscribe('$JS.API.DIRECT.GET.SKB.>', { callback: (_error, { subject }) => void gets.push(subject) })
    await nc.flush()
    const agent = await follow(server.url)
    expect(agent.current.list()).toHaveLength(names.length)
    await nc.flush()
    expect(gets).toHaveLength(names.length + 1)
  })

  test('is filled also while another process stands still that was about to fill it', async () => {
    const { server, publish } = await startFleet()
    const state = createFolder()
    await publish(1)
    const { runtime: agent, source } = await startAgent(server.url, { state: state.path })
    const other = await openState(state.path)
    onTestFinished(async () => await other.store.close())
    const waking = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const sleeping = other.store.exclusively?.(source.origin, 1_000, async () => {
      begun.resolve()
      await waking.promise
    })
    await begun.promise
    await publish(2)
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2), LONG)
    waking.resolve()
    await sleeping
  })
})
