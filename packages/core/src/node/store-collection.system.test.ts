import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import type { Digest } from '../index.ts'
import { digestOf, revisionOf } from '../internal-entry.ts'
import type { SkillFile, SkillStore } from '../source-entry.ts'
import { FakeClock } from '../testing/index.ts'
import { collectGarbage, nodeHasher, openPackStore } from './index.ts'
import { RetainedTrees } from './retained-trees.ts'
import { StoreCollection } from './store-collection.ts'

const HOUR = 3_600_000

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

/** The collection of a process that uses a store, with time that passes when the test says so. */
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

  /** Lets the process write, and time pass until one more round begins; waits for its end. */
  async next(): Promise<void> {
    this.#collection.noteWritten(1)
    await this.nextPlanned(1_000)
  }

  /** Lets time pass in steps until one more round begins, and waits for its end. */
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

/** Everything in the store is as old as that, and its packs have not been written to since. */
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

test('what no name needs goes in two rounds, and the packs get smaller while the store is open', async () => {
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
  expect(await again.getTree(first.revision)).toBeUndefined()
  // A reader that began before still gets it.
  expect(await textOf(again, first)).toBe('0'.repeat(1_000))
  await rounds.next()
  expect(await textOf(again, first)).toBeUndefined()
  expect(packBytes(folder)).toBeLessThan(before / 100)
  expect([await again.getTree(named.revision), await textOf(again, named)]).toEqual([named.files, 'named'])
  await again.close()
})

test('what somebody needs between two rounds stays: put, named, or with bytes that were asked for before', async () => {
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

test('a revision that another process uses without a name is leased', async () => {
  using folder = new TemporaryFolder()
  const [store, other] = [await openPackStore(folder.path), await openPackStore(folder.path)]
  const held = put(store, 'held')
  await store.flush()
  age(folder, 2 * HOUR)
  other.retain(held.revision)
  await other.flush()
  await using rounds = new Rounds(folder)
  await rounds.next()
  await rounds.next()
  expect([await other.getTree(held.revision), await textOf(other, held)]).toEqual([held.files, 'held'])
  await other.close()
  await store.close()
})

test('a lease is renewed after ten minutes, and ends with the last user', () => {
  const { revision } = toRevision('held')
  const trees = new RetainedTrees()
  trees.retain(revision)
  expect(trees.takeDue(0)).toEqual({ revisions: [revision], until: 1_200_000 })
  expect([trees.isDue(600_000), trees.takeDue(600_000).revisions]).toEqual([false, []])
  expect([trees.isDue(600_001), trees.takeDue(600_001).revisions]).toEqual([true, [revision]])
  trees.release(revision)
  expect(trees.isDue(10_000_000)).toBe(false)
})

test('a name that moves away from a used revision leaves a lease', async () => {
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

test('within the grace 64 MB are kept, and no more', async () => {
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
  expect(await store.getTree(large[1]?.revision as Digest)).toBeUndefined()
  await rounds.next()
  expect(packBytes(folder)).toBeLessThan(30_000_000)
  expect(await textOf(store, large[0] as Revision)).toHaveLength(4_000_000)
  await store.close()
}, 30_000)

test('what is too young goes when its grace ends, although nobody writes any more', async () => {
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

test('the index gets smaller', async () => {
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

test('the pack of a process whose number another one has by now goes after a day', async () => {
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

test('a store goes on in a new pack when its own is large, and reads both', async () => {
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
  expect(await store.getTree(old.revision)).toEqual(old.files)
  lock.close()
  await rounds.next()
  expect(await store.getTree(old.revision)).toBeUndefined()
  expect(readFileSync(folder.at('store/collection-lock.sqlite'))).toHaveLength(0)
  await store.close()
})
