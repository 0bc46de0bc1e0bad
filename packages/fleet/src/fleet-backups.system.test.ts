import { createSkillRuntime } from '@skillstoke/core'
import { openState } from '@skillstoke/core/node'
import { describe, expect, test, vi } from 'vitest'
import {
  connectTo,
  createFolder,
  follow,
  LONG,
  numberOf,
  startAgent,
  startFleet,
  watchNumbers,
} from '../../../tests/fixtures/fleet.ts'
import { NATS_SERVER } from '../../../tests/fixtures/nats-server.ts'
import { examineFleet, FleetReporter, findRestoredBackup, fleetSource, prepareFleet } from './index.ts'

describe.skipIf(NATS_SERVER === undefined)(
  'a fleet after the restoration of an old backup',
  { timeout: 60_000 },
  () => {
    test('a restored backup is noticed, and a new epoch brings every agent to it', async () => {
      const { server, fleet, publish } = await startFleet()
      await publish(1)
      await server.kill('SIGTERM')
      const restore = server.backUp()
      await server.restart()
      const agent = await follow(server.url)
      const watched = watchNumbers(agent, 'maps')
      for (let number = 2; number <= 40; number++) await publish(number)
      await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(40), LONG)
      await server.kill('SIGTERM')
      restore()
      await server.restart()
      await vi.waitFor(() => expect(agent.status()[0]?.reason).toContain('the stream went back'), LONG)
      expect(numberOf(agent, 'maps')).toBe(40)
      expect(watched.wentBack()).toBe(false)
      await vi.waitFor(async () => await prepareFleet(fleet, { isNewEpoch: true }), LONG)
      await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(1), LONG)
      await publish(2)
      await vi.waitFor(() => expect(numberOf(agent, 'maps')).toBe(2), LONG)
      expect(agent.status()[0]?.mode).toBe('events')
    })

    test('between a restored backup and its new epoch, publishers are warned', async () => {
      const { server, fleet, publish } = await startFleet()
      await publish(1)
      await server.kill('SIGTERM')
      const restore = server.backUp()
      await server.restart()
      const { runtime, source } = await startAgent(server.url)
      for (let number = 2; number <= 30; number++) await publish(number)
      await using reporter = new FleetReporter(source, { runtime, host: 'one', agent: 'a' })
      await vi.waitFor(() => expect(numberOf(runtime, 'maps')).toBe(30), LONG)
      expect(reporter.report.seq).toBeGreaterThan(30)
      const publisher = connectTo({ servers: server.url })
      expect(await findRestoredBackup(publisher)).toBeUndefined()
      await server.kill('SIGTERM')
      restore()
      await server.restart()
      await vi.waitFor(async () => {
        expect(await findRestoredBackup(publisher)).toContain('agent "a" on host "one" reports sequence')
      }, LONG)
      // The report of one host may be wrong.
      expect(await findRestoredBackup(publisher)).not.toContain('--new-epoch')
      const { findings } = await examineFleet(publisher)
      expect(findings).toContainEqual({
        severity: 'warning',
        message: expect.stringContaining('as after a restored backup'),
      })
      await using second = new FleetReporter(source, { runtime, host: 'two', agent: 'a' })
      expect(second.report.seq).toBeGreaterThan(30)
      await vi.waitFor(async () => {
        expect(await findRestoredBackup(publisher)).toContain('run "stoke fleet init --new-epoch"')
      }, LONG)
      await prepareFleet(fleet, { isNewEpoch: true })
      expect(await findRestoredBackup(publisher)).toBeUndefined()
    })

    test('a restored backup takes nothing back from a new process, whatever else uses its connection', async () => {
      const { server, publish } = await startFleet()
      const state = createFolder()
      await publish(1)
      await server.kill('SIGTERM')
      const restore = server.backUp()
      await server.restart()
      for (let number = 2; number <= 40; number++) await publish(number)
      await (await follow(server.url, { state: state.path })).close()
      await server.kill('SIGTERM')
      restore()
      await server.restart()
      const shared = connectTo({ servers: server.url })
      await shared.feed.reload()
      const canary = fleetSource(shared, { channel: 'canary', label: 'canary', trust: 'auto' })
      const stable = fleetSource(shared, { trust: 'auto' })
      await using runtime = await createSkillRuntime({
        sources: [canary, stable],
        state: await openState(state.path),
      })
      const watched = watchNumbers(runtime, 'maps')
      await vi.waitFor(() => expect(runtime.status()[1]?.reason).toContain('the stream went back'), LONG)
      expect(numberOf(runtime, 'maps')).toBe(40)
      expect(watched.wentBack()).toBe(false)
    })
  },
)
