import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type DirectoryOptions, directory } from '../disk/directory.ts'
import { createSkillRuntime, type SkillRuntime, type SkillRuntimeOptions } from '../index.ts'
import { openDecisions } from './decision-store.ts'
import { openSkillStore } from './sqlite-store.ts'

let folder: string
let state: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'moved-decisions-'))
  state = join(folder, 'state')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const at = (...path: readonly string[]): string => join(folder, 'skills', ...path)

/** Writes a skill into a folder. The names of the folder and of the skill may differ. */
function write(location: string, name: string, body: string): void {
  mkdirSync(at(location), { recursive: true })
  writeFileSync(at(location, 'SKILL.md'), `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`)
}

/** Writes a `SKILL.md` that cannot be parsed. */
function damage(location: string): void {
  mkdirSync(at(location), { recursive: true })
  writeFileSync(at(location, 'SKILL.md'), '---\nname: [\n')
}

function swap(a: string, b: string): void {
  renameSync(at(a), at('between'))
  renameSync(at(b), at(a))
  renameSync(at('between'), at(b))
}

async function open(
  source: DirectoryOptions = {},
  options: Partial<SkillRuntimeOptions> = {},
): Promise<SkillRuntime> {
  return await createSkillRuntime({
    sources: [directory(join(folder, 'skills'), { label: 'own', watching: 'off', ...source })],
    state: { store: await openSkillStore(state), decisions: await openDecisions(state, { pollMs: 10 }) },
    ...options,
  })
}

async function served(skills: SkillRuntime): Promise<Readonly<Record<string, string>>> {
  const bodies = skills.current
    .list()
    .map(async skill => [skill.name, (await skills.readBody(skill)).trim()] as const)
  return Object.fromEntries(await Promise.all(bodies))
}

/** Returns the served skills after a sweep: first from the running runtime, then from a new runtime. */
async function servedNowAndLater(
  skills: SkillRuntime,
  source: DirectoryOptions = {},
): Promise<readonly unknown[]> {
  await skills.reload()
  const now = await served(skills)
  await skills.close()
  await using again = await open(source)
  return [now, await served(again)]
}

describe('moved folders and the last good revision', () => {
  test('if two folders swap names and one folder is broken, the last good revision of the broken folder is still served', async () => {
    for (const isBrokenFirst of [true, false]) {
      write('a', 'a', 'A.')
      write('b', 'b', 'B.')
      const skills = await open()
      if (isBrokenFirst) damage('b')
      swap('a', 'b')
      if (!isBrokenFirst) damage('a')
      expect(await servedNowAndLater(skills)).toEqual([
        { a: 'A.', b: 'B.' },
        { a: 'A.', b: 'B.' },
      ])
    }
  })

  test('the last good revision of a moved folder is not served for a new folder at the old path', async () => {
    write('pdf', 'pdf', 'First.')
    const skills = await open()
    renameSync(at('pdf'), at('pdf-old'))
    damage('pdf')
    write('pdf-old', 'pdf', 'Second.')
    expect(await servedNowAndLater(skills)).toEqual([{ pdf: 'Second.' }, { pdf: 'Second.' }])
  })

  test('if a broken folder replaces the folder of a skill, the last good revision of the skill is still served', async () => {
    write('pdf', 'pdf', 'First.')
    const skills = await open()
    damage('next')
    rmSync(at('pdf'), { recursive: true })
    renameSync(at('next'), at('pdf'))
    expect(await servedNowAndLater(skills)).toEqual([{ pdf: 'First.' }, { pdf: 'First.' }])
  })
})

describe('moved folders and decisions', () => {
  const MOVES: readonly (readonly [string, () => void])[] = [
    ['is renamed', () => renameSync(at('pdf'), at('maps'))],
    [
      'is moved into a category',
      () => {
        mkdirSync(at('category'))
        renameSync(at('pdf'), at('category/pdf'))
      },
    ],
    ['swaps names with another folder', () => swap('pdf', 'other')],
  ]

  test.each(MOVES)('a decision stays with a folder that %s, even after a restart', async (_, move) => {
    write('other', 'other', 'Other.')
    for (const decide of ['disable', 'reject', 'pin', 'write'] as const) {
      rmSync(at('pdf'), { recursive: true, force: true })
      rmSync(state, { recursive: true, force: true })
      write('pdf', 'pdf', 'First.')
      const skills = await open({ writable: true })
      await using beside = await open()
      if (decide === 'pin') await skills.review.pin('pdf')
      if (decide === 'write')
        await skills.writer().write({
          skill: 'pdf',
          path: 'SKILL.md',
          content: '---\nname: pdf\ndescription: Does pdf.\n---\nOf an agent.\n',
          agent: { name: 'agent' },
        })
      else write('pdf', 'pdf', 'Second.')
      await Promise.all([skills.reload(), beside.reload()])
      if (decide === 'reject') await skills.review.reject('pdf')
      if (decide === 'disable') await skills.review.disable('pdf')
      const seen = { other: 'Other.', ...(decide === 'disable' ? {} : { pdf: 'First.' }) }
      expect([decide, await served(skills)]).toEqual([decide, seen])
      move()
      await beside.reload()
      expect([decide, await served(beside)]).toEqual([decide, seen])
      expect([decide, await servedNowAndLater(skills)]).toEqual([decide, [seen, seen]])
      for (const location of ['maps', 'category', 'other', 'pdf'])
        rmSync(at(location), { recursive: true, force: true })
      write('other', 'other', 'Other.')
    }
  })

  test('if two processes notice that folders swapped names, the decision about a folder is recorded only once', async () => {
    write('a', 'a', 'A.')
    write('b', 'b', 'B.')
    await using first = await open()
    await using second = await open()
    await first.review.disable('a')
    await expect.poll(() => second.current.find('a')).toBeUndefined()
    for (let round = 0; round < 5; round++) {
      swap('a', 'b')
      await Promise.all([first.reload(), second.reload()])
      for (const skills of [first, second]) expect(await served(skills)).toEqual({ b: 'B.' })
    }
    const kinds = (await first.review.decisions('a')).map(({ kind }) => kind)
    expect(kinds).toEqual(['disable'])
    await second.review.enable('a')
    await expect.poll(async () => await served(first)).toEqual({ a: 'A.', b: 'B.' })
  })

  test('an approved revision of a reviewed source stays approved after its folder was moved', async () => {
    write('pdf', 'pdf', 'First.')
    const skills = await open({ trust: 'review' })
    await skills.review.approve('pdf')
    renameSync(at('pdf'), at('maps'))
    const source = { trust: 'review' } as const
    expect(await servedNowAndLater(skills, source)).toEqual([{ pdf: 'First.' }, { pdf: 'First.' }])
  })

  test('a text that an agent wrote still waits for approval if the skill folder is moved while no process runs', async () => {
    const skills = await open({ writable: true })
    await skills.writer().write({
      skill: 'made',
      path: 'SKILL.md',
      content: '---\nname: made\ndescription: Does it.\n---\nOf an agent.\n',
      agent: { name: 'agent' },
    })
    await skills.close()
    renameSync(at('made'), at('elsewhere'))
    await using again = await open()
    expect(await served(again)).toEqual({})
    await again.review.approve('made')
    expect(await served(again)).toEqual({ made: 'Of an agent.' })
  })
})

describe('folders that are moved while no process runs', () => {
  test.each(['auto', 'review'] as const)('decisions about a %s source follow a folder', async trust => {
    write('pdf', 'pdf', 'First.')
    write('maps', 'maps', 'First.')
    const skills = await open({ trust })
    if (trust === 'review') await skills.review.approveAll()
    await skills.review.disable('maps')
    write('pdf', 'pdf', 'Second.')
    await skills.reload()
    await skills.review.reject('pdf')
    await skills.close()
    renameSync(at('pdf'), at('new'))
    renameSync(at('maps'), at('pdf'))
    const again = await open({ trust })
    expect(await served(again)).toEqual({ pdf: 'First.' })
    expect((await again.review.decisions('maps')).map(({ kind }) => kind)).toContain('disable')
    await again.close()
  })

  test('a new folder at the path of a moved folder has no decisions, and a second path to a folder takes none', async () => {
    write('pdf', 'pdf', 'First.')
    const skills = await open()
    await skills.review.disable('pdf')
    await skills.close()
    symlinkSync(at('pdf'), at('another'))
    const linked = await open()
    expect(linked.current.reports().find(({ location }) => location === 'pdf')?.status).toBe('disabled')
    await linked.close()
    rmSync(at('another'))
    renameSync(at('pdf'), at('new'))
    write('pdf', 'maps', 'Other.')
    expect(await servedNowAndLater(await open())).toEqual([{ maps: 'Other.' }, { maps: 'Other.' }])
  })
})

test('a revision that another process has approved is served even if the folder already has a newer text', async () => {
  write('pdf', 'pdf', 'First.')
  const source = { trust: 'review' } as const
  await using first = await open(source)
  await first.review.approve('pdf')
  await using second = await open(source)
  write('pdf', 'pdf', 'Second.')
  await first.reload()
  write('pdf', 'pdf', 'Third.')
  await second.reload()
  await first.review.approve('pdf')
  expect(await served(first)).toEqual({ pdf: 'Second.' })
  await expect.poll(async () => await served(second)).toEqual({ pdf: 'Second.' })
})
