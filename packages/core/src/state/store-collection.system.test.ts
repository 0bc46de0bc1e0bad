import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, test, vi } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import type { Digest } from '../index.ts'
import { digestOf, revisionOf } from '../internal-entry.ts'
import { nodeHasher, openSkillStore } from '../node-entry.ts'
import type { SkillFile, SkillStore } from '../source-entry.ts'
import { FakeClock } from '../testing/index.ts'
import { openStateDatabase } from './state-database.ts'
import { StoreCollection } from './store-collection.ts'
import { STORE } from './store-schema.ts'

const MINUTE = 60_000
const HOUR = 3_600_000

afterEach(() => {
  vi.useRealTimers()
})

interface Revision {
  readonly revision: Digest
  readonly files: readonly SkillFile[]
}

function put(store: SkillStore, text: string): Revision {
  const files = [
    { path: 'SKILL.md', digest: digestOf(text, nodeHasher), size: text.length, isExecutable: false },
  ]
  const revision = revisionOf(files, nodeHasher)
  for (const { digest } of files) store.put(digest, Buffer.from(text))
  store.putTree(revision, files)
  return { revision, files }
}

async function textOf(store: SkillStore, { files: [file] }: Revision): Promise<string | undefined> {
  const bytes = file === undefined ? undefined : await store.get(file.digest)
  return bytes === undefined ? undefined : Buffer.from(bytes).toString()
}

/** Sets all times in the store back by `ms` milliseconds. */
function age(folder: TemporaryFolder, ms: number): void {
  const database = new DatabaseSync(folder.at('store.sqlite'))
  for (const [table, column] of Object.entries({ blob: 'at', tree: 'until', collected: 'at' }))
    database.prepare(`UPDATE ${table} SET ${column} = ${column} - ?`).run(ms)
  database.close()
}

/** Collects like a process that has run for a minute. */
async function collect(folder: TemporaryFolder): Promise<void> {
  const clock = new FakeClock(Date.now())
  const state = await openStateDatabase(folder.path, STORE)
  const collection = new StoreCollection(state, clock)
  await clock.advance(MINUTE)
  await collection.finish()
  state.close()
}

test('a collection removes revisions without a name, and gives their space back to the disk', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.path)
  const old = Array.from({ length: 300 }, (_, i) => put(store, `${i}`.repeat(10_000)))
  const named = put(store, 'named')
  store.setRef('name', named.revision)
  await store.flush()
  await collect(folder) // notes when collections began
  age(folder, HOUR)
  await collect(folder)
  expect(await textOf(store, old[0] as Revision)).toBeUndefined()
  expect(await store.getTree(old[0]?.revision as Digest)).toBeUndefined()
  expect([await store.getTree(named.revision), await textOf(store, named)]).toEqual([named.files, 'named'])
  await store.close()
  expect(statSync(folder.at('store.sqlite')).size).toBeLessThan(200_000)
})

test('a collection keeps content that was put, named or looked up shortly before', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.path)
  const texts = ['again', 'named', 'asked', 'gone']
  const [again, named, asked, gone] = texts.map(text => put(store, text)) as [
    Revision,
    Revision,
    Revision,
    Revision,
  ]
  await store.flush()
  await collect(folder)
  age(folder, HOUR)
  put(store, 'again')
  store.setRef('name', named.revision)
  await store.getTree(asked.revision)
  await store.flush()
  await collect(folder)
  for (const [text, each] of Object.entries({ again, named, asked }))
    expect([await store.getTree(each.revision), await textOf(store, each)]).toEqual([each.files, text])
  expect(await textOf(store, gone)).toBeUndefined()
  await store.close()
})

test('a file that was looked up stays until a tree refers to it', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.path)
  const { files } = put(store, 'old')
  await store.flush()
  await collect(folder)
  age(folder, HOUR)
  expect(store.has(files[0]?.digest as Digest)).toBe(true)
  await store.flush()
  await collect(folder)
  const more = [...files, { path: 'z.md', digest: files[0]?.digest as Digest, size: 3, isExecutable: false }]
  store.putTree(revisionOf(more, nodeHasher), more)
  await store.flush()
  expect(await textOf(store, { revision: revisionOf(more, nodeHasher), files })).toBe('old')
  await store.close()
})

test('a revision in use gets a lease after ten seconds, and is kept without a name', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'setTimeout', 'clearInterval', 'clearTimeout'] })
  using folder = new TemporaryFolder()
  const [user, other] = [await openSkillStore(folder.path), await openSkillStore(folder.path)]
  const [first, second, released] = ['first', 'second', 'released'].map(text => put(user, text)) as [
    Revision,
    Revision,
    Revision,
  ]
  user.setRef('name', first.revision)
  for (const { revision } of [first, released]) user.retain(revision)
  user.release(released.revision)
  await user.flush()
  await vi.advanceTimersByTimeAsync(10_100)
  await user.flush()
  // Another process points the name at another revision.
  other.setRef('name', second.revision)
  await other.flush()
  vi.useRealTimers()
  await collect(folder)
  age(folder, HOUR)
  await collect(folder)
  expect([await user.getTree(first.revision), await textOf(user, first)]).toEqual([first.files, 'first'])
  expect(await user.getTree(released.revision)).toBeUndefined()
  // The process has ended, so nobody renews the lease.
  age(folder, 2 * HOUR)
  await collect(folder)
  expect(await user.getTree(first.revision)).toBeUndefined()
  await user.close()
  await other.close()
})

test('of the processes that end within a minute, one per hour collects', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.path)
  const old = put(store, 'old')
  await store.close()
  /** Simulates a process that runs `hours` later. Returns whether the old content is still there. */
  const live = async (hours: number): Promise<boolean> => {
    const state = await openStateDatabase(folder.path, STORE)
    const collection = new StoreCollection(state, new FakeClock(Date.now() + hours * HOUR))
    await collection.finish()
    const isThere = state.get('SELECT 1 FROM tree WHERE revision = ?', old.revision) !== undefined
    state.close()
    return isThere
  }
  expect(await live(0.9)).toBe(true)
  expect(await live(1.1)).toBe(false)
})

test('close() of a locked store ends, and a collection that fails again and again is reported', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.path)
  put(store, 'text')
  await store.close()
  const clock = new FakeClock(Date.now())
  const state = await openStateDatabase(folder.path, STORE)
  state.run('PRAGMA busy_timeout = 0')
  const collection = new StoreCollection(state, clock)
  const other = new DatabaseSync(folder.at('store.sqlite'))
  other.exec('BEGIN IMMEDIATE')
  const failures: unknown[] = []
  for (let i = 0; i < 3; i++) {
    await clock.advance(5 * MINUTE)
    failures.push(collection.failure)
  }
  expect(failures).toEqual([undefined, undefined, expect.stringContaining('locked')])
  await collection.finish()
  other.close()
  state.close()
})

test('a collection removes the notes of removed revisions', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.path)
  const { revision } = put(store, 'old')
  store.notes?.put('source', 'pdf', { revision, facts: Float64Array.of(1), text: '' })
  await store.flush()
  await collect(folder)
  expect(store.notes?.find('source', 'pdf')?.revision).toBe(revision)
  age(folder, HOUR)
  await collect(folder)
  const database = new DatabaseSync(folder.at('store.sqlite'))
  expect(database.prepare('SELECT count(*) AS notes FROM note').get()).toEqual({ notes: 0 })
  database.close()
  await store.close()
})
