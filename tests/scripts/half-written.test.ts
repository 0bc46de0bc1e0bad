import { closeSync, openSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { SkillRuntime } from '@skillstoke/core'
import { describe, expect, test } from 'vitest'
import { commandText, openScripts } from '../fixtures/scripts.ts'
import { skillText, TemporaryFolder } from '../fixtures/skill-folder.ts'

const LINES = Array.from({ length: 20 }, (_, line) => `Line ${line} of the instructions.`)
const textOf = (version: number, lines = LINES.length): string =>
  skillText('pdf', { body: [...LINES.slice(0, lines), `End of version ${version}.`].join('\n') })

/** Overwrites a file like a slow program: writes one part, pauses, and writes the rest. */
async function writeSlowly(path: string, content: string, at: number, pauseMs: number): Promise<void> {
  const descriptor = openSync(path, 'w')
  writeSync(descriptor, content.slice(0, at))
  await pause(pauseMs)
  writeSync(descriptor, content.slice(at))
  closeSync(descriptor)
}

/** Collects the texts that readers get while `work` runs. */
async function readWhile(skills: SkillRuntime, work: Promise<void>): Promise<Set<string>> {
  const seen = new Set<string>()
  let isOver = false
  const ended = work.finally(() => (isOver = true))
  while (!isOver) {
    seen.add((await skills.load('pdf')).body)
    seen.add(await skills.readBody(skills.current.get('pdf')))
    await pause(2)
  }
  await ended
  return seen
}

describe('a text that is written in two parts', () => {
  test.each(['auto', 'off'] as const)(
    'readers never get only the first part, with watching %s',
    async watching => {
      using folder = new TemporaryFolder()
      const path = folder.write('pdf/SKILL.md', textOf(0))
      await using skills = await openScripts(folder.path, {
        source: { watching },
        runtime: { tuning: { settle: {} } },
      })
      for (let version = 1; version <= 8; version++) {
        // The new text is longer or shorter than the old text. The part that is written first ends inside a line,
        // ends after a line, or is empty.
        const content = textOf(version, version % 2 === 0 ? LINES.length : 10)
        const cut = [Math.floor(content.length / 2), content.indexOf('\n', 120) + 1, 0][version % 3] ?? 0
        for (const body of await readWhile(skills, writeSlowly(path, content, cut, 50)))
          expect(body).toMatch(new RegExp(`End of version (${version - 1}|${version})\\.$`))
        expect((await skills.load('pdf')).body).toContain(`End of version ${version}.`)
      }
    },
  )

  test('a script that is empty for a moment keeps its commands', async () => {
    using folder = new TemporaryFolder()
    folder.writeSkill('pdf')
    const path = folder.write('pdf/scripts/go.js', commandText('go', 'return 0'))
    await using skills = await openScripts(folder.path, { runtime: { tuning: { settle: {} } } })
    for (let version = 1; version <= 4; version++) {
      let isOver = false
      const content = commandText('go', `return ${version}`)
      const work = writeSlowly(path, content, 0, 60).finally(() => (isOver = true))
      while (!isOver) expect([version - 1, version]).toContain((await skills.scripts.execute('pdf.go')).value)
      await work
      expect((await skills.scripts.execute('pdf.go')).value).toBe(version)
    }
  })
})

test('if a text becomes shorter, the shorter text is served after the writing has stopped', async () => {
  using folder = new TemporaryFolder()
  const path = folder.write('pdf/SKILL.md', textOf(1))
  await using skills = await openScripts(folder.path, { runtime: { tuning: { settle: {} } } })
  truncateSync(path, statSync(path).size - 'End of version 1.\n'.length)
  expect((await skills.fresh()).get('pdf')).toBeDefined()
  expect((await skills.load('pdf')).body).toMatch(/Line 19 of the instructions\.$/)
  writeFileSync(path, skillText('pdf', { body: 'x' }).trimEnd())
  expect((await skills.load('pdf')).body).toBe('x')
})
