import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { connect } from '@nats-io/transport-node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  connectTo,
  createFolder,
  describeNumber,
  endProcess,
  follow,
  LONG,
  namesOf,
  numberOf,
  problemsOf,
  startFleet,
  startServer,
  watchNumbers,
} from '../../../tests/fixtures/fleet.ts'
import { NatsProxy } from '../../../tests/fixtures/nats-proxy.ts'
import { NATS_SERVER } from '../../../tests/fixtures/nats-server.ts'
import { prepareFleet, SkillPublisher } from './index.ts'

const PUBLISHER = fileURLToPath(new URL('../../../tests/fixtures/fleet-publisher.ts', import.meta.url))
const HEADS = /HPUB \$KV\.SK\.(?!_)/

async function startProxy(port: number): Promise<NatsProxy> {
  const proxy = await NatsProxy.start(port)
  onTestFinished(async () => await proxy[Symbol.asyncDispose]())
  return proxy
}

describe.skipIf(NATS_SERVER === undefined)('a fleet on a bad network', { timeout: 90_000 }, () => {
  test('a publisher whose acknowledgements are lost publishes each version once', async () => {
    const server = await startServer()
    await prepareFleet(connectTo({ servers: server.url }))
    const proxy = await startProxy(server.port)
    const publisher = new SkillPublisher(connectTo({ servers: proxy.url }))
    const folder = createFolder()
    const agent = await follow(server.url)
    const watched = watchNumbers(agent, 'maps')
    for (let number = 1; number <= 3; number++) {
      folder.writeSkill('maps', describeNumber(number))
      const { lost } = proxy
      proxy.losesAnswersTo = sent => proxy.lost === lost && HEADS.test(sent)
      const { skills } = await publisher.publish(folder.path)
      expect(skills).toMatchObject([{ outcome: 'published', version: number }])
      expect(proxy.lost).toBe(lost + 1)
    }
    expect((await publisher.history('maps')).map(({ version }) => version)).toEqual([3, 2, 1])
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(3), LONG)
    expect(watched.wentBack()).toBe(false)
  })

  test('a publisher that is killed leaves a version whole or not at all, and the next one completes its log', async () => {
    const { server, folder, publisher, publish } = await startFleet()
    await publish(1)
    const agent = await follow(server.url)
    const proxy = await startProxy(server.port)
    const steps: readonly [sent: RegExp, isCommitted: boolean][] = [
      [/HPUB skb\./, false],
      [HEADS, false],
      [/HPUB skv\.stable\.maps\.2/, true], // the record of the version
    ]
    let served = 1
    for (const [index, [sent, isCommitted]] of steps.entries()) {
      folder.writeSkill('maps', describeNumber(index + 2))
      const child = spawn(process.execPath, [PUBLISHER, proxy.url, folder.path], { stdio: 'inherit' })
      onTestFinished(async () => await endProcess(child))
      const killed = once(child, 'exit')
      proxy.cutsBefore = text => sent.test(text) && child.kill('SIGKILL')
      await killed
      proxy.cutsBefore = () => false
      expect(child.signalCode).toBe('SIGKILL')
      if (isCommitted) served = index + 2
      await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(served), LONG)
      await agent.reload()
      expect(numberOf(agent, 'maps')).toBe(served)
    }
    expect((await publish(9)).skills).toMatchObject([{ outcome: 'published', version: 3 }])
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(9), LONG)
    expect((await publisher.history('maps')).map(({ version }) => version)).toEqual([3, 2, 1])
    expect(await publisher.collectGarbage({ graceMs: 0 })).toMatchObject({ versions: 0 })
    expect(problemsOf(await follow(server.url))).toBe('')
  })

  test('an atomic batch is visible whole or not at all, also if the server crashes within it or its answer is lost', async () => {
    const server = await startServer()
    await prepareFleet(connectTo({ servers: server.url }))
    const proxy = await startProxy(server.port)
    const publisher = new SkillPublisher(connectTo({ servers: proxy.url }))
    const folder = createFolder()
    const names = ['a', 'b', 'c', 'd', 'e']
    const write = (number: number): void => {
      for (const name of names) folder.writeSkill(name, describeNumber(number))
    }
    write(1)
    await publisher.publish(folder.path)
    const agent = await follow(server.url)
    const mixed: number[][] = []
    agent.subscribe(() => {
      const numbers = names.map(name => numberOf(agent, name))
      if (new Set(numbers).size > 1) mixed.push(numbers)
    })
    const faults = ['lost answer', 'crash at the first message', 'crash at the commit'] as const
    for (const [index, fault] of faults.entries()) {
      write(index + 2)
      const { lost } = proxy
      let restarting: Promise<void> | undefined
      const restart = async (): Promise<void> => {
        await server.kill('SIGKILL')
        await server.restart()
      }
      proxy.losesAnswersTo = sent => {
        if (!HEADS.test(sent) || proxy.lost > lost || restarting !== undefined) return false
        if (fault === 'lost answer') return sent.includes('Nats-Batch-Commit')
        if (fault === 'crash at the commit' && !sent.includes('Nats-Batch-Commit')) return false
        restarting = restart()
        return false
      }
      const { skills } = await publisher.publish(folder.path)
      await restarting
      expect(proxy.lost + (restarting === undefined ? 0 : 1)).toBeGreaterThan(lost)
      expect(skills.map(({ version }) => version)).toEqual(names.map(() => index + 2))
      await vi.waitFor(() => expect(numberOf(agent, 'e')).toBe(index + 2), LONG)
    }
    expect(mixed).toEqual([])
    for (const name of names) expect(await publisher.history(name)).toHaveLength(4)
  })

  test('an agent that reads too slowly is disconnected by the server, and converges afterwards', async () => {
    const { server, folder, publisher, publish } = await startFleet({
      config: 'max_pending: 1MB\nwrite_deadline: "1s"',
    })
    const proxy = await startProxy(server.port)
    await publish(1)
    const slow = await follow(proxy.url)
    const watched = watchNumbers(slow, 'maps')
    const fast = await follow(server.url)
    await vi.waitFor(() => expect(slow.status()[0]?.mode).toBe('events'), LONG)
    const nc = await connect({ servers: server.url })
    onTestFinished(async () => await nc.close())
    proxy.hold()
    // More than the buffers of the line hold, and faster than the agent notices that nothing arrives.
    const noise = new Uint8Array(500_000)
    for (let i = 0; i < 80; i++) nc.publish('sk.live.SK.noise', noise)
    await nc.flush()
    await vi.waitFor(() => expect(server.log).toContain('Slow Consumer'), LONG)
    await publish(2)
    await vi.waitFor(() => expect(numberOf(fast, 'maps')).toBe(2), LONG) // not slowed down by the other one
    expect(numberOf(slow, 'maps')).toBe(1)
    proxy.release()
    await vi.waitFor(() => expect(numberOf(slow, 'maps')).toBe(2), LONG)
    folder.writeSkill('notes')
    await publisher.publish(folder.path)
    await vi.waitFor(() => expect(namesOf(slow)).toEqual(['maps', 'notes']), LONG)
    expect(watched.wentBack()).toBe(false)
  })

  test('over a slow line, files are carried once and a new version arrives', async () => {
    const server = await startServer()
    await prepareFleet(connectTo({ servers: server.url }))
    const proxy = await startProxy(server.port)
    proxy.bytesPerSecond = 500_000
    const folder = createFolder()
    folder.writeSkill('maps', describeNumber(1))
    for (let index = 0; index < 4; index++) folder.write(`maps/data/${index}.bin`, randomBytes(500_000))
    const publisher = new SkillPublisher(connectTo({ servers: proxy.url }))
    await publisher.publish(folder.path)
    expect(proxy.carried).toBeLessThan(2_500_000)
    proxy.carried = 0
    const agent = await follow(connectTo({ servers: proxy.url }), { firstWaitMs: 0 })
    await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(1), LONG)
    expect(proxy.carried).toBeLessThan(2_500_000)
    expect(agent.status()[0]?.mode).toBe('events')
  })
})
