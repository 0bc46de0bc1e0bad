import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { LONG, startFleet, startProcess } from '../../../tests/fixtures/fleet.ts'
import { NATS_SERVER } from '../../../tests/fixtures/nats-server.ts'

test.skipIf(NATS_SERVER === undefined)(
  'agents that were stopped for 30 seconds converge within seconds, and never go back',
  async () => {
    const { server, publish } = await startFleet()
    await publish(1)
    const agents = [0, 1, 2].map(() => startProcess(server.url, 'maps'))
    const [first, ...others] = agents
    await vi.waitFor(() => expect(agents.map(({ last }) => last())).toEqual([1, 1, 1]), LONG)
    for (const { child } of others) child.kill('SIGSTOP')
    const end = performance.now() + 30_000
    let number = 1
    while (performance.now() < end) {
      await publish(++number)
      await vi.waitFor(() => expect(first?.last()).toBe(number), LONG)
      await sleep(100)
    }
    expect(others.map(({ last }) => last())).toEqual([1, 1])
    for (const { child } of others) child.kill('SIGCONT')
    await vi.waitFor(() => expect(agents.map(({ last }) => last())).toEqual([number, number, number]), LONG)
    await publish(++number)
    await vi.waitFor(() => expect(agents.map(({ last }) => last())).toEqual([number, number, number]), LONG)
    for (const { numbers } of agents) expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
  },
  90_000,
)
