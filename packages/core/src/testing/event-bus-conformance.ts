import type { EventBus, SkillEvents } from '../index.ts'
import { type ConformanceCase, expectEqual } from './conformance.ts'

const batch = (generation: number): SkillEvents['skills:batch'] => ({
  generation,
  digest: 'sha256:0',
  changes: [],
})

/**
 * The rules of `EventBus` as test cases, for any test runner. Call `check` with a fresh bus for each case.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { eventBusConformance } from '@skillstoke/core/testing'
 *
 * for (const { check } of eventBusConformance) {
 *   await using skills = await createSkillRuntime({ sources: [] })
 *   await check(skills.events)
 * }
 * ```
 */
export const eventBusConformance: readonly ConformanceCase<EventBus>[] = [
  {
    name: 'emit() calls the handlers of a name in order, and waits for slow handlers',
    async check(bus) {
      const told: string[] = []
      bus.on('skills:batch', async ({ generation }) => {
        await Promise.resolve()
        told.push(`slow ${generation}`)
      })
      bus.on('skills:batch', ({ generation }) => void told.push(`fast ${generation}`))
      bus.on('skill:added', () => void told.push('another name'))
      await bus.emit('skills:batch', batch(1))
      await bus.emit('skills:batch', batch(2))
      expectEqual(told, ['slow 1', 'fast 1', 'slow 2', 'fast 2'], 'calls')
    },
  },
  {
    name: 'a handler that throws or rejects does not affect the other handlers',
    async check(bus) {
      const told: number[] = []
      bus.on('skills:batch', () => {
        throw new Error('thrown on purpose')
      })
      bus.on('skills:batch', async () => {
        await Promise.reject(new Error('rejected on purpose'))
      })
      bus.on('skills:batch', ({ generation }) => void told.push(generation))
      await bus.emit('skills:batch', batch(1))
      expectEqual(told, [1], 'calls of the last handler')
    },
  },
  {
    name: 'a removed handler is not called, and removing it twice is harmless',
    async check(bus) {
      const told: string[] = []
      const off = bus.on('skills:batch', () => void told.push('first'))
      bus.on('skills:batch', () => void told.push('second'))
      off()
      off()
      await bus.emit('skills:batch', batch(1))
      expectEqual(told, ['second'], 'calls')
    },
  },
  {
    name: 'emit() does nothing without handlers',
    async check(bus) {
      await bus.emit('skills:batch', batch(1))
    },
  },
]
