import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createSkillRuntime, type SkillRuntime } from '../index.ts'
import type { WriteLock } from '../source-entry.ts'
import { directory } from './directory.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'moved-folders-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const text = (name: string, body: string): string =>
  `---\nname: ${name}\ndescription: Use when ${name} is needed.\n---\n${body}\n`

function put(folder: string, content: string): void {
  mkdirSync(join(root, folder), { recursive: true })
  writeFileSync(join(root, folder, 'SKILL.md'), content)
}

const read = (folder: string): string => readFileSync(join(root, folder, 'SKILL.md'), 'utf8')
const folders = (): string[] => readdirSync(root).sort()

function move(from: string, to: string): void {
  renameSync(join(root, from), join(root, to))
}

/** Swaps the names of two folders. */
function exchange(one: string, other: string): void {
  move(one, 'aside')
  move(other, one)
  move('aside', other)
}

async function open(
  watching: 'auto' | 'off' = 'off',
  state: { writeLock?: WriteLock } = {},
): Promise<SkillRuntime> {
  return await createSkillRuntime({
    sources: [directory(root, { writable: true, watching })],
    review: { agentWrites: 'live' },
    state,
  })
}

/** A lock that runs `change` while a write waits for the lock. */
const during = (change: () => void): WriteLock => ({
  run: async work => {
    change()
    return await work()
  },
})

describe.each(['auto', 'off'] as const)('writes right after a folder change (watching %s)', watching => {
  test('a write to a moved skill changes the current folder of this skill, not another skill at the old path', async () => {
    for (const name of ['a', 'b']) put(name, text(name, 'Written by a person.'))
    await using skills = await open(watching)
    const writer = skills.writer()
    exchange('a', 'b')
    await writer.write({ skill: 'a', path: 'SKILL.md', content: text('a', 'Written by an agent.') })
    expect(read('b')).toBe(text('a', 'Written by an agent.'))
    expect(read('a')).toBe(text('b', 'Written by a person.'))
    exchange('a', 'b')
    expect(readFileSync(join(await writer.quarantine('a'), 'SKILL.md'), 'utf8')).toContain('name: a')
    expect(folders()).toEqual(['.trash', 'b'])
  })

  test('after a folder was renamed, a write does not recreate the folder with its old name', async () => {
    put('a', text('a', 'First.'))
    await using skills = await open(watching)
    move('a', 'b')
    const { path } = await skills.writer().write({ skill: 'a', path: 'notes.md', content: 'x' })
    expect(path).toBe(join(root, 'b/notes.md'))
    expect(folders()).toEqual(['b'])
  })

  test.each(['notes.md', 'SKILL.md'])('a write creates no %s for a removed skill', async path => {
    put('a', text('a', 'First.'))
    await using skills = await open(watching)
    rmSync(join(root, 'a'), { recursive: true })
    await expect(
      skills.writer().write({ skill: 'a', path, content: text('a', 'Second.') }),
    ).rejects.toMatchObject({ code: 'SKILL_NOT_FOUND' })
    expect(folders()).toEqual([])
  })
})

describe('a folder changes while a write waits for the lock', () => {
  const changes: readonly (readonly [string, () => void, string])[] = [
    ['exchanged', () => exchange('a', 'b'), 'CHANGED_SINCE_READ'],
    ['renamed', () => move('a', 'c'), 'SKILL_NOT_FOUND'],
    ['removed', () => rmSync(join(root, 'a'), { recursive: true }), 'SKILL_NOT_FOUND'],
    ['broken', () => put('a', '---\nname: [b\n---\n'), 'CHANGED_SINCE_READ'],
  ]

  test.each(changes)('a write fails and changes nothing if the folder is %s', async (_, change, code) => {
    for (const name of ['a', 'b']) put(name, text(name, 'Written by a person.'))
    await using skills = await open('off', { writeLock: during(change) })
    const writer = skills.writer({ afterWrite: 'none' })
    const before = (): string[] => [...folders(), ...folders().map(read)]
    const attempts = [
      () => writer.write({ skill: 'a', path: 'SKILL.md', content: text('a', 'Written by an agent.') }),
      () => writer.write({ skill: 'a', path: 'notes.md', content: 'x' }),
      () => writer.quarantine('a'),
    ]
    change()
    const changed = before()
    for (const attempt of attempts) {
      rmSync(root, { recursive: true })
      for (const name of ['a', 'b']) put(name, text(name, 'Written by a person.'))
      await skills.reload()
      await expect(attempt()).rejects.toMatchObject({ code })
      expect(before()).toEqual(changed)
      expect(folders().flatMap(folder => readdirSync(join(root, folder)))).not.toContain('notes.md')
    }
  })

  test('a write succeeds if another process has meanwhile edited another file of the skill in the same folder', async () => {
    put('a', text('a', 'First.'))
    const writeLock = during(() => put('a', text('a', 'Second.')))
    await using skills = await open('off', { writeLock })
    await skills.writer().write({ skill: 'a', path: 'notes.md', content: 'x' })
    expect(skills.current.get('a').files.map(({ path }) => path)).toEqual(['SKILL.md', 'notes.md'])
  })
})

test('a new skill does not overwrite a folder of the same name that contains a different skill', async () => {
  put('b', text('a', 'First.'))
  await using skills = await open()
  const writer = skills.writer()
  for (const path of ['SKILL.md', 'notes.md'])
    await expect(writer.write({ skill: 'b', path, content: text('b', 'Second.') })).rejects.toMatchObject({
      code: 'CHANGED_SINCE_READ',
      message: expect.stringContaining('now holds the skill "a"'),
    })
  expect(read('b')).toBe(text('a', 'First.'))
})

test('a write to a disabled skill changes the folder of that skill', async () => {
  put('tools/a', text('a', 'First.'))
  await using skills = await open()
  await skills.review.disable('a')
  await skills.writer().write({ skill: 'a', path: 'notes.md', content: 'x' })
  expect([folders(), readdirSync(join(root, 'tools/a')).sort()]).toEqual([
    ['tools'],
    ['SKILL.md', 'notes.md'],
  ])
})

test('a write replaces the broken text of a skill, even if the skill was never served', async () => {
  put('served', text('served', 'First.'))
  put('never', '---\nname: [never\n---\n')
  await using skills = await open()
  put('served', '---\nname: [served\n---\n')
  const writer = skills.writer()
  for (const name of ['served', 'never'])
    await writer.write({ skill: name, path: 'SKILL.md', content: text(name, 'Second.') })
  expect(skills.current.list().map(({ name }) => name)).toEqual(['never', 'served'])
})
