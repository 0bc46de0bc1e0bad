import { describe, expect, test } from 'vitest'
import { type Harness, type HarnessOptions, SCENARIO_NAMES } from './harness.ts'
import { SCENARIOS } from './scenarios.ts'
import { World } from './world.ts'

/** Runs all scenarios with an adapter. A scenario that the SDK limits must at least keep the prefix. */
export function testHarness(harness: Harness): void {
  describe(harness.name, () => {
    test.each(SCENARIO_NAMES)('%s', async name => {
      await using world = await World.open()
      const open = async (options: HarnessOptions = {}): ReturnType<Harness['open']> =>
        await harness.open(world, options)
      const finding = await SCENARIOS[name](world, open)
      if (harness.limits?.[name] === undefined) expect(finding).toEqual({ follows: true, keepsPrefix: true })
      else expect(finding?.keepsPrefix ?? true).toBe(true)
    })
  })
}
