import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { createSkillRuntime, SkillError, type SkillRuntime } from '../index.ts'
import type { Awaitable, DirectoryEntry, FileReadOptions, OpenedFile } from '../source-entry.ts'
import { FileSource, type FileSourceOptions, MemorySkillStore, systemClock } from '../source-entry.ts'
import { collectGarbage, directory, NodeFileSystem, nodeHasher, openPackStore } from './index.ts'

/** The disk, noting what is listed and read. */
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

// A minute later nothing that was written for the test is recent any more.
const later = { ...systemClock, now: () => systemClock.now() + 60_000 }

class Place implements Disposable {
  readonly folder = new TemporaryFolder()
  readonly root = this.folder.at('skills')
  readonly state = this.folder.at('state')
  files = new CountedFileSystem()

  /** Starts over the folder, with what the earlier starts of this place have noted. */
  async start(
    options: Partial<FileSourceOptions> & { readonly state?: string } = {},
  ): Promise<{ readonly skills: SkillRuntime } & AsyncDisposable> {
    const { state = this.state, ...rest } = options
    this.files = new CountedFileSystem()
    const store = await openPackStore(state)
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

  /** What a start with the same state, but without its notes, makes of the folder. */
  async startAnew(options: Partial<FileSourceOptions> = {}): Promise<unknown> {
    const state = this.folder.at('anew')
    cpSync(this.state, state, { recursive: true })
    const index = new DatabaseSync(`${state}/store/index.db`)
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

test('a start over an unchanged folder reads no file, and lists no folder of a skill', async () => {
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
  'a text of the same length': ({ folder }) => {
    writeFileSync(folder.at('skills/pdf/references/guide.md'), 'About PDF.\n')
  },
  'a text of the same length, with its time set back': ({ folder }) => {
    const path = folder.at('skills/pdf/references/guide.md')
    writeFileSync(path, 'About PDF.\n')
    utimesSync(path, 1_000, 1_000)
  },
  'a file more': ({ folder }) => void folder.write('skills/pdf/references/more.md', 'More.\n'),
  'a folder more': ({ folder }) => void folder.write('skills/pdf/assets/x.txt', 'X.\n'),
  'a file less': ({ folder }) => folder.remove('skills/pdf/scripts/run.sh'),
  'a folder less': ({ folder }) => folder.remove('skills/pdf/scripts'),
  'a skill less': ({ folder }) => folder.remove('skills/pdf'),
  'no text any more': ({ folder }) => folder.remove('skills/pdf/SKILL.md'),
  'a broken text': ({ folder }) => void folder.write('skills/pdf/SKILL.md', 'nothing'),
  'another name of the folder': ({ folder }) =>
    renameSync(folder.at('skills/pdf'), folder.at('skills/paper')),
  'two folders that changed places': ({ folder }) => {
    renameSync(folder.at('skills/pdf'), folder.at('skills/x'))
    renameSync(folder.at('skills/mail'), folder.at('skills/pdf'))
    renameSync(folder.at('skills/x'), folder.at('skills/mail'))
  },
  'another folder in its place': ({ folder }) => {
    folder.remove('skills/pdf')
    folder.writeSkill('skills/pdf', { body: 'Another one.' })
  },
  'a file that may be run': ({ folder }) => chmodSync(folder.at('skills/pdf/scripts/run.sh'), 0o755),
  'a skill in the skill': ({ folder }) => void folder.writeSkill('skills/pdf/references/inner'),
  'a file with rules': ({ folder }) => void folder.write('skills/pdf/.skillignore', 'scripts\n'),
  'a link': ({ folder }) => symlinkSync('guide.md', folder.at('skills/pdf/references/link.md')),
  'a link in place of a folder': ({ folder }) => {
    folder.remove('skills/pdf/scripts')
    symlinkSync('../mail/scripts', folder.at('skills/pdf/scripts'))
  },
  'an empty folder': ({ folder }) => mkdirSync(folder.at('skills/pdf/empty')),
}

test.each(Object.entries(changes))('a start after %s sees what a first start sees', async (_, change) => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  change(place)
  const expected = await place.startAnew()
  {
    await using second = await place.start()
    expect(describeAll(second.skills)).toEqual(expected)
    // All but the one folder is as it was noted.
    expect(place.files.opened.filter(path => path.includes('letters'))).toEqual([])
  }
  await using third = await place.start()
  expect(describeAll(third.skills)).toEqual(expected)
})

test('rules above a noted skill count, also when they came while no process ran', async () => {
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
  ['appear', (place: Place) => void place.folder.write('skills/deep/.skillignore', '*.tmp\n')],
  [
    'move with their folder',
    ({ folder }: Place) => {
      renameSync(folder.at('skills/deep'), folder.at('skills/old'))
      mkdirSync(folder.at('skills/deep'))
      renameSync(folder.at('skills/old/category'), folder.at('skills/deep/category'))
    },
  ],
])('noted skills stay in a running process when what is above them changes: %s', async (_, change) => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  await using second = await place.start()
  change(place)
  await second.skills.reload()
  expect(second.skills.current.list().map(({ name }) => name)).toEqual(['letters', 'mail', 'pdf'])
})

test('files that were written a moment before they were read are read again', async () => {
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
])('notes with a damaged %s are not believed', async (_, read, damage) => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  const index = new DatabaseSync(`${place.state}/store/index.db`)
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
  using repaired = new DatabaseSync(`${place.state}/store/index.db`)
  expect(repaired.prepare('SELECT count(*) AS notes FROM note').get()).toEqual({ notes: 3 })
})

test('a source that reads in another way does not use the notes', async () => {
  using place = makePlace()
  place.folder.write('skills/pdf/SKILL.md', '---\nname: other\ndescription: Does pdf.\n---\nUse it.\n')
  await (await place.start())[Symbol.asyncDispose]()
  const strict = { reading: { matchDirectory: 'error' } } as const
  const expected = await place.startAnew(strict)
  await using second = await place.start(strict)
  expect(describeAll(second.skills)).toEqual(expected)
  expect(place.files.opened).toHaveLength(9)
})

test('what the store has lost is stored again when it is asked for', async () => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  for (const name of ['index.db-wal', 'index.db-shm']) rmSync(`${place.state}/store/${name}`, { force: true })
  const index = new DatabaseSync(`${place.state}/store/index.db`)
  index.exec('DELETE FROM blob')
  index.close()
  await using second = await place.start()
  expect(place.files.opened).toEqual([])
  expect((await second.skills.load('pdf')).body).toBe('Use pdf.')
})

test('a pack that is gone makes the next start read everything, so that the last good text survives a broken one', async () => {
  using place = makePlace()
  await (await place.start())[Symbol.asyncDispose]()
  for (const name of readdirSync(`${place.state}/store`))
    if (name.endsWith('.pack')) rmSync(`${place.state}/store/${name}`)
  {
    await using second = await place.start()
    expect(place.files.opened).toHaveLength(9)
    expect(second.skills.current.list()).toHaveLength(3)
  }
  place.folder.write('skills/pdf/SKILL.md', 'broken')
  await using third = await place.start()
  expect((await third.skills.load('pdf')).body).toBe('Use pdf.')
})

test('a collection takes the notes of revisions along', async () => {
  using place = makePlace()
  {
    await using first = await place.start()
    place.folder.remove('skills/pdf')
    await first.skills.fresh()
  }
  await collectGarbage(place.state, { graceMs: 0 })
  const index = new DatabaseSync(`${place.state}/store/index.db`)
  const rows = index.prepare('SELECT location FROM note ORDER BY location').all()
  index.close()
  expect(rows.map(({ location }) => location)).toEqual(['deep/category/letters', 'mail'])
})

test('a folder that became another one while no process ran is watched', async () => {
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

test('edits right after a start with many notes are seen, although watches were set after it', async () => {
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

/** A store whose notes cannot be asked. */
class ForgetfulStore extends MemorySkillStore {
  readonly notes = {
    find: (): never => {
      throw new Error('the disk is broken')
    },
    put: (): void => undefined,
  }
}

test('a store that cannot be asked for notes costs reading the folders', async () => {
  using place = makePlace()
  await using skills = await createSkillRuntime({
    sources: [directory(place.root)],
    state: { store: new ForgetfulStore() },
  })
  expect(skills.current.list()).toHaveLength(3)
  expect(skills.status()[0]?.lastError).toBeUndefined()
})

/** The disk of somebody who may not list one folder. */
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

test('a folder that cannot be read is broken for a process that has never read it, and serves what it had', async () => {
  using place = makePlace()
  await using first = await place.start()
  const [mail, pdf] = ['mail', 'pdf'].map(name => first.skills.current.get(name).revision)
  await first.skills.close()
  const fileSystem = new LockedFileSystem(place.folder.at('skills/pdf'))
  // Nothing is noted of a folder that is broken, so a start knows it by what it served.
  const index = new DatabaseSync(`${place.state}/store/index.db`)
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

test('a start with another label, from another working directory, uses the same notes; findings name what they always do', async () => {
  using place = makePlace()
  // Nothing is found in this one; the others have a field that the specification does not know.
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
