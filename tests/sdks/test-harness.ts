import { describe, expect, test } from 'vitest'
import { type Harness, type HarnessOptions, SCENARIO_NAMES, type ScenarioName } from './harness.ts'
import { type Finding, SCENARIOS } from './scenarios.ts'
import { findRow, renderRow, saveRow, toRow } from './table.ts'
import { World } from './world.ts'

/**
 * Runs all scenarios, and compares the results with the row of the page. An adapter must pass every scenario that its
 * SDK does not limit. The results of other projects are only recorded.
 */
export function testHarness(harness: Harness): void {
  describe(harness.name, () => {
    const findings: Partial<Record<ScenarioName, Finding>> = {}

    test.each(SCENARIO_NAMES)('%s', async name => {
      await using world = await World.open()
      const open = async (options: HarnessOptions = {}): ReturnType<Harness['open']> =>
        await harness.open(world, options)
      const finding = await SCENARIOS[name](world, open)
      if (finding !== undefined) findings[name] = finding
      if (harness.isPeer === true || harness.limits?.[name] !== undefined) return
      expect(finding).toEqual({ follows: true, keepsPrefix: true })
      for (const callId of world.callIds) expect(callId).toMatch(/^(call|toolu)_\d+$/)
    })

    test('the table of the page shows these results', () => {
      const row = toRow(harness, findings)
      if (process.env['SDK_TABLE'] === 'write') saveRow(row)
      else if (harness.isTimed === true) expect(findRow(row)).toBeDefined()
      else expect(findRow(row)).toBe(renderRow(row))
    })
  })
}
