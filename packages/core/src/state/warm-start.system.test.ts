import {
  chmodSync,
  cpSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import type { Awaitable } from '../fs/file-system.ts'
import { createSkillRuntime, SkillError, type SkillRuntime } from '../index.ts'
import { collectGarbage, directory, NodeFileSystem, nodeHasher, openSkillStore } from '../node-entry.ts'
import type { DirectoryEntry, FileReadOptions, OpenedFile } from '../source-entry.ts'
import { FileSource, type FileSourceOptions, MemorySkillStore, systemClock } from '../source-entry.ts'

/** Reads the disk and records the paths of listed folders and opened files. */
class CountedFileSystem extends NodeFileSystem {
  override readonly identity = 'disk'
  readonly listed: string[] = []
  readonly opened: string[] = []

  override list(path: string): Awaitable<readonly DirectoryEntry[]> {
    this.listed.push(path)
    return super.list(path)
  }

  override read(path: string, options: FileReadOptions): Awaitable<OpenedFile> {
    this.opened.push(path)
    return super.read(path, options)
  }
}

// A clock that is one minute ahead, so that no file written by the test counts as recently changed.
const later = { ...systemClock, now: () => systemClock.now() + 60_000 }

class Place implements Disposable {
  readonly folder = new TemporaryFolder()
  readonly root = this.folder.at('skills')
  readonly state = this.folder.at('state')
  files = new CountedFileSystem()

  /** Starts a source that reads the folder and uses the notes of earlier starts. */
  async start(
    options: Partial<FileSourceOptions> & { readonly state?: string } = {},
  ): Promise<{ readonly skills: SkillRuntime } & AsyncDisposable> {
    const { state = this.state, ...rest } = options
    this.files = new CountedFileSystem()
    const store = await openSkillStore(state)
    const source = new FileSource({
      ...{ fileSystem: this.files, root: this.root, label: 'skills', hasDirectories: true, clock: later },
      ...rest,
    })
    const skills = await createSkillRuntime({
      sources: [source],
      state: { store },
      tuning: { hasher: nodeHasher },
    })
    return {
      skills,
      [Symbol.asyncDispose]: async () => {
        await skills.close()
        await store.close()
      },
    }
  }

  /** Starts a runtime with a copy of the state but without notes, and describes the skills of this runtime. */
  async startAnew(options: Partial<FileSourceOptions> = {}): Promise<unknown> {
    const state = this.folder.at('anew')
    cpSync(this.state, state, { recursive: true })
    const index = new DatabaseSync(`${state}/store.sqlite`)
    index.exec('DROP TABLE IF EXISTS note')
    index.close()
    await using started = await this.start({ ...options, state })
    return describeAll(started.skills)
  }

  [Symbol.dispose](): void {
    this.folder[Symbol.dispose]()
  }
}

function describeAll(skills: SkillRuntime): unknown {
  const { digest } = skills.current
  return { digest, skills: skills.current.list(), reports: skills.current.reports() }
}

function makePlace(): Place {
  const place = new Place()
  for (const name of ['pdf', 'mail', 'deep/category/letters']) {
    const at = `skills/${name}`
    const last = name.split('/').at(-1) as string
    place.folder.write(
      `${at}/SKILL.md`,
      `---\nname: ${last}\ndescription: Does ${last}.\nmetadata:\n  author: me\nversion: 2\n---\nUse ${last}.\n`,
    )
    place.folder.write(`${at}/scripts/run.sh`, `echo ${last}\n`)
    place.folder.write(`${at}/references/guide.md`, `About ${last}.\n`)
  }
  return place
}

test('a start over an unchanged folder reads no file and lists no skill folder', async () => {
  using place = makePlace()
  let before: unknown
  {
    await using first = await place.start()
    before = describeAll(first.skills)
    expect(place.files.opened).toHaveLength(9)
  }
  await using second = await place.start()
  expect(place.files.opened).toEqual([])
  expect(place.files.listed.map(path => path.slice(place.root.length))).toEqual([
    '',
    '/deep',
    '/deep/category',
  ])
  expect(describeAll(second.skills)).toEqual(before)
  expect((await second.skills.load('pdf')).body).toBe('Use pdf.')
})

const changes: Readonly<Record<string, (place: Place) => void>> = {
  'a new text of the same length': ({ folder }) => {
    writeFileSync(folder.at('skills/pdf/references/guide.md'), 'About PDF.\n')
  },
  'a new text of the same length with an old time': ({ folder }) => {
    const path = folder.at('skills/pdf/references/guide.md')
    writeFileSync(path, 'About PDF.\n')
    utimesSync(path, 1_000, 1_000)
  },
  'an added file': ({ folder }) => void folder.write('skills/pdf/references/more.md', 'More.\n'),
  'an added folder': ({ folder }) => void folder.write('skills/pdf/assets/x.txt', 'X.\n'),
  'a removed file': ({ folder }) => folder.remove('skills/pdf/scripts/run.sh'),
  'a removed folder': ({ folder }) => folder.remove('skills/pdf/scripts'),
  'a removed skill': ({ folder }) => folder.remove('skills/pdf'),
  'a removed SKILL.md': ({ folder }) => folder.remove('skills/pdf/SKILL.md'),
  'a broken text': ({ folder }) => void folder.write('skills/pdf/SKILL.md', 'nothing'),
  'a rename of the skill folder': ({ folder }) =>
    renameSync(folder.at('skills/pdf'), folder.at('skills/paper')),
  'a swap of two folders': ({ folder }) => {
    renameSync(folder.at('skills/pdf'), folder.at('skills/x'))
    renameSync(folder.at('skills/mail'), folder.at('skills/pdf'))
    renameSync(folder.at('skills/x'), folder.at('skills/mail'))
  },
  'a replaced folder': ({ folder }) => {
    folder.remove('skills/pdf')
    folder.writeSkill('skills/pdf', { body: 'Another one.' })
  },
  'a new executable bit': ({ folder }) => chmodSync(folder.at('skills/pdf/scripts/run.sh'), 0o755),
  'a skill in the skill': ({ folder }) => void folder.writeSkill('skills/pdf/references/inner'),
  'a new .skillignore': ({ folder }) => void folder.write('skills/pdf/.skillignore', 'scripts\n'),
  'a link': ({ folder }) => symlinkSync('guide.md', folder.at('skills/pdf/references/link.md')),
  'a link in place of a folder': ({ folder }) => {
    folder.remove('skills/pdf/scripts')
    symlinkSync('../mail/scripts', folder.at('skills/pdf/scripts'))
  },
  'an empty folder': ({ folder }) => mkdirSync(folder.at('skills/pdf/empty')),
}

test.each(Object.entries(changes))('after %s, a start sees the same as a first start', async (_, change) => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  change(place)
  const expected = await place.startAnew()
  {
    await using second = await place.start()
    expect(describeAll(second.skills)).toEqual(expected)
    // The start reads only the changed folder again, and not the folder `letters`.
    expect(place.files.opened.filter(path => path.includes('letters'))).toEqual([])
  }
  await using third = await place.start()
  expect(describeAll(third.skills)).toEqual(expected)
})

test('a .skillignore above a skill with a note applies, even if that file was added while no process ran', async () => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  const rules = place.folder.write('skills/.skillignore', 'pdf/scripts\n')
  const pathsOf = (skills: SkillRuntime): readonly string[] =>
    skills.current.get('pdf').files.map(({ path }) => path)
  {
    await using second = await place.start()
    expect(pathsOf(second.skills)).toEqual(['SKILL.md', 'references/guide.md'])
  }
  rmSync(rules)
  await using third = await place.start()
  expect(pathsOf(third.skills)).toEqual(['SKILL.md', 'references/guide.md', 'scripts/run.sh'])
})

test.each([
  ['are added', (place: Place) => void place.folder.write('skills/deep/.skillignore', '*.tmp\n')],
  [
    'move with their folder',
    ({ folder }: Place) => {
      renameSync(folder.at('skills/deep'), folder.at('skills/old'))
      mkdirSync(folder.at('skills/deep'))
      renameSync(folder.at('skills/old/category'), folder.at('skills/deep/category'))
    },
  ],
])('noted skills stay in a running process when rules or folders above them %s', async (_, change) => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  await using second = await place.start()
  change(place)
  await second.skills.reload()
  expect(second.skills.current.list().map(({ name }) => name)).toEqual(['letters', 'mail', 'pdf'])
})

test('a start reads a file again if the file was written just before the previous start read it', async () => {
  using place = makePlace()
  await (await place.start({ clock: systemClock }))[Symbol.asyncDispose]()
  {
    await using second = await place.start()
    expect(place.files.opened).toHaveLength(9)
    expect(second.skills.current.list()).toHaveLength(3)
  }
  await using third = await place.start()
  expect(third.skills.current.list()).toHaveLength(3)
  expect(place.files.opened).toEqual([])
})

test.each([
  ['text', 3, "UPDATE note SET text = replace(text, 'Does pdf.', 'Does xxx.')"],
  ['facts', 9, 'UPDATE note SET facts = zeroblob(length(facts))'],
  ['revision', 9, "UPDATE note SET revision = 'sha256:0'"],
  ['sum', 9, 'UPDATE note SET sum = sum + 1'],
  ['everything', 9, 'DROP TABLE note'],
])('a start ignores notes with a damaged %s', async (_, read, damage) => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  const index = new DatabaseSync(`${place.state}/store.sqlite`)
  index.exec(damage)
  index.close()
  const expected = await place.startAnew()
  {
    await using second = await place.start()
    expect(describeAll(second.skills)).toEqual(expected)
    expect(place.files.opened).toHaveLength(read)
  }
  await using third = await place.start()
  expect(third.skills.current.list()).toHaveLength(3)
  expect(place.files.opened).toEqual([])
  using repaired = new DatabaseSync(`${place.state}/store.sqlite`)
  expect(repaired.prepare('SELECT count(*) AS notes FROM note').get()).toEqual({ notes: 3 })
})

test('notes are ignored if the source now reads files with other options', async () => {
  using place = makePlace()
  place.folder.write('skills/pdf/SKILL.md', '---\nname: other\ndescription: Does pdf.\n---\nUse it.\n')
  await (await place.start())[Symbol.asyncDispose]()
  const strict = { reading: { matchDirectory: 'error' } } as const
  const expected = await place.startAnew(strict)
  await using second = await place.start(strict)
  expect(describeAll(second.skills)).toEqual(expected)
  expect(place.files.opened).toHaveLength(9)
})

test('content that was lost from the store is stored again when a caller requests it', async () => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  const store = new DatabaseSync(`${place.state}/store.sqlite`)
  store.exec('DELETE FROM blob')
  store.close()
  await using second = await place.start()
  expect(place.files.opened).toEqual([])
  expect((await second.skills.load('pdf')).body).toBe('Use pdf.')
})

test('if stored bytes are found to be damaged, the next start reads all files, so that a last good revision survives a broken edit', async () => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  const store = new DatabaseSync(`${place.state}/store.sqlite`)
  store.exec("UPDATE content SET bytes = CAST('damaged' AS BLOB)")
  store.close()
  expect((await collectGarbage(place.state)).damaged).toBeGreaterThan(0)
  {
    await using second = await place.start()
    expect(place.files.opened).toHaveLength(9)
    expect(second.skills.current.list()).toHaveLength(3)
  }
  place.folder.write('skills/pdf/SKILL.md', 'broken')
  await using third = await place.start()
  expect((await third.skills.load('pdf')).body).toBe('Use pdf.')
})

test('a collection removes the notes of removed revisions', async () => {
  using place = makePlace()
  {
    await using first = await place.start()
    place.folder.remove('skills/pdf')
    await first.skills.fresh()
  }
  await collectGarbage(place.state, { graceMs: 0 })
  const store = new DatabaseSync(`${place.state}/store.sqlite`)
  const rows = store.prepare('SELECT location FROM note ORDER BY location').all()
  store.close()
  expect(rows.map(({ location }) => location)).toEqual(['deep/category/letters', 'mail'])
})

test('a start watches the new folder if a folder was replaced while no process ran', async () => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  cpSync(`${place.root}/pdf`, `${place.root}/copy`, { recursive: true })
  rmSync(`${place.root}/pdf`, { recursive: true })
  renameSync(`${place.root}/copy`, `${place.root}/pdf`)
  await using second = await place.start()
  const seen = Promise.withResolvers<void>()
  second.skills.subscribe(() => seen.resolve())
  place.folder.writeSkill('skills/pdf', { body: 'Edited.' })
  await seen.promise
  expect(await second.skills.readBody(second.skills.current.get('pdf'))).toBe('Edited.')
})

test('an edit right after a start with many notes is noticed, even before all folders are watched', async () => {
  using place = new Place()
  for (let i = 0; i < 600; i++) place.folder.writeSkill(`skills/skill-${i}`)
  await (await place.start())[Symbol.asyncDispose]()
  await using second = await place.start()
  place.folder.writeSkill('skills/skill-599', { body: 'Edited at once.' })
  await second.skills.fresh()
  expect((await second.skills.load('skill-599')).body).toBe('Edited at once.')
  const seen = Promise.withResolvers<void>()
  second.skills.subscribe(() => seen.resolve())
  place.folder.writeSkill('skills/skill-598', { body: 'Edited later.' })
  await seen.promise
  expect(second.skills.current.find('skill-598')).toBeDefined()
  expect(second.skills.status()[0]?.mode).toBe('events')
})

/** A store without usable notes. */
class ForgetfulStore extends MemorySkillStore {
  readonly notes = {
    find: (): never => {
      throw new Error('the disk is broken')
    },
    put: (): void => undefined,
  }
}

test('a start reads all folders if the store has no usable notes', async () => {
  using place = makePlace()
  await using skills = await createSkillRuntime({
    sources: [directory(place.root)],
    state: { store: new ForgetfulStore() },
  })
  expect(skills.current.list()).toHaveLength(3)
  expect(skills.status()[0]?.lastError).toBeUndefined()
})

/** Reads the disk like a user without permission to list the folder `locked`. */
class LockedFileSystem extends NodeFileSystem {
  override readonly identity = 'disk'
  readonly locked: string

  constructor(locked: string) {
    super()
    this.locked = locked
  }

  override list(path: string): Awaitable<readonly DirectoryEntry[]> {
    if (path === this.locked) throw new SkillError('IO_FAILED', `${JSON.stringify(path)}: EACCES`)
    return super.list(path)
  }
}

test('a new process reports an unreadable folder as broken and serves its last good revision', async () => {
  using place = makePlace()
  await using first = await place.start()
  const [mail, pdf] = ['mail', 'pdf'].map(name => first.skills.current.get(name).revision)
  await first.skills.close()
  const fileSystem = new LockedFileSystem(place.folder.at('skills/pdf'))
  // A broken folder has no note. Without a note, a start knows the folder only from its last served revision.
  const index = new DatabaseSync(`${place.state}/store.sqlite`)
  index.exec('DELETE FROM note')
  index.close()
  for (let round = 0; round < 2; round++) {
    await using started = await place.start({ fileSystem })
    const { current } = started.skills
    expect(current.reports().map(({ name, status, serving }) => [name, status, serving])).toContainEqual([
      'pdf',
      'broken',
      pdf,
    ])
    expect(current.get('mail').revision).toBe(mail)
  }
  await using readable = await place.start()
  expect(readable.skills.current.reports().map(({ status }) => status)).toEqual(['ok', 'ok', 'ok'])
})

test('a start uses the same notes and reports the same paths if the label or the working directory has changed', async () => {
  using place = makePlace()
  // The skill `mail` has no diagnostics. The other skills have diagnostics, because they use a field that the
  // specification does not define.
  place.folder.write('skills/mail/SKILL.md', '---\nname: mail\ndescription: Does mail.\n---\nUse it.\n')
  {
    await using first = await place.start({ displayRoot: './skills' })
    expect(first.skills.current.list()).toHaveLength(3)
  }
  await using second = await place.start({ label: 'again', displayRoot: '../skills' })
  expect(place.files.opened.filter(path => path.includes('mail'))).toEqual([])
  const paths = second.skills.current
    .reports()
    .flatMap(({ diagnostics }) => diagnostics.map(({ path }) => path))
  expect(paths.length).toBeGreaterThan(0)
  expect(paths.filter(path => path?.startsWith('../skills/') !== true)).toEqual([])
})
