import { expect, test } from 'vitest'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { FileSource } from './file-source.ts'

const FILE = '/skills/pdf/SKILL.md'
const text = (body: string): string => `---\nname: pdf\ndescription: Reads.\n---\n${body}\n`

interface Kit extends AsyncDisposable {
  readonly files: MemoryFileSystem
  readonly clock: FakeClock
  readonly skills: SkillRuntime
  /** The kinds of all changes so far. */
  readonly kinds: string[]
  readonly load: () => Promise<Awaited<ReturnType<SkillRuntime['load']>>>
}

async function open(options: { readonly reconcileMs?: number } = {}): Promise<Kit> {
  const files = new MemoryFileSystem({ [FILE]: text('old'), '/skills/pdf/notes.md': 'notes' })
  const clock = new FakeClock()
  const source = new FileSource({ fileSystem: files, root: '/skills', label: 'skills', clock, ...options })
  const skills = await createSkillRuntime({ sources: [source], clock })
  const kinds: string[] = []
  skills.subscribe(({ changes }) => {
    kinds.push(...changes.map(({ kind }) => kind))
  })
  return {
    ...{ files, clock, skills, kinds },
    async load() {
      const call = skills.load('pdf')
      await clock.advance(100)
      return await call
    },
    [Symbol.asyncDispose]: async () => await skills.close(),
  }
}

test('a skill whose SKILL.md is removed and written again within a second is never removed', async () => {
  await using it = await open()
  it.files.remove(FILE)
  await it.clock.advance(900)
  expect(it.skills.current.find('pdf')).toBeDefined()
  it.files.write(FILE, text('new'))
  expect(await it.load()).toMatchObject({ body: 'new', diagnostics: [] })
  await it.clock.advance(2_000)
  expect(it.kinds).not.toContain('removed')
  expect(it.skills.current.reports().map(({ status }) => status)).toEqual(['ok'])
})

test('while SKILL.md is missing, a load names the missing file and the revision that it read', async () => {
  await using it = await open()
  const { revision } = it.skills.current.get('pdf')
  it.files.remove(FILE)
  const found = { code: 'SKILL_FILE_MISSING', severity: 'warning', path: FILE }
  expect(await it.load()).toMatchObject({ body: 'old', revision, diagnostics: [found] })
  const session = it.skills.session({ id: 'chat' })
  const call = async (tool: string, input: object): Promise<string | undefined> =>
    (await session.tools.find(({ name }) => name === tool)?.execute(input))?.text
  const answers = Promise.all([
    call('skill', { name: 'pdf' }),
    call('read_skill_file', { skill: 'pdf', path: 'notes.md' }),
    session.expandSlash('/pdf').then(({ text: expanded }) => expanded),
  ])
  await it.clock.advance(100)
  for (const answer of await answers)
    expect(answer).toContain(`Note: SKILL.md is missing; revision ${revision} is still served`)
})

test('a skill whose SKILL.md stays missing is removed after a second, even if loads look at the folder', async () => {
  await using it = await open()
  it.files.remove(FILE)
  for (let i = 0; i < 8; i++) await it.load()
  expect(it.kinds).not.toContain('removed')
  await it.clock.advance(1_200)
  expect(it.skills.current.find('pdf')).toBeUndefined()
  it.files.write(FILE, text('new'))
  expect((await it.load()).body).toBe('new')
})

test('a sweep without a request does not remove a skill whose SKILL.md is missing', async () => {
  await using it = await open({ reconcileMs: 500 })
  for (let round = 0; round < 5; round++) {
    it.files.remove(FILE)
    await it.clock.advance(900)
    it.files.write(FILE, text(`new ${round}`))
    await it.clock.advance(100)
  }
  expect(it.kinds).not.toContain('removed')
  expect((await it.load()).body).toBe('new 4')
})

test('a skill whose newest text is broken keeps its last good revision while SKILL.md is missing', async () => {
  await using it = await open()
  it.files.write(FILE, '---\nname: pdf\n---\n')
  await it.clock.advance(100)
  expect(it.skills.current.reports().map(({ status }) => status)).toEqual(['broken'])
  it.files.remove(FILE)
  expect((await it.load()).body).toBe('old')
  await it.clock.advance(700)
  it.files.write(FILE, text('new'))
  expect((await it.load()).body).toBe('new')
  expect(it.kinds).not.toContain('removed')
})

test('reload() removes a skill whose SKILL.md is missing at once', async () => {
  await using it = await open()
  it.files.remove(FILE)
  await it.clock.advance(100)
  const call = it.skills.reload()
  await it.clock.advance(100)
  await call
  expect(it.skills.current.find('pdf')).toBeUndefined()
})

test.each([
  ['vanishes', (files: MemoryFileSystem) => files.rename('/skills/pdf', '/pdf')],
  [
    'is replaced by a folder without SKILL.md',
    (files: MemoryFileSystem) => {
      files.write('/next/notes.md', 'other notes')
      files.rename('/skills/pdf', '/pdf')
      files.rename('/next', '/skills/pdf')
    },
  ],
])('a skill whose folder %s is removed at once', async (_, change) => {
  await using it = await open()
  change(it.files)
  await it.clock.advance(200)
  expect(it.skills.current.find('pdf')).toBeUndefined()
})
