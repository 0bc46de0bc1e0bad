import { describe, expect, test } from 'vitest'
import { SkillError } from '../errors.ts'
import type { DirectoryEntry, FileReadOptions, FileStat, OpenedFile } from '../fs/file-system.ts'
import { MemoryFileSystem } from '../fs/memory-file-system.ts'
import { portableHasher } from '../host.ts'
import { createSkillRuntime } from '../runtime/create-skill-runtime.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import { FileSource } from './file-source.ts'
import type { FileSourceOptions } from './file-source-options.ts'
import { NO_SETTLE } from './settle.ts'

const text = (name: string, body = 'x'): string =>
  `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`

async function open(
  fileSystem: MemoryFileSystem,
  options: Partial<FileSourceOptions> = {},
): Promise<SkillRuntime> {
  const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', ...options })
  return await createSkillRuntime({ sources: [source], tuning: { settle: NO_SETTLE } })
}

/** Runs a callback right after each read of a file, to simulate another process that writes at that moment. */
class InterruptedFileSystem extends MemoryFileSystem {
  onRead: ((path: string) => void) | undefined

  override async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    const opened = await super.read(path, options)
    this.onRead?.(path)
    return opened
  }
}

/** A file system that reports two hard links for every file with the name `linked`. */
class LinkedFileSystem extends MemoryFileSystem {
  override async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    const { bytes, stat } = await super.read(path, options)
    return { bytes, stat: { ...stat, links: path.endsWith('/linked') ? 2 : 1 } }
  }
}

const store = new MemorySkillStore()

const read = (
  source: FileSource,
  final: boolean,
  into: MemorySkillStore = store,
): ReturnType<FileSource['read']> =>
  source.read({
    store: into,
    hasher: portableHasher,
    depth: 'full',
    final,
    signal: new AbortController().signal,
  })

describe('FileSource.read() during writes', () => {
  test('a source returns settled: false if a file changes during the scan, and reads the file again', async () => {
    const fileSystem = new InterruptedFileSystem({
      '/skills/pdf/SKILL.md': text('pdf', 'old'),
      '/skills/pdf/z.md': 'old',
    })
    const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', watching: 'off' })
    fileSystem.onRead = path => {
      if (!path.endsWith('SKILL.md')) return
      fileSystem.onRead = undefined
      fileSystem.write('/skills/pdf/SKILL.md', text('pdf', 'new'))
      fileSystem.write('/skills/pdf/z.md', 'new')
    }
    expect(await read(source, false)).toMatchObject({ settled: false, contents: { entries: [] } })
    const { settled, contents } = await read(source, false)
    expect(settled).toBe(true)
    expect(contents.entries[0]?.skill?.files.map(file => file.size)).toEqual([text('pdf', 'new').length, 3])
  })

  test('the swap file of an editor causes a scan, but no change', async () => {
    const fileSystem = new InterruptedFileSystem({ '/skills/pdf/SKILL.md': text('pdf') })
    fileSystem.onRead = () => {
      fileSystem.onRead = undefined
      fileSystem.write('/skills/pdf/.SKILL.md.swp', 'vim')
    }
    const skills = await open(fileSystem, { watching: 'off' })
    expect(skills.current.list().map(skill => skill.name)).toEqual(['pdf'])
    await skills.close()
  })

  test('a source keeps the last state of a folder that never settles, reports the folder, and updates other skills', async () => {
    const fileSystem = new InterruptedFileSystem({
      '/skills/noisy/SKILL.md': text('noisy'),
      '/skills/pdf/SKILL.md': text('pdf'),
    })
    const source = new FileSource({ fileSystem, root: '/skills', label: 'skills' })
    const watch = source.watch(() => undefined)
    const [before] = (await read(source, true)).contents.entries
    let writes = 0
    fileSystem.onRead = path => {
      if (path.includes('noisy')) fileSystem.write('/skills/noisy/log', String(++writes))
    }
    fileSystem.write('/skills/noisy/log', 'first')
    fileSystem.write('/skills/pdf/SKILL.md', text('pdf', 'new'))
    expect((await read(source, false)).settled).toBe(false)
    const noisy = await read(source, true)
    expect(noisy.readAgainMs).toBeGreaterThan(0)
    expect(noisy.contents.entries[0]).toBe(before)
    expect(noisy.contents.entries[1]?.skill?.files[0]?.size).toBe(text('pdf', 'new').length)
    expect(noisy.contents.diagnostics).toEqual([
      expect.objectContaining({ code: 'FOLDER_UNSTABLE', path: '/skills/noisy' }),
    ])
    // The folder is restless now, so the source no longer waits for it when other skills are saved.
    expect(watch.hasHints?.()).toBe(false)
    fileSystem.write('/skills/pdf/SKILL.md', text('pdf', 'newer'))
    const other = await read(source, false)
    expect(other.settled).toBe(true)
    expect(other.contents.entries[0]).toBe(before)
    expect(other.contents.entries[1]?.skill?.files[0]?.size).toBe(text('pdf', 'newer').length)
    fileSystem.onRead = undefined
    const quiet = await read(source, false)
    expect(quiet.contents.entries[0]?.skill?.files).toHaveLength(2)
    expect(quiet.contents.diagnostics).toEqual([])
    expect(quiet.readAgainMs).toBeUndefined()
    fileSystem.write('/skills/noisy/log', 'once')
    expect(watch.hasHints?.()).toBe(true)
  })
})

/** A file system whose files get new bytes but keep their size and time, like a disk with a coarse clock. */
class ForgetfulFileSystem extends MemoryFileSystem {
  readonly #frozen = new Map<string, FileStat>()

  freeze(path: string, stat: FileStat): void {
    this.#frozen.set(path, stat)
  }

  override async stat(path: string): Promise<FileStat> {
    return this.#frozen.get(path) ?? (await super.stat(path))
  }

  override async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    const { bytes } = await super.read(path, options)
    return { bytes, stat: await this.stat(path) }
  }
}

test('a rehash finds changed bytes although size, times and inode are unchanged', async () => {
  const fileSystem = new ForgetfulFileSystem({ '/skills/pdf/SKILL.md': text('pdf', 'aaa') })
  const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', watching: 'off' })
  const context = {
    store: new MemorySkillStore(),
    hasher: portableHasher,
    final: true,
    signal: new AbortController().signal,
  }
  const before = await source.read({ ...context, depth: 'full' })
  for (const path of ['/skills', '/skills/pdf', '/skills/pdf/SKILL.md'])
    fileSystem.freeze(path, await fileSystem.stat(path))
  fileSystem.write('/skills/pdf/SKILL.md', text('pdf', 'bbb'))
  expect((await source.read({ ...context, depth: 'full' })).contents).toBe(before.contents)
  const after = await source.read({ ...context, depth: 'rehash' })
  expect(after.contents.entries[0]?.skill?.revision).not.toBe(before.contents.entries[0]?.skill?.revision)
})

describe('FileSource.read() for the second time', () => {
  test('a second scan returns the same object for an unchanged skill when other skills change', async () => {
    const fileSystem = new MemoryFileSystem({
      '/skills/a/SKILL.md': text('a'),
      '/skills/b/SKILL.md': text('b'),
    })
    const skills = await open(fileSystem)
    const before = skills.current.get('a')
    fileSystem.write('/skills/b/SKILL.md', text('b', 'new'))
    fileSystem.write('/skills/a/SKILL.md', text('a'))
    await skills.reload()
    expect(skills.current.get('a')).toBe(before)
    await skills.close()
  })

  test('a second scan makes no new generation when nothing changed', async () => {
    const skills = await open(new MemoryFileSystem({ '/skills/a/SKILL.md': text('a') }))
    const before = skills.current
    expect((await skills.reload()).generation).toBe(before)
    await skills.close()
  })
})

/** A file system whose next listing of one folder fails. */
class FailingFileSystem extends MemoryFileSystem {
  failList: string | undefined

  override async list(path: string): Promise<readonly DirectoryEntry[]> {
    if (path === this.failList) {
      this.failList = undefined
      throw new SkillError('IO_FAILED', 'EIO: i/o error')
    }
    return await super.list(path)
  }
}

describe('FileSource.read() after a failed scan', () => {
  test('if a skill is deleted while the root cannot be listed, the next successful scan removes the skill', async () => {
    const fileSystem = new FailingFileSystem({
      '/skills/a/SKILL.md': text('a'),
      '/skills/b/SKILL.md': text('b'),
    })
    const source = new FileSource({ fileSystem, root: '/skills', label: 'skills' })
    source.watch(() => undefined)
    expect((await read(source, true)).contents.entries).toHaveLength(2)
    fileSystem.remove('/skills/a')
    fileSystem.write('/skills/c', 'a file that changes the root')
    fileSystem.failList = '/skills'
    await expect(read(source, true)).rejects.toThrow('EIO')
    expect((await read(source, true)).contents.entries.map(entry => entry.name)).toEqual(['b'])
  })

  test('a source reads changed files again if the store was full and refused their bytes', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`/skills/s${i}/SKILL.md`, text(`s${i}`)]),
    )
    const fileSystem = new MemoryFileSystem(files)
    for (let i = 0; i < 30; i++) fileSystem.write(`/skills/s${i}/z.md`, 'z')
    const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', watching: 'off' })
    await read(source, true)
    for (let i = 0; i < 30; i++) fileSystem.remove(`/skills/s${i}/z.md`)
    const full = new MemorySkillStore()
    full.put = () => {
      throw new Error('ENOSPC')
    }
    const context = {
      hasher: portableHasher,
      depth: 'full' as const,
      final: true,
      signal: new AbortController().signal,
    }
    await expect(source.read({ ...context, store: full })).rejects.toThrow('ENOSPC')
    const { contents } = await source.read({ ...context, store: new MemorySkillStore() })
    expect(contents.entries.filter(entry => entry.skill?.files.length !== 1)).toEqual([])
  })
})

describe('FileSource', () => {
  test('a source warns while folders exceed the directory limit, and stops warning when all folders fit', async () => {
    const fileSystem = new MemoryFileSystem({
      '/skills/a/SKILL.md': text('a'),
      '/skills/b/SKILL.md': text('b'),
      '/skills/c/SKILL.md': text('c'),
    })
    const source = new FileSource({
      fileSystem,
      root: '/skills',
      label: 'skills',
      watching: 'off',
      limits: { maxDirectories: 3 },
    })
    for (let i = 0; i < 2; i++) {
      const { contents } = await read(source, true)
      expect([contents.entries.length, contents.diagnostics.map(each => each.code)]).toEqual([
        2,
        ['SCAN_BUDGET_EXCEEDED'],
      ])
    }
    fileSystem.remove('/skills/a')
    await read(source, true)
    const { contents } = await read(source, true)
    expect([contents.entries.map(entry => entry.name), contents.diagnostics]).toEqual([['b', 'c'], []])
  })

  test('after a root was removed, its folders do not count towards the directory limit', async () => {
    const fileSystem = new MemoryFileSystem()
    const source = new FileSource({
      fileSystem,
      root: '/skills',
      label: 'skills',
      watching: 'off',
      limits: { maxDirectories: 5 },
    })
    for (let round = 0; round < 4; round++) {
      for (const name of ['a', 'b', 'c', 'd']) fileSystem.write(`/skills/${name}/SKILL.md`, text(name))
      const { contents } = await read(source, true)
      expect(contents.entries).toHaveLength(4)
      expect(contents.diagnostics).toEqual([])
      fileSystem.remove('/skills')
      await read(source, true)
      fileSystem.write('/skills/again', '')
      fileSystem.remove('/skills/again')
    }
  })

  test('if a folder name exists in composed and decomposed spelling, a source serves the composed folder and reports the other folder', async () => {
    const skills = await open(
      new MemoryFileSystem({
        '/skills/caf\u00e9/SKILL.md': text('caf\u00e9', 'one'),
        '/skills/cafe\u0301/SKILL.md': text('caf\u00e9', 'two'),
        '/skills/z/SKILL.md': text('z'),
      }),
    )
    expect(skills.current.list().map(skill => skill.name)).toEqual(['caf\u00e9', 'z'])
    expect((await skills.load('caf\u00e9')).body).toBe('one')
    expect(skills.current.sources()[0]?.diagnostics).toEqual([
      expect.objectContaining({
        code: 'PATH_COLLISION',
        message: expect.stringMatching(
          / exists twice, in different Unicode spellings; this entry is not read$/,
        ),
      }),
    ])
    await skills.close()
  })

  test('if a skill contains one name in two spellings, a source reports an error for the whole skill', async () => {
    const skills = await open(
      new MemoryFileSystem({
        '/skills/a/SKILL.md': text('a'),
        '/skills/a/caf\u00e9.md': 'one',
        '/skills/a/cafe\u0301.md': 'two',
      }),
    )
    expect(skills.current.reports()[0]).toMatchObject({
      status: 'broken',
      diagnostics: [
        {
          code: 'PATH_COLLISION',
          message: expect.stringMatching(/ exists twice, in different Unicode spellings$/),
        },
      ],
    })
    await skills.close()
  })

  test('a source reports files more than 8 levels deep in a skill, but accepts empty folders at this depth', async () => {
    const fileSystem = new MemoryFileSystem({
      '/skills/a/SKILL.md': text('a'),
      '/skills/a/1/2/3/4/5/6/7/file': 'x',
      '/skills/a/1/2/3/4/5/6/7/8/file': 'x',
      '/skills/a/1/2/3/4/5/6/7/8/other': 'x',
    })
    const skills = await open(fileSystem)
    expect(skills.current.reports()[0]).toMatchObject({
      status: 'broken',
      diagnostics: [
        {
          code: 'FOLDER_TOO_DEEP',
          path: '/skills/a/1/2/3/4/5/6/7/8',
          message: '"8" has entries more than 8 levels deep in its skill',
        },
      ],
    })
    fileSystem.remove('/skills/a/1/2/3/4/5/6/7/8/file')
    fileSystem.remove('/skills/a/1/2/3/4/5/6/7/8/other')
    await skills.reload()
    expect(await fileSystem.list('/skills/a/1/2/3/4/5/6/7')).toHaveLength(2)
    expect(skills.current.reports()[0]).toMatchObject({ status: 'ok', diagnostics: [] })
    expect(skills.current.get('a').files.map(({ path }) => path)).toEqual(['1/2/3/4/5/6/7/file', 'SKILL.md'])
    await skills.close()
  })

  test('a reviewed source treats a SKILL.md inside a skill as an ordinary file', async () => {
    const files = { '/skills/a/SKILL.md': text('a'), '/skills/a/nested/SKILL.md': text('nested') }
    const trusted = await open(new MemoryFileSystem(files))
    expect(trusted.current.list().map(skill => skill.name)).toEqual(['a', 'nested'])
    const reviewed = await open(new MemoryFileSystem(files), { trust: 'review' })
    expect(reviewed.current.reports().map(report => [report.name, report.status])).toEqual([['a', 'pending']])
    await trusted.close()
    await reviewed.close()
  })

  test('a reviewed source refuses a hard link, and advises to copy the file', async () => {
    const fileSystem = new LinkedFileSystem({
      '/skills/a/SKILL.md': text('a'),
      '/skills/a/linked': 'x',
    })
    const skills = await open(fileSystem, { trust: 'review' })
    expect(skills.current.reports()[0]?.diagnostics).toMatchObject([
      { code: 'LINK_REFUSED', fix: 'replace the hard link with a copy of the file' },
      { code: 'REVISION_HELD' },
    ])
    await skills.close()
  })

  test('a skill with an unusable .skillignore is broken, and the finding gives the reason', async () => {
    const fileSystem = new MemoryFileSystem({
      '/skills/a/SKILL.md': text('a'),
      '/skills/a/.skillignore': 'x\n'.repeat(20_000),
    })
    const skills = await open(fileSystem)
    expect(skills.current.reports()[0]).toMatchObject({
      name: 'a',
      status: 'broken',
      diagnostics: [{ code: 'IGNORE_FILE_INVALID' }],
    })
    fileSystem.write('/skills/a/.skillignore', 'x')
    await skills.reload()
    expect(skills.current.reports()[0]?.status).toBe('ok')
    await skills.close()
  })

  test('a source fails with advice if the root is a file', async () => {
    const skills = await open(new MemoryFileSystem({ '/skills': 'text' }))
    expect(skills.current.sources()[0]?.diagnostics[0]).toMatchObject({
      code: 'SOURCE_FAILED',
      message: expect.stringContaining('a source is a folder'),
    })
    await skills.close()
  })

  test('a source refuses an empty label', () => {
    expect(() => new FileSource({ fileSystem: new MemoryFileSystem(), root: '/', label: '' })).toThrow(
      SkillError,
    )
  })
})

test('when a source gets a different store, it stores every file again and omits removed skills', async () => {
  const fileSystem = new MemoryFileSystem({
    '/skills/a/SKILL.md': text('a'),
    '/skills/a/notes.txt': 'Notes.',
    '/skills/b/SKILL.md': text('b'),
  })
  const source = new FileSource({ fileSystem, root: '/skills', label: 'skills', watching: 'off' })
  await read(source, true)
  fileSystem.remove('/skills/b')
  const another = new MemorySkillStore()
  const { contents } = await read(source, true, another)
  expect(contents.entries.map(({ location }) => location)).toEqual(['a'])
  const skill = contents.entries[0]?.skill
  expect(await another.getTree(skill?.revision ?? 'sha256:')).toHaveLength(2)
  for (const { digest } of skill?.files ?? []) expect(await another.get(digest)).toBeDefined()
})
