import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { directory } from '../disk/directory.ts'
import { createSkillRuntime, type SkillRuntime } from '../index.ts'
import { openDecisions } from './decision-store.ts'
import { openState } from './open-state.ts'
import { openSkillStore } from './sqlite-store.ts'

let folder: string
let state: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lost-decisions-'))
  state = join(folder, 'state')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, body: string): void {
  mkdirSync(join(folder, 'skills', name), { recursive: true })
  const text = `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`
  writeFileSync(join(folder, 'skills', name, 'SKILL.md'), text)
}

async function open(): Promise<SkillRuntime> {
  return await createSkillRuntime({
    sources: [directory(join(folder, 'skills'), { label: 'own', watching: 'off' })],
    state: await openState(state),
  })
}

async function bodyOf(skills: SkillRuntime, name: string): Promise<string | undefined> {
  const skill = skills.current.find(name)
  return skill === undefined ? undefined : (await skills.readBody(skill)).trim()
}

const LOSSES: readonly (readonly [string, () => void])[] = [
  ['removed', () => each(path => rmSync(path))],
  ['overwritten', () => each(path => writeFileSync(path, 'no database at all'))],
  ['cut short', () => each(path => truncateSync(path, Math.floor(statSync(path).size / 2)))],
]

function each(work: (path: string) => void): void {
  for (const name of readdirSync(state)) if (name.startsWith('decisions.sqlite')) work(join(state, name))
}

describe.each(LOSSES)('lost decisions (%s)', (_, lose) => {
  test('if the decisions are lost, skills stay disabled, rejected or pinned, and changes wait for approval', async () => {
    for (const name of ['disabled', 'rejected', 'pinned', 'approved', 'free']) write(name, 'first')
    {
      await using skills = await open()
      await skills.review.disable('disabled')
      await skills.review.pin('pinned')
      await skills.review.approve('approved')
      write('pinned', 'second')
      write('rejected', 'second')
      await skills.reload()
      await skills.review.reject('rejected')
      write('approved', 'second')
      await skills.reload()
      expect(await bodyOf(skills, 'approved')).toBe('second')
    }
    const before = { disabled: undefined, pinned: 'first', approved: 'second', free: 'first' }
    lose()
    write('free', 'second')
    {
      await using skills = await open()
      for (const [name, body] of Object.entries({ ...before, free: 'second' }))
        expect([name, await bodyOf(skills, name)]).toEqual([name, body])
      expect(await bodyOf(skills, 'rejected')).not.toBe('second')
      const reports = skills.current.reports()
      const told = reports.filter(({ diagnostics }) =>
        diagnostics.some(({ code }) => code === 'DECISIONS_LOST'),
      )
      expect(told.map(({ name }) => name)).toEqual(['approved', 'disabled', 'pinned', 'rejected'])
      // After the loss of the decisions, changes wait for approval, even after a restart.
      write('approved', 'third')
      await skills.reload()
      expect(await bodyOf(skills, 'approved')).toBe('second')
    }
    await using skills = await open()
    expect(await bodyOf(skills, 'approved')).toBe('second')
    expect(skills.review.pending().map(({ name }) => name)).toContain('approved')
    await skills.review.approve('approved')
    await skills.review.enable('disabled')
    expect(await bodyOf(skills, 'approved')).toBe('third')
    expect(await bodyOf(skills, 'disabled')).toBe('first')
    const told = skills.current
      .reports()
      .flatMap(({ name, diagnostics }) =>
        diagnostics.some(({ code }) => code === 'DECISIONS_LOST') ? [name] : [],
      )
    expect(told).toEqual(['pinned', 'rejected'])
  })
})

test('a damaged database is moved aside and reported, and the next start does not report it again', async () => {
  await (await openDecisions(state)).close()
  writeFileSync(join(state, 'decisions.sqlite'), 'no database at all')
  const decisions = await openDecisions(state)
  expect(decisions.damage).toMatch(/are damaged \(.*\) and were moved to ".*decisions\.sqlite\.damaged-\d+"/)
  await decisions.close()
  const again = await openDecisions(state)
  expect(again.damage).toBeUndefined()
  await again.close()
  expect(readdirSync(state).filter(name => /^decisions\.sqlite\.damaged-\d+$/.test(name))).toHaveLength(1)
})

test.skipIf(process.platform === 'win32')('only the user who owns the databases can read them', async () => {
  await using skills = await open()
  await skills.reload()
  const names = readdirSync(state, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  expect(names.length).toBeGreaterThanOrEqual(3)
  for (const { parentPath, name } of names)
    expect([name, (statSync(join(parentPath, name)).mode & 0o777).toString(8)]).toEqual([name, '600'])
})

test.skipIf(process.platform === 'win32')(
  'a state directory that other users can write to is refused',
  async () => {
    mkdirSync(state)
    chmodSync(state, 0o777)
    await expect(openDecisions(state)).rejects.toThrow(
      /other users may write to the state directory .*\(mode 777\)/,
    )
    await expect(openSkillStore(state)).rejects.toThrow('chmod go-w')
    chmodSync(state, 0o755)
    await (await openDecisions(state)).close()
  },
)
