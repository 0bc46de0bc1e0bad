import { describe, expect, test } from 'vitest'
import type { DirectoryEntry, FileReadOptions, OpenedFile } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { FileSource } from '../source/file-source.ts'
import type { FileSourceOptions } from '../source/file-source-options.ts'
import { MemorySource } from '../source/memory-source.ts'
import { NO_SETTLE } from '../source/settle.ts'
import { createSkillRuntime } from './create-skill-runtime.ts'
import type { SkillRuntime } from './skill-runtime.ts'

const text = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\nx\n`

const FILES = {
  '/skills/pdf/SKILL.md': text('pdf'),
  '/skills/pdf/scripts/run.py': 'x',
  '/skills/other-folder/SKILL.md': text('renamed'),
  '/skills/office/word/SKILL.md': text('word'),
  '/skills/office/excel/notes.txt': 'x',
  '/skills/plural/SKILLS.md': text('plural-name'),
  '/skills/mixed/Skill.md': text('mixed'),
  '/skills/bare/readme.txt': 'x',
  '/skills/_draft/SKILL.md': text('set-aside'),
  '/skills/_drafts/inner/SKILL.md': text('inner'),
  '/skills/.hidden/SKILL.md': text('hidden'),
  '/skills/node_modules/dep/SKILL.md': text('dep'),
  '/skills/.git/config': 'x',
  '/skills/loose.md': text('loose'),
  '/skills/README.md': 'x',
  '/skills/a/b/c/d/e/f/deep/SKILL.md': text('deep'),
  '/skills/host/SKILL.md': text('host'),
  '/skills/host/.skillignore': 'left/\n',
  '/skills/host/left/SKILL.md': text('left'),
}

async function open(
  fileSystem: MemoryFileSystem,
  options: Partial<FileSourceOptions> = {},
): Promise<SkillRuntime> {
  const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', watching: 'off', ...options })
  return await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
}

describe('SkillRuntime.why() for a skill', () => {
  test.each([
    ['renamed', undefined],
    ['other-folder', 'renamed'],
    ['/skills/other-folder', 'renamed'],
    ['/skills/other-folder/SKILL.md', 'renamed'],
    ['other-folder/SKILL.md', 'renamed'],
    ['skills/other-folder', 'renamed'],
    ['skills/renamed', 'renamed'],
    ['office/word', 'word'],
    ['/skills/office/word/', 'word'],
    ['/skills/pdf/scripts/run.py', 'pdf'],
  ])('why() finds the skill by %j', async (asked, skill) => {
    await using skills = await open(new MemoryFileSystem(FILES))
    const explanation = await skills.why(asked)
    expect(explanation.steps.map(({ step, ok }) => [step, ok])).toEqual([
      ['found', true],
      ['parsed', true],
      ['eligible', true],
      ['scoped', true],
      ['listed', true],
    ])
    expect([explanation.name, explanation.skill]).toEqual([asked, skill])
    expect(skills.explain(asked)).toEqual(explanation)
  })

  test('why() renders no catalog for a skill that fails an earlier step', async () => {
    let rendered = 0
    const format = (): string => `catalog ${++rendered}`
    const fileSystem = new MemoryFileSystem({
      ...FILES,
      '/skills/broken/SKILL.md': 'no frontmatter',
    })
    const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', watching: 'off' })
    await using skills = await createSkillRuntime({ sources: [source], catalog: { format } })
    expect((await skills.why('nothing')).steps.at(-1)?.ok).toBe(false)
    expect((await skills.why('broken')).steps.at(-1)?.ok).toBe(false)
    expect(rendered).toBe(0)
    expect((await skills.why('pdf')).steps.at(-1)).toMatchObject({ step: 'listed', ok: true })
    expect(rendered).toBe(1)
  })

  test('why() reports that the name of a folder differs from the name of its skill, or that a path is a file of a skill', async () => {
    await using skills = await open(new MemoryFileSystem(FILES))
    const detailOf = async (asked: string): Promise<string | undefined> =>
      (await skills.why(asked)).steps[0]?.detail
    expect(await detailOf('other-folder')).toContain('the folder "other-folder" names the skill "renamed"')
    expect(await detailOf('pdf/scripts/run.py')).toContain('"scripts/run.py" is a part of the skill "pdf"')
  })

  test('why() distinguishes two skills with the same name by their paths', async () => {
    const first = new MemorySource({ label: 'first' }, [{ name: 'pdf', description: 'First.' }])
    const second = new MemorySource({ label: 'second' }, [{ name: 'pdf', description: 'Second.' }])
    await using skills = await createSkillRuntime({ sources: [first, second], tuning: { settle: NO_SETTLE } })
    const stepsOf = async (asked: string): Promise<unknown> =>
      (await skills.why(asked)).steps.map(({ step, ok }) => [step, ok])
    expect(await stepsOf('first/pdf')).toContainEqual(['eligible', true])
    expect(await stepsOf('second/pdf')).toContainEqual(['eligible', false])
  })
})

describe('SkillRuntime.why() for a path that is not a skill', () => {
  test.each([
    ['plural', 'misnamed', 'a file "SKILLS.md"', 'rename "SKILLS.md" to "SKILL.md"'],
    ['plural-name', 'misnamed', 'a file "SKILLS.md"', 'rename "SKILLS.md" to "SKILL.md"'],
    ['/skills/plural/SKILLS.md', 'misnamed', 'a file "SKILLS.md"', 'rename "SKILLS.md" to "SKILL.md"'],
    ['mixed', 'misnamed', 'a file "Skill.md"', 'rename "Skill.md" to "SKILL.md"'],
    ['bare', 'no-skill-file', 'has no SKILL.md', 'add a SKILL.md'],
    ['/skills/bare', 'no-skill-file', 'has no SKILL.md', 'add a SKILL.md'],
    ['excel', 'no-skill-file', 'has no SKILL.md', 'add a SKILL.md'],
    ['office', 'category', 'contains skills', 'name one of its skills'],
    ['_draft', 'skipped', 'start with "_" are not read at the top', 'rename it'],
    ['set-aside', 'skipped', 'start with "_" are not read at the top', 'rename it'],
    ['inner', 'skipped', 'is in "_drafts", which is skipped', 'move it out of "_drafts"'],
    ['/skills/_drafts/inner/SKILL.md', 'skipped', 'is in "_drafts"', 'move it out of "_drafts"'],
    ['.hidden', 'skipped', 'start with "." are not read', 'rename it'],
    ['hidden', 'skipped', 'start with "." are not read', 'rename it'],
    ['node_modules', 'skipped', 'called "node_modules"', 'move the skill out'],
    ['/skills/node_modules/dep', 'skipped', 'called "node_modules"', 'move the skill out'],
    ['loose.md', 'file', 'a skill is a folder', 'move it to "loose/SKILL.md"'],
    ['loose', 'file', 'a skill is a folder', 'move it to "loose/SKILL.md"'],
    ['/skills/office/excel/notes.txt', 'no-skill-file', 'has no SKILL.md', 'add a SKILL.md'],
    ['deep', 'too-deep', '7 levels below the root', 'move it up'],
    ['left', 'ignored', '/skills/host/.skillignore', 'take it out'],
    ['host/left', 'ignored', '/skills/host/.skillignore', 'take it out'],
  ])('why() explains that %j is not a skill, with the reason %s', async (asked, reason, message, fix) => {
    await using skills = await open(new MemoryFileSystem(FILES))
    const explanation = await skills.why(asked)
    expect(explanation.notSkills).toMatchObject([{ source: 'skills', reason }])
    expect(explanation.steps).toEqual([
      { step: 'found', ok: false, detail: expect.stringContaining(message) },
    ])
    expect(explanation.steps[0]?.detail).toContain(fix)
  })

  test('why() reports that a nested folder belongs to its outer skill when nested skills are disabled', async () => {
    const files = { '/skills/pdf/SKILL.md': text('pdf'), '/skills/pdf/nested/SKILL.md': text('nested') }
    await using skills = await open(new MemoryFileSystem(files), { nestedSkills: false })
    expect((await skills.why('nested')).steps[0]?.detail).toContain('is a part of the skill "pdf"')
  })

  test('why() reports that the path or name does not exist, and suggests a similar name', async () => {
    await using skills = await open(new MemoryFileSystem(FILES))
    expect((await skills.why('pfd')).steps[0]?.detail).toContain(
      'no folder with this name in skills; did you mean "pdf"?',
    )
    expect((await skills.why('/skills/nowhere')).steps[0]?.detail).toContain('nothing at this path')
  })
})

describe('a skill that is missing while a source cannot be read', () => {
  /** Opens a runtime with two sources, `lost` and `skills`. The root of `lost` is a file, so `lost` cannot be read. */
  async function openBoth(files: Readonly<Record<string, string>>): Promise<SkillRuntime> {
    const fileSystem = new MemoryFileSystem({ '/lost': 'text', '/skills/readme.txt': '', ...files })
    const sources = ['lost', 'skills'].map(
      label => new FileSource({ fileSystem, root: `/${label}`, label, watching: 'off' }),
    )
    return await createSkillRuntime({ sources, tuning: { settle: NO_SETTLE } })
  }

  test('why() and explain() name the unreadable source and the reason', async () => {
    await using skills = await openBoth({ '/skills/pdf/SKILL.md': text('pdf') })
    const detail = expect.stringMatching(
      /^lost: the source could not be read: .*; in the other sources: no folder with this name in lost, skills; did you mean "pdf"\?$/,
    )
    expect((await skills.why('pfd')).steps).toEqual([{ step: 'found', ok: false, detail }])
    expect(skills.explain('pfd').steps).toEqual([{ step: 'found', ok: false, detail }])
    expect((await skills.why('pdf')).steps[0]?.ok).toBe(true)
  })

  test('why() reports only the unreadable source if no other source has skills', async () => {
    await using skills = await openBoth({})
    const detail = (await skills.why('pdf')).steps[0]?.detail
    expect(detail).toMatch(/^lost: the source could not be read: /)
    expect(detail).not.toContain('no folder with this name')
  })

  test('error messages and tool answers name the unreadable source', async () => {
    await using skills = await openBoth({ '/skills/pdf/SKILL.md': text('pdf') })
    const unread = 'the source "lost" could not be read, so the skill may be in it'
    const notFound = `there is no skill "maps"; available: pdf; ${unread}`
    expect(() => skills.current.get('maps')).toThrow(notFound)
    await expect(skills.load('maps')).rejects.toThrow(notFound)
    const [load, read] = skills.session({ id: 't' }).tools
    expect((await load?.execute({ name: 'pfd' }))?.text).toBe(
      `no skill "pfd"; ${unread}; did you mean "pdf"?`,
    )
    expect((await read?.execute({ skill: 'maps', path: 'a.md' }))?.text).toContain(unread)
  })
})

describe('SkillRuntime.findNotSkills()', () => {
  test('findNotSkills() lists files and folders that are not skills, and marks those that a person would expect to be skills', async () => {
    await using skills = await open(new MemoryFileSystem(FILES))
    const { found, isComplete } = await skills.findNotSkills()
    expect(isComplete).toBe(true)
    expect(found.filter(each => each.isExpected).map(each => [each.location, each.reason])).toEqual([
      ['.hidden', 'skipped'],
      ['_draft', 'skipped'],
      ['_drafts/inner', 'skipped'],
      ['a', 'no-skill-file'],
      ['a/b/c/d/e/f/deep', 'too-deep'],
      ['bare', 'no-skill-file'],
      ['host/left', 'ignored'],
      ['loose.md', 'file'],
      ['mixed', 'misnamed'],
      ['office/excel', 'no-skill-file'],
      ['plural', 'misnamed'],
    ])
    expect(found.filter(each => !each.isExpected).map(each => each.location)).toEqual(
      expect.arrayContaining(['.git', 'node_modules', 'office']),
    )
  })

  test('findNotSkills() lists only the root and folders without a skill, and reads no file', async () => {
    const files = Array.from({ length: 3_000 }, (_, i) => [`/skills/s${i}/SKILL.md`, text(`s${i}`)] as const)
    const fileSystem = new CountingFileSystem({ ...Object.fromEntries(files), '/skills/bare/x': '' })
    await using skills = await open(fileSystem)
    fileSystem.calls = []
    expect((await skills.findNotSkills()).found.map(each => each.location)).toEqual(['bare'])
    expect(fileSystem.calls).toEqual(['list /skills', 'list /skills/bare'])
    fileSystem.calls = []
    await skills.why('s7')
    expect(fileSystem.calls).toEqual([])
  })

  test('findNotSkills() reports that the result is incomplete when there are too many folders', async () => {
    const files = Array.from({ length: 2_500 }, (_, i) => [`/skills/s${i}/x`, ''] as const)
    await using skills = await open(new MemoryFileSystem(Object.fromEntries(files)))
    const { found, isComplete } = await skills.findNotSkills()
    expect([found.length < 2_500, isComplete]).toEqual([true, false])
  })

  test('findNotSkills() returns an empty result for a missing root, and for a source without folders', async () => {
    await using empty = await open(new MemoryFileSystem())
    expect(await empty.findNotSkills()).toEqual({ found: [], isComplete: true })
    const memory = new MemorySource({ label: 'memory' }, [{ name: 'pdf', description: 'x' }])
    await using skills = await createSkillRuntime({ sources: [memory], tuning: { settle: NO_SETTLE } })
    expect((await skills.findNotSkills()).found).toEqual([])
  })
})

class CountingFileSystem extends MemoryFileSystem {
  calls: string[] = []

  override async list(path: string): Promise<readonly DirectoryEntry[]> {
    this.calls.push(`list ${path}`)
    return await super.list(path)
  }

  override async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    this.calls.push(`read ${path}`)
    return await super.read(path, options)
  }
}
