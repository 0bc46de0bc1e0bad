import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import type { Digest } from '../index.ts'
import { digestOf, revisionOf } from '../internal-entry.ts'
import type { SkillFile, SkillStore } from '../source-entry.ts'
import { FakeClock } from '../testing/index.ts'
import { runCollectionRound } from './collection-round.ts'
import { compactPacks } from './compact-packs.ts'
import { collectGarbage, nodeHasher, openPackStore } from './index.ts'
import { RetainedTrees } from './retained-trees.ts'
import { StoreCollection } from './store-collection.ts'
import { TimeSlices } from './time-slices.ts'

const HOUR = 3_600_000

afterEach(() => {
  vi.useRealTimers()
})

/** Advances the time and flushes the stores, so that the stores lease all revisions in use. */
async function lease(...stores: readonly SkillStore[]): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10_000 })
  for (const store of stores) await store.flush()
}

interface Revision {
  readonly revision: Digest
  readonly files: readonly SkillFile[]
}

const toRevision = (text: string): Revision => {
  const files = [
    { path: 'SKILL.md', digest: digestOf(text, nodeHasher), size: text.length, isExecutable: false },
  ]
  return { revision: revisionOf(files, nodeHasher), files }
}

function put(store: SkillStore, text: string): Revision {
  const made = toRevision(text)
  for (const { digest } of made.files) store.put(digest, Buffer.from(text))
  store.putTree(made.revision, made.files)
  return made
}

/** The collection of one process, with a clock that the test controls. */
class Rounds implements AsyncDisposable {
  readonly #clock = new FakeClock(Date.now())
  readonly #collection: StoreCollection
  #isRunning = false
  #done = (): void => undefined

  constructor(folder: TemporaryFolder) {
    this.#collection = new StoreCollection({
      folder: folder.at('store'),
      clock: this.#clock,
      isWriting: () => false,
      isCurrent: () => {
        this.#isRunning = true
        return true
      },
      onDone: () => this.#done(),
    })
  }

  /**
   * Calls `noteWritten()` of the collection. Then advances the time until the next round begins, and waits until that
   * round ends.
   */
  async next(): Promise<void> {
    this.#collection.noteWritten(1)
    await this.nextPlanned(1_000)
  }

  /** Advances the time in steps until the next round begins, and waits until that round ends. */
  async nextPlanned(stepMs: number): Promise<void> {
    const done = new Promise<void>(resolve => (this.#done = resolve))
    this.#isRunning = false
    for (let i = 0; i < 1_000 && !this.#isRunning; i++) await this.#clock.advance(stepMs)
    expect(this.#isRunning).toBe(true)
    await done
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#collection.stop()
  }
}

/** Sets the times of all rows and packs back by `ms` milliseconds. */
function age(folder: TemporaryFolder, ms: number): void {
  const index = new DatabaseSync(folder.at('store/index.db'))
  for (const table of ['blob', 'tree']) index.prepare(`UPDATE ${table} SET at = at - ?`).run(ms)
  index.close()
  const when = new Date(Date.now() - ms)
  for (const name of packsOf(folder)) utimesSync(folder.at(`store/${name}`), when, when)
}

const packsOf = (folder: TemporaryFolder): readonly string[] =>
  readdirSync(folder.at('store')).filter(name => name.endsWith('.pack'))

const packBytes = (folder: TemporaryFolder): number =>
  packsOf(folder).reduce((sum, name) => sum + statSync(folder.at(`store/${name}`)).size, 0)

async function textOf(store: SkillStore, { files: [file] }: Revision): Promise<string | undefined> {
  const bytes = file === undefined ? undefined : await store.get(file.digest)
  return bytes === undefined ? undefined : Buffer.from(bytes).toString()
}

test('two rounds remove unnamed revisions and shrink the packs of an open store', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const old = Array.from({ length: 300 }, (_, i) => put(store, `${i}`.repeat(1_000)))
  const named = put(store, 'named')
  store.setRef('name', named.revision)
  await store.close()
  age(folder, 2 * HOUR)
  const before = packBytes(folder)
  const again = await openPackStore(folder.path)
  await using rounds = new Rounds(folder)
  await rounds.next()
  const [first] = old as [Revision]
  expect(again.has(first.files[0]?.digest as Digest)).toBe(false)
  // Doomed bytes can still be read until the next round removes them.
  expect(await textOf(again, first)).toBe('0'.repeat(1_000))
  await rounds.next()
  expect(await textOf(again, first)).toBeUndefined()
  expect(packBytes(folder)).toBeLessThan(before / 100)
  expect([await again.getTree(named.revision), await textOf(again, named)]).toEqual([named.files, 'named'])
  await again.close()
})

test('a round keeps content that was put, named or looked up since the previous round', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const [again, named, asked, gone] = ['again', 'named', 'asked', 'gone'].map(text => put(store, text)) as [
    Revision,
    Revision,
    Revision,
    Revision,
  ]
  await store.flush()
  age(folder, 2 * HOUR)
  await using rounds = new Rounds(folder)
  await rounds.next()
  put(store, 'again')
  store.setRef('name', named.revision)
  store.putTree(asked.revision, asked.files)
  await store.flush()
  await rounds.next()
  await rounds.next()
  for (const [each, text] of Object.entries({ again, named, asked }).map(
    ([text, each]) => [each, text] as const,
  ))
    expect([await store.getTree(each.revision), await textOf(store, each)]).toEqual([each.files, text])
  expect(await textOf(store, gone)).toBeUndefined()
  await store.close()
})

test('a doomed revision is kept if it is looked up again', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const old = put(store, 'old')
  await store.flush()
  age(folder, 2 * HOUR)
  await using rounds = new Rounds(folder)
  await rounds.next()
  expect(await store.getTree(old.revision)).toEqual(old.files)
  // getTree() spares the bytes of the tree immediately, without waiting for the next flush.
  expect(store.has(old.files[0]?.digest as Digest)).toBe(true)
  await rounds.next()
  await rounds.next()
  expect([await store.getTree(old.revision), await textOf(store, old)]).toEqual([old.files, 'old'])
  await store.close()
})

test('a lease keeps a revision without a name while another process uses the revision', async () => {
  using folder = new TemporaryFolder()
  const [store, other] = [await openPackStore(folder.path), await openPackStore(folder.path)]
  const held = put(store, 'held')
  await store.flush()
  age(folder, 2 * HOUR)
  other.retain(held.revision)
  await lease(other)
  await using rounds = new Rounds(folder)
  await rounds.next()
  await rounds.next()
  expect([await other.getTree(held.revision), await textOf(other, held)]).toEqual([held.files, 'held'])
  await other.close()
  await store.close()
})

test('a revision is leased after ten seconds of use, and its lease is renewed each hour until its last user releases the revision', () => {
  const { revision } = toRevision('held')
  const trees = new RetainedTrees()
  trees.retain(revision, 0)
  trees.retain(revision, 5_000)
  expect([trees.isDue(9_999), trees.takeDue(9_999).revisions]).toEqual([false, []])
  expect([trees.isDue(10_000), trees.takeDue(10_000)]).toEqual([
    true,
    { revisions: [revision], until: 10_000 + 2 * HOUR },
  ])
  expect([trees.isDue(10_000), trees.isDue(HOUR + 9_999), trees.isDue(HOUR + 10_000)]).toEqual([
    false,
    false,
    true,
  ])
  expect(trees.takeDue(HOUR + 10_000).revisions).toEqual([revision])
  trees.release(revision)
  expect(trees.isDue(3 * HOUR)).toBe(true)
  trees.release(revision)
  expect(trees.isDue(3 * HOUR)).toBe(false)
})

test('a revision in use is kept when another process points its name at another revision', async () => {
  using folder = new TemporaryFolder()
  const [user, namer] = [await openPackStore(folder.path), await openPackStore(folder.path)]
  const first = put(user, 'first')
  user.setRef('name', first.revision)
  user.retain(first.revision)
  await user.flush()
  await lease(user)
  const second = put(namer, 'second')
  namer.setRef('name', second.revision)
  await namer.flush()
  age(folder, HOUR + 60_000)
  await using rounds = new Rounds(folder)
  await rounds.next()
  await rounds.next()
  expect([await user.getTree(first.revision), await textOf(user, first)]).toEqual([first.files, 'first'])
  await user.close()
  await namer.close()
})

test('a round keeps content that gets a name or a lease, or is put again, while the round runs', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const [named, again, leased, gone] = ['named', 'again', 'leased', 'gone'].map(text => put(store, text)) as [
    Revision,
    Revision,
    Revision,
    Revision,
  ]
  await store.flush()
  age(folder, 2 * HOUR)
  const index = new DatabaseSync(folder.at('store/index.db'))
  const slices = new TimeSlices(new AbortController().signal)
  let pauses = 0
  const pause = slices.pause.bind(slices)
  slices.pause = async () => {
    await pause()
    // At its second pause, the round has read all names and marked their revisions as needed.
    if (++pauses !== 2) return
    store.setRef('name', named.revision)
    put(store, 'again')
    store.retain(leased.revision)
    await lease(store)
  }
  await runCollectionRound(index, slices, Date.now())
  for (const [text, each] of Object.entries({ named, again, leased })) {
    const [{ digest }] = each.files as [SkillFile]
    expect([text, store.has(digest), await textOf(store, each)]).toEqual([text, true, text])
  }
  expect(store.has(gone.files[0]?.digest as Digest)).toBe(false)
  const rows = index.prepare('SELECT key FROM doomed').all()
  expect(new Set(rows.map(({ key }) => key))).toEqual(new Set([gone.revision, gone.files[0]?.digest]))
  index.close()
  await store.close()
})

test('a used revision that loses its name is kept, because it gets a lease', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const [first, second] = [put(store, 'first'), put(store, 'second')]
  store.setRef('name', first.revision)
  store.retain(first.revision)
  await store.flush()
  age(folder, 2 * HOUR)
  store.setRef('name', second.revision)
  await store.flush()
  await using rounds = new Rounds(folder)
  await rounds.next()
  await rounds.next()
  expect(await textOf(store, first)).toBe('first')
  await store.close()
})

test('rounds keep at most 64 MB of unneeded content that is younger than the grace period', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const large = Array.from({ length: 18 }, (_, i) =>
    put(store, String.fromCharCode(97 + i).repeat(4_000_000)),
  )
  store.setRef('name', large[0]?.revision)
  await store.flush()
  age(folder, 60_000)
  await using rounds = new Rounds(folder)
  await rounds.next()
  expect(store.has(large[1]?.files[0]?.digest as Digest)).toBe(false)
  await rounds.next()
  expect(packBytes(folder)).toBeLessThan(30_000_000)
  expect(await textOf(store, large[0] as Revision)).toHaveLength(4_000_000)
  await store.close()
}, 30_000)

test('unneeded content is removed when its grace period ends, even without further writes', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const left = put(store, 'left')
  await store.flush()
  await using rounds = new Rounds(folder)
  await rounds.nextPlanned(1_000)
  expect(await textOf(store, left)).toBe('left')
  for (const stepMs of [60_000, 1_000]) await rounds.nextPlanned(stepMs)
  expect(await textOf(store, left)).toBeUndefined()
  await store.close()
})

test('a round shrinks the file of the index', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  for (let i = 0; i < 20_000; i++)
    store.putTree(toRevision(`text ${i}`).revision, toRevision(`text ${i}`).files)
  await store.flush()
  age(folder, 2 * HOUR)
  await using rounds = new Rounds(folder)
  await rounds.next()
  await rounds.next()
  await store.close()
  expect(statSync(folder.at('store/index.db')).size).toBeLessThan(200_000)
}, 30_000)

test('the pack of a dead process is removed after a day, even if a new process has the same id', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  put(store, 'text')
  await store.close()
  const [young, old] = ['0'.repeat(16), '1'.repeat(16)].map(id => `store/${process.ppid}-${id}.pack`) as [
    string,
    string,
  ]
  for (const [name, hours] of [
    [young, 2],
    [old, 25],
  ] as const) {
    writeFileSync(folder.at(name), 'left')
    const when = new Date(Date.now() - hours * HOUR)
    utimesSync(folder.at(name), when, when)
  }
  await collectGarbage(folder.path)
  expect([young, old].map(name => existsSync(folder.at(name)))).toEqual([true, false])
})

test('a store creates a new pack when its current pack is large, and reads from both packs', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const made: Revision[] = []
  for (let i = 0; i < 6; i++) {
    made.push(put(store, `${i}`.repeat(6_000_000)))
    await store.flush()
  }
  expect(packsOf(folder)).toHaveLength(2)
  for (const [i, each] of made.entries())
    expect((await textOf(store, each))?.slice(0, 3)).toBe(`${i}`.repeat(3))
  await store.close()
})

test('of the processes that end before their first round, one per hour collects', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const old = put(store, 'old')
  await store.close()
  const isThere = async (): Promise<boolean> => {
    const reader = await openPackStore(folder.path)
    const found = reader.has(old.files[0]?.digest as Digest)
    await reader.close()
    return found
  }
  /** Simulates a process that runs `hours` later. If `hasWritten` is true, the process has written to the store. */
  const live = async (hours: number, hasWritten: boolean): Promise<boolean> => {
    const clock = new FakeClock(Date.now() + hours * HOUR)
    const at = folder.at('store')
    const collection = new StoreCollection({
      folder: at,
      clock,
      isWriting: () => false,
      isCurrent: () => true,
      onDone: () => undefined,
    })
    if (hasWritten) collection.noteWritten(1)
    await collection.finish()
    return await isThere()
  }
  expect(await live(0.9, true)).toBe(true)
  expect(await live(1.1, false)).toBe(true)
  expect(await live(1.1, true)).toBe(false)
  expect(packsOf(folder)).toHaveLength(1)
  utimesSync(folder.at(`store/${packsOf(folder)[0]}`), 1, 1)
  await live(2.2, true)
  expect(packsOf(folder)).toEqual([])
})

test('the packs of many processes are merged into one', async () => {
  using folder = new TemporaryFolder()
  const made: Revision[] = []
  for (let i = 0; i < 40; i++) {
    const store = await openPackStore(folder.path)
    const each = put(store, `text ${i}`)
    store.setRef(`name ${i}`, each.revision)
    made.push(each)
    await store.close()
  }
  expect(packsOf(folder)).toHaveLength(40)
  age(folder, 60_000)
  await using rounds = new Rounds(folder)
  await rounds.next()
  expect(packsOf(folder)).toHaveLength(1)
  const store = await openPackStore(folder.path)
  for (const [i, each] of made.entries()) expect(await textOf(store, each)).toBe(`text ${i}`)
  await store.close()
})

test('only one process collects at a time', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const old = put(store, 'old')
  await store.flush()
  age(folder, 2 * HOUR)
  const lock = new DatabaseSync(folder.at('store/collection-lock.sqlite'))
  lock.exec('BEGIN IMMEDIATE')
  await using rounds = new Rounds(folder)
  await rounds.next()
  expect(store.has(old.files[0]?.digest as Digest)).toBe(true)
  lock.close()
  await rounds.next()
  expect(store.has(old.files[0]?.digest as Digest)).toBe(false)
  expect(readFileSync(folder.at('store/collection-lock.sqlite'))).toHaveLength(0)
  await store.close()
})

/** Creates a store with one pack that is three quarters empty, and one pack that no index row refers to. */
async function makeHalfEmpty(folder: TemporaryFolder): Promise<readonly Revision[]> {
  const store = await openPackStore(folder.path)
  const made = Array.from({ length: 12 }, (_, i) => put(store, String.fromCharCode(97 + i).repeat(1_000_000)))
  const kept = made.slice(0, 3)
  for (const [i, { revision }] of kept.entries()) store.setRef(`name ${i}`, revision)
  await store.close()
  const index = new DatabaseSync(folder.at('store/index.db'))
  for (const { files } of made.slice(3))
    index.prepare('DELETE FROM blob WHERE digest = ?').run(files[0]?.digest ?? '')
  index.close()
  writeFileSync(folder.at(`store/${'0'.repeat(16)}.pack`), 'nothing names it')
  age(folder, 2 * HOUR)
  return kept
}

interface CompactionCase {
  /** The compaction is aborted after this number of pauses. */
  readonly abortAfter?: number
  readonly isCurrent?: () => boolean
}

/** Runs one round and compacts the packs. */
async function compact(
  folder: TemporaryFolder,
  { abortAfter = Infinity, isCurrent = () => true }: CompactionCase,
): Promise<void> {
  const database = new DatabaseSync(folder.at('store/index.db'))
  const abort = new AbortController()
  const slices = new TimeSlices(abort.signal)
  const pause = slices.pause.bind(slices)
  const round = await runCollectionRound(database, slices, Date.now())
  let pauses = 0
  slices.pause = async () => {
    if (++pauses > abortAfter) abort.abort()
    await pause()
  }
  try {
    await compactPacks({
      folder: folder.at('store'),
      database,
      slices,
      round,
      isWriting: () => false,
      isCurrent,
    })
  } finally {
    database.close()
  }
}

test('an aborted compaction leaves no partial pack, and a later compaction finishes the work', async () => {
  using folder = new TemporaryFolder()
  const kept = await makeHalfEmpty(folder)
  const before = packsOf(folder)
  for (let i = 0; i < 3; i++) await expect(compact(folder, { abortAfter: 2 })).rejects.toThrow(/abort/i)
  expect(packsOf(folder)).toEqual(before.filter(name => name !== `${'0'.repeat(16)}.pack`))
  await compact(folder, {})
  expect(packBytes(folder)).toBe(3_000_000)
  const store = await openPackStore(folder.path)
  for (const [i, each] of kept.entries())
    expect(await textOf(store, each)).toBe(String.fromCharCode(97 + i).repeat(1_000_000))
  await store.close()
})

test('a compaction keeps the packs of a recreated folder and packs that another process may write to', async () => {
  using folder = new TemporaryFolder()
  await makeHalfEmpty(folder)
  const other = `${process.ppid}-${'1'.repeat(16)}.pack`
  writeFileSync(folder.at(`store/${other}`), 'about to be named')
  age(folder, 60_000)
  const before = packsOf(folder)
  await compact(folder, { isCurrent: () => false })
  expect(packsOf(folder)).toEqual(expect.arrayContaining([...before]))
  await compact(folder, {})
  expect(packsOf(folder)).toContain(other)
})

test('if another process has locked the index, close() waits at most two seconds', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  put(store, 'text')
  await store.close()
  const lock = folder.at('store/collection-lock.sqlite')
  writeFileSync(lock, '')
  const clock = new FakeClock(Date.now() + 2 * HOUR)
  const collection = new StoreCollection({
    ...{ folder: folder.at('store'), clock, isWriting: () => false, isCurrent: () => true },
    onDone: () => undefined,
  })
  collection.noteWritten(1)
  const stopped = new DatabaseSync(folder.at('store/index.db'))
  stopped.exec('BEGIN IMMEDIATE')
  const finished = collection.finish()
  await clock.advance(2_000)
  await finished
  stopped.close()
})

test('a store writes bytes again if their pack is removed before the index refers to the bytes', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const large = put(store, 'large'.repeat(400_000))
  for (const name of packsOf(folder)) rmSync(folder.at(`store/${name}`))
  store.setRef('name', large.revision)
  await store.close()
  const again = await openPackStore(folder.path)
  expect(await textOf(again, large)).toBe('large'.repeat(400_000))
  await again.close()
})

test('after repeated failures of its rounds, a collection reports the reason until a round succeeds', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  put(store, 'text')
  await store.close()
  const clock = new FakeClock(Date.now())
  const index = folder.at('store/index.db')
  const whole = readFileSync(index)
  let rounds = 0
  const done = Promise.withResolvers<void>()
  const collection = new StoreCollection({
    ...{ folder: folder.at('store'), clock, isWriting: () => false, onDone: done.resolve },
    isCurrent: () => rounds++ >= 0,
  })
  writeFileSync(index, 'no database')
  while (collection.failure === undefined) await clock.advance(60_000)
  expect([rounds, collection.failure]).toEqual([3, expect.stringMatching(/not a database/)])
  writeFileSync(index, whole)
  while (rounds === 3) await clock.advance(60_000)
  await done.promise
  expect(collection.failure).toBeUndefined()
  await collection.stop()
})

test.skipIf(process.platform !== 'linux')(
  'a process closes packs that its own collection has removed',
  async () => {
    using folder = new TemporaryFolder()
    const first = await openPackStore(folder.path)
    const old = put(first, 'old')
    await first.close()
    age(folder, 2 * HOUR)
    const countOpen = (): number =>
      readdirSync('/proc/self/fd').filter(fd => {
        const target = readlinkIfThere(`/proc/self/fd/${fd}`)
        return target?.startsWith(folder.path) === true && target.includes('.pack')
      }).length
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
    const store = await openPackStore(folder.path)
    expect([await textOf(store, old), countOpen()]).toEqual(['old', 1])
    for (let minute = 0; minute < 10 && countOpen() > 0; minute++) {
      await vi.advanceTimersByTimeAsync(60_000)
      // Waits some turns of the event loop, because a round yields to the event loop between its steps.
      for (let turn = 0; turn < 50; turn++) await setImmediate()
    }
    expect([packsOf(folder), countOpen()]).toEqual([[], 0])
    await store.close()
  },
)

function readlinkIfThere(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

test('a round removes the notes of a source that no process has opened for a month', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const made = put(store, 'text')
  store.setRef('name', made.revision)
  const note = { revision: made.revision, facts: Float64Array.of(1), text: 'note' }
  for (const source of ['left', 'used']) {
    await store.notes?.open?.(source)
    store.notes?.put(source, 'pdf', note)
  }
  await store.close()
  const index = new DatabaseSync(folder.at('store/index.db'))
  const slices = new TimeSlices(new AbortController().signal)
  const inDays = (days: number): number => Date.now() + days * 24 * HOUR
  await runCollectionRound(index, slices, inDays(29))
  expect(index.prepare('SELECT count(*) AS count FROM note').get()).toEqual({ count: 2 })
  vi.useFakeTimers({ toFake: ['Date'], now: inDays(2) })
  const later = await openPackStore(folder.path)
  await later.notes?.open?.('used')
  await later.close()
  await runCollectionRound(index, slices, inDays(29))
  index.close()
  const last = await openPackStore(folder.path)
  for (const source of ['left', 'used']) await last.notes?.open?.(source)
  expect(['left', 'used'].map(source => last.notes?.find(source, 'pdf')?.text)).toEqual([undefined, 'note'])
  await last.close()
})
