import { readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { verifies } from '@skillstoke/requirements'
import { expect, test } from 'vitest'
import { countScriptProcesses, openScripts } from '../fixtures/scripts.ts'
import { TemporaryFolder } from '../fixtures/skill-folder.ts'

const CALLERS = 20
const EDITS = 60
const EDIT_EVERY_MS = 50

// A short form of benchmark B9: many callers, and edits that come faster than the code can be loaded.
test(`during reloads, no call fails, mixes two versions, or runs code that was already outdated when the call started ${verifies('OMNI-01', 'PROMISE-2', 'PROMISE-4')}`, async () => {
  using folder = new TemporaryFolder()
  const write = (version: number): void => {
    // Both files must have the same version. A call that sees two versions has run a mixture of old and new code.
    folder.write('git/scripts/lib/version.ts', `export const helper: number = ${version}\n`)
    folder.write(
      'git/scripts/version.ts',
      `import { defineCommand } from 'skillstoke/command'
       import { helper } from './lib/version.ts'
       export const version = defineCommand({ name: 'version', description: 'd', input: { type: 'object' },
         run: async () => { await new Promise(resolve => setTimeout(resolve, 5)); return [${version}, helper] } })\n`,
    )
  }
  folder.writeSkill('git')
  write(0)
  await using skills = await openScripts(folder.path)
  await skills.scripts.execute('git.version')
  const descriptors = (): number => readdirSync('/proc/self/fd').length
  const before = descriptors()
  let written = 0
  let isOver = false
  let calls = 0
  const wrong: unknown[] = []
  const caller = async (): Promise<void> => {
    while (!isOver) {
      const atLeast = written
      const result = await skills.scripts.execute('git.version').catch((error: unknown) => error)
      calls++
      const [main, helper] = Array.isArray((result as { value?: unknown }).value)
        ? (result as { value: [number, number] }).value
        : [NaN, NaN]
      if (main !== helper || main < atLeast) wrong.push({ result, atLeast })
    }
  }
  const callers = Array.from({ length: CALLERS }, caller)
  for (let version = 1; version <= EDITS; version++) {
    write(version)
    // The version counts as written only after all its files are complete.
    written = version
    await delay(EDIT_EVERY_MS)
  }
  isOver = true
  await Promise.all(callers)
  expect(wrong).toEqual([])
  expect(calls).toBeGreaterThan(CALLERS)
  expect((await skills.scripts.execute('git.version')).value).toEqual([EDITS, EDITS])
  // Up to four processes run calls. In addition, there may be a reserve process and its sandbox process.
  await expect.poll(countScriptProcesses).toBeLessThanOrEqual(4 + 2)
  await expect.poll(descriptors).toBeLessThanOrEqual(before + 3 * 4)
})
