import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { nodeHasher } from '../disk/node-hasher.ts'
import { type Digest, digestOf } from '../skill/digest.ts'
import { revisionOf } from '../skill/manifest.ts'
import type { SkillFile, SkillStore } from '../source-entry.ts'
import { openSkillStore } from './sqlite-store.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

interface Revision {
  readonly revision: Digest
  readonly files: readonly SkillFile[]
}

/** Puts a revision with one file. */
function put(store: SkillStore, text: string): Revision {
  const digest = digestOf(text, nodeHasher)
  const files = [{ path: 'SKILL.md', digest, size: text.length, isExecutable: false }]
  const revision = revisionOf(files, nodeHasher)
  store.put(digest, bytesOf(text))
  store.putTree(revision, files)
  return { revision, files }
}

const pathOf = (folder: TemporaryFolder): string => folder.at('store.sqlite')

function query(folder: TemporaryFolder, sql: string): readonly Record<string, unknown>[] {
  const database = new DatabaseSync(pathOf(folder))
  const rows = database.prepare(sql).all()
  database.close()
  return rows
}

test('flushed content survives a restart, and a second put of this content stores no second copy', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('text', nodeHasher)
  const first = await openSkillStore(folder.path)
  first.put(digest, bytesOf('text'))
  first.setRef('name', digest)
  await first.close()
  const second = await openSkillStore(folder.path)
  expect(second.getRef('name')).toBe(digest)
  expect(await second.get(digest)).toEqual(bytesOf('text'))
  second.put(digest, bytesOf('text'))
  await second.close()
  expect(query(folder, 'SELECT count(*) AS count FROM content')).toEqual([{ count: 1 }])
})

test('bytes damaged on the disk are never returned and can be stored again', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('some text', nodeHasher)
  const first = await openSkillStore(folder.path)
  first.put(digest, bytesOf('some text'))
  await first.close()
  query(folder, "UPDATE content SET bytes = CAST('SOME text' AS BLOB)")
  const second = await openSkillStore(folder.path)
  expect(await second.get(digest)).toBeUndefined()
  expect(second.has(digest)).toBe(false)
  second.put(digest, bytesOf('some text'))
  await second.close()
  const third = await openSkillStore(folder.path)
  expect(await third.get(digest)).toEqual(bytesOf('some text'))
  await third.close()
})

test('a damaged file list is never returned', async () => {
  using folder = new TemporaryFolder()
  const first = await openSkillStore(folder.path)
  const { revision, files } = put(first, 'text')
  await first.flush()
  expect(await first.getTree(revision)).toEqual(files)
  query(folder, "UPDATE member SET path = 'other.md'")
  expect(await first.getTree(revision)).toBeUndefined()
  await first.close()
})

test('two concurrent calls of close() close the store only once', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.path)
  put(store, 'x')
  await Promise.all([store.close(), store.close()])
})

test('only the user of the process can read the store', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.at('state'))
  put(store, 'x')
  await store.flush()
  expect(statSync(folder.at('state')).mode & 0o777).toBe(0o700)
  for (const name of readdirSync(folder.at('state')))
    expect([name, statSync(folder.at('state', name)).mode & 0o777]).toEqual([name, 0o600])
  await store.close()
})

test('a name never refers to missing bytes, no matter when the process is killed', {
  timeout: 60_000,
}, async () => {
  using folder = new TemporaryFolder()
  const script = `
    const { openSkillStore, nodeHasher } = await import(${JSON.stringify(resolve('packages/core/dist/node-entry.js'))})
    const { digestOf } = await import(${JSON.stringify(resolve('packages/core/dist/internal-entry.js'))})
    const store = await openSkillStore(${JSON.stringify(folder.path)})
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(process.argv[1]))
    for (let i = 0; ; i++) {
      const text = process.argv[1] + ' ' + i + 'x'.repeat(i % 997)
      const digest = digestOf(text, nodeHasher)
      store.put(digest, new TextEncoder().encode(text))
      store.setRef('newest', digest)
      await store.flush()
    }`
  for (let ms = 1; ms <= 40; ms += 3) {
    try {
      execFileSync(process.execPath, ['--input-type=module', '-e', script, String(ms)], { stdio: 'ignore' })
    } catch {
      // `execFileSync` throws, because the test killed the process.
    }
    const store = await openSkillStore(folder.path)
    const newest = store.getRef('newest')
    if (newest !== undefined) expect(await store.get(newest)).toBeDefined()
    await store.close()
  }
})

test('two stores can share one state directory', async () => {
  using folder = new TemporaryFolder()
  const [one, two] = [await openSkillStore(folder.path), await openSkillStore(folder.path)]
  const { revision, files } = put(one, 'shared')
  one.setRef('by one', revision)
  two.setRef('by two', revision)
  await Promise.all([one.flush(), two.flush()])
  expect([await two.getTree(revision), await two.get(files[0]?.digest as Digest)]).toEqual([
    files,
    bytesOf('shared'),
  ])
  expect(one.getRef('by two')).toBe(revision)
  await one.close()
  await two.close()
})

const PAGE_BYTES = 8_192

/** Overwrites the given pages of the database. The first page has the number 0. */
function damage(folder: TemporaryFolder, first: number, count: number): void {
  const path = pathOf(folder)
  writeFileSync(path, readFileSync(path).fill(0x5a, first * PAGE_BYTES, (first + count) * PAGE_BYTES))
}

const asides = (folder: TemporaryFolder): string[] =>
  readdirSync(folder.path).filter(name => /^store\.sqlite\.damaged-\d+$/.test(name))

test('when a query finds damage, the database is moved aside and its readable rows are kept', async () => {
  using folder = new TemporaryFolder()
  const first = await openSkillStore(folder.path)
  const texts = Array.from({ length: 2_000 }, (_, i) => `text ${i}`)
  const entries = texts.map(text => ({ text, ...put(first, text) }))
  for (const { text, revision } of entries) first.setRef(text, revision)
  await first.close()
  const pages = statSync(pathOf(folder)).size / PAGE_BYTES
  expect(pages).toBeGreaterThan(50)
  const store = await openSkillStore(folder.path)
  expect(store.fault).toBeUndefined()
  damage(folder, Math.floor(pages / 2), 8)
  const found = { blobs: 0, trees: 0, names: 0 }
  for (const { text, revision, files } of entries) {
    if ((await store.get(files[0]?.digest as Digest)) !== undefined) found.blobs++
    if ((await store.getTree(revision)) !== undefined) found.trees++
    if (store.getRef(text) === revision) found.names++
  }
  for (const count of Object.values(found)) expect(count).toBeGreaterThan(500)
  expect(store.fault).toMatchObject({
    message: expect.stringMatching(
      /^the contents of the store in .* are damaged \(.*\) and were moved to ".*"$/,
    ),
    isStoring: true,
  })
  for (const { text, revision } of entries) {
    await store.getTree(revision) // forgets a revision that lost some of its rows
    put(store, text)
    store.setRef(text, revision)
  }
  await store.close()
  expect(asides(folder)).toHaveLength(1)
  const again = await openSkillStore(folder.path)
  for (const { text, revision, files } of entries)
    expect([await again.getTree(revision), again.getRef(text)]).toEqual([files, revision])
  expect(again.fault).toBeUndefined()
  await again.close()
})

test('no matter which page is damaged, no call throws and all content can be stored again', async () => {
  using folder = new TemporaryFolder()
  const fill = (store: SkillStore): Revision => {
    const made = put(store, 'text')
    store.setRef('name', made.revision)
    return made
  }
  const first = await openSkillStore(folder.path)
  const { revision, files } = fill(first)
  await first.close()
  const whole = readFileSync(pathOf(folder))
  for (let page = 1; page < whole.length / PAGE_BYTES; page++) {
    for (const name of readdirSync(folder.path)) rmSync(folder.at(name))
    writeFileSync(pathOf(folder), whole, { mode: 0o600 })
    const store = await openSkillStore(folder.path)
    damage(folder, page, 1)
    const digest = files[0]?.digest as Digest
    // A caller stores again what it does not find.
    if ((await store.get(digest)) === undefined) fill(store)
    if ((await store.getTree(revision)) === undefined) fill(store)
    await store.flush()
    if ((await store.getTree(revision)) === undefined) fill(store)
    if (store.getRef('name') === undefined) fill(store)
    await store.flush()
    expect([page, await store.getTree(revision), store.getRef('name')]).toEqual([page, files, revision])
    expect(await store.get(digest)).toEqual(bytesOf('text'))
    await store.close()
    const again = await openSkillStore(folder.path)
    expect([await again.getTree(revision), again.getRef('name'), again.fault]).toEqual([
      files,
      revision,
      undefined,
    ])
    await again.close()
  }
})

test('a name keeps the value that another process has set meanwhile', async () => {
  using folder = new TemporaryFolder()
  const [old, newer] = ['old', 'newer'].map(text => digestOf(text, nodeHasher))
  const [one, two] = [await openSkillStore(folder.path), await openSkillStore(folder.path)]
  one.setRef('both', old)
  one.setRef('removed', old)
  await one.flush()
  // `two` sets the name to its current value, so the flush of `two` has no change to write.
  two.setRef('both', old)
  one.setRef('both', newer)
  await one.flush()
  await two.flush()
  expect(two.getRef('both')).toBe(newer)
  // `two` sets both names. Before the flush of `two`, `one` writes other changes of these names.
  two.setRef('both', undefined)
  two.setRef('removed', newer)
  one.setRef('both', old)
  one.setRef('removed', undefined)
  await one.flush()
  await two.close()
  expect([one.getRef('both'), one.getRef('removed')]).toEqual([old, undefined])
  await one.close()
})

test('a new name is written to disk shortly after setRef(), even without a flush', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('text', nodeHasher)
  const [one, two] = [await openSkillStore(folder.path), await openSkillStore(folder.path)]
  one.setRef('name', digest)
  await expect.poll(() => two.getRef('name')).toBe(digest)
  await one.close()
  await two.close()
})

test('a name that is changed during a flush gets its last value', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.path)
  const revisions = Array.from({ length: 600 }, (_, i) => put(store, `text ${i}`).revision)
  store.setRef('name', revisions[0])
  const flushed = store.flush()
  store.setRef('name', revisions[1])
  await flushed
  await store.flush()
  expect(store.getRef('name')).toBe(revisions[1])
  expect(query(folder, 'SELECT revision FROM ref')).toEqual([{ revision: revisions[1] }])
  await store.close()
})

test('if the state directory is removed, the store stays readable and says that nothing is stored', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.at('state'))
  const [first] = put(store, 'first').files
  await store.flush()
  rmSync(folder.at('state'), { recursive: true })
  const [second] = put(store, 'second').files
  await store.flush()
  expect(await store.get(first?.digest as Digest)).toEqual(bytesOf('first'))
  expect(await store.get(second?.digest as Digest)).toEqual(bytesOf('second'))
  expect(store.fault).toMatchObject({
    message: expect.stringContaining('were removed or replaced'),
    isStoring: false,
  })
  await store.close()
})

test('a closed store fails every call with CLOSED', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('text', nodeHasher)
  const store = await openSkillStore(folder.path)
  store.put(digest, bytesOf('text'))
  const reading = store.get(digest)
  await store.close()
  expect(await reading).toEqual(bytesOf('text'))
  const closed = { code: 'CLOSED' }
  for (const ask of [() => store.has(digest), () => store.getRef('name'), () => store.setRef('name', digest)])
    expect(ask).toThrow(expect.objectContaining(closed))
  await expect(store.get(digest)).rejects.toMatchObject(closed)
  await expect(store.getTree(digest)).rejects.toMatchObject(closed)
  await store.flush()
})

test('a note that is put during a flush is written only after its revision', async () => {
  using folder = new TemporaryFolder()
  const store = await openSkillStore(folder.path)
  const note = (text: string): void => {
    const { revision } = put(store, text)
    store.notes?.put('source', text, { revision, facts: Float64Array.of(1), text })
  }
  note('first')
  const flushed = store.flush()
  note('second')
  await flushed
  await store.close()
  const again = await openSkillStore(folder.path)
  expect(['first', 'second'].map(text => again.notes?.find('source', text)?.text)).toEqual([
    'first',
    'second',
  ])
  await again.close()
})
