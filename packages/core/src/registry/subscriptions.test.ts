import { expect, test } from 'vitest'
import { silentLogger } from '../host.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import type { Generation } from './generation.ts'
import type { RegistryUpdate } from './registry-update.ts'
import { Subscriptions } from './subscriptions.ts'

function toUpdate(number: number): RegistryUpdate {
  const generation = { number } as Generation
  return { previous: generation, generation, changes: [], reports: [] }
}

test('an update is delivered even if it is published exactly when the previous delivery ends', async () => {
  for (let steps = 0; steps < 20; steps++) {
    const seen: number[] = []
    const logger = { ...silentLogger, error: (text: string) => expect.unreachable(text) }
    const subscriptions = new Subscriptions(toUpdate(0).generation, new FakeClock(), logger)
    subscriptions.add(async ({ generation }) => void seen.push(generation.number), 'events')
    subscriptions.publish(toUpdate(1))
    for (let i = 0; i < steps; i++) await Promise.resolve()
    subscriptions.publish(toUpdate(2))
    await subscriptions.delivered()
    expect(seen.at(-1), `published after ${steps} steps`).toBe(2)
  }
})
