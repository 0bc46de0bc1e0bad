import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { type Digest, digestOf } from '../skill/digest.ts'
import { revisionOf } from '../skill/manifest.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { nodeHasher } from './node-hasher.ts'
import { openPackStore } from './pack-store.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

function packsOf(folder: TemporaryFolder): string[] {
  return readdirSync(folder.at('store')).filter(name => name.endsWith('.pack'))
}

test('flushed content survives a restart, and a second put of this content stores no second copy', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('text', nodeHasher)
  const first = await openPackStore(folder.path)
  first.put(digest, bytesOf('text'))
  first.setRef('name', digest)
  await first.close()
  const second = await openPackStore(folder.path)
  expect(second.getRef('name')).toBe(digest)
  expect(await second.get(digest)).toEqual(bytesOf('text'))
  second.put(digest, bytesOf('text'))
  await second.close()
  expect(packsOf(folder)).toHaveLength(1)
})

test('bytes damaged on the disk are never returned and can be stored again', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('some text', nodeHasher)
  const first = await openPackStore(folder.path)
  first.put(digest, bytesOf('some text'))
  await first.close()
  const pack = folder.at('store', packsOf(folder)[0] ?? '')
  writeFileSync(pack, 'SOME text')
  const second = await openPackStore(folder.path)
  expect(await second.get(digest)).toBeUndefined()
  expect(second.has(digest)).toBe(false)
  second.put(digest, bytesOf('some text'))
  expect(await second.get(digest)).toEqual(bytesOf('some text'))
  await second.close()
  truncateSync(pack, 2)
  const third = await openPackStore(folder.path)
  expect(await third.get(digest)).toEqual(bytesOf('some text'))
  await third.close()
})

test('bytes of a lost pack are reported as missing, and a new put stores them again', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('text', nodeHasher)
  const first = await openPackStore(folder.path)
  first.put(digest, bytesOf('text'))
  await first.close()
  for (const pack of packsOf(folder)) rmSync(folder.at('store', pack))
  const second = await openPackStore(folder.path)
  expect(second.has(digest)).toBe(false)
  expect(await second.get(digest)).toBeUndefined()
  second.put(digest, bytesOf('text'))
  await second.close()
  const third = await openPackStore(folder.path)
  expect(await third.get(digest)).toEqual(bytesOf('text'))
  await third.close()
})

test('many small files are written to one pack instead of separate files on the disk', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  const digests = Array.from({ length: 5_000 }, (_, i) => digestOf(`text ${i}`, nodeHasher))
  digests.forEach((digest, i) => {
    store.put(digest, bytesOf(`text ${i}`))
  })
  await store.flush()
  expect(packsOf(folder)).toHaveLength(1)
  expect(await store.get(digests[4_321] ?? 'sha256:')).toEqual(bytesOf('text 4321'))
  await store.close()
})

test('two concurrent calls of close() close the store only once', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  store.put(digestOf('x', nodeHasher), bytesOf('x'))
  await Promise.all([store.close(), store.close()])
})

test('only the user of the process can read the state directory', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.at('state'))
  store.put(digestOf('x', nodeHasher), bytesOf('x'))
  await store.close()
  expect(statSync(folder.at('state')).mode & 0o777).toBe(0o700)
  expect(statSync(folder.at('state/store')).mode & 0o777).toBe(0o700)
})

test('the index never refers to missing bytes, no matter when the process is killed', {
  timeout: 60_000,
}, async () => {
  using folder = new TemporaryFolder()
  const script = `
    const { openPackStore, nodeHasher } = await import(${JSON.stringify(resolve('packages/core/dist/node/index.js'))})
    const { digestOf } = await import(${JSON.stringify(resolve('packages/core/dist/internal-entry.js'))})
    const store = await openPackStore(${JSON.stringify(folder.path)})
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
    const store = await openPackStore(folder.path)
    const newest = store.getRef('newest')
    if (newest !== undefined) expect(await store.get(newest)).toBeDefined()
    await store.close()
  }
})

test('two stores can share one state directory', async () => {
  using folder = new TemporaryFolder()
  const [one, two] = [await openPackStore(folder.path), await openPackStore(folder.path)]
  const digest = digestOf('shared', nodeHasher)
  one.put(digest, bytesOf('shared'))
  one.setRef('by one', digest)
  two.setRef('by two', digest)
  await Promise.all([one.flush(), two.flush()])
  expect(await two.get(digest)).toEqual(bytesOf('shared'))
  expect(one.getRef('by two')).toBe(digest)
  await one.close()
  await two.close()
})

const PAGE_BYTES = 4_096

/** Overwrites the given pages of the index. The first page has the number 0. */
function damage(folder: TemporaryFolder, first: number, count: number): void {
  const path = folder.at('store/index.db')
  writeFileSync(path, readFileSync(path).fill(0x5a, first * PAGE_BYTES, (first + count) * PAGE_BYTES))
}

const asides = (folder: TemporaryFolder): string[] =>
  readdirSync(folder.at('store')).filter(name => /^index\.db\.damaged-\d+$/.test(name))

test('when a query finds that the index is damaged, the index is moved aside and its readable rows are kept', async () => {
  using folder = new TemporaryFolder()
  const first = await openPackStore(folder.path)
  const entries = Array.from({ length: 2_000 }, (_, i) => {
    const digest = digestOf(`text ${i}`, nodeHasher)
    const files = [{ path: 'SKILL.md', digest, size: 9, isExecutable: false }]
    return {
      name: `name ${i}`,
      bytes: bytesOf(`text ${i}`),
      digest,
      files,
      revision: revisionOf(files, nodeHasher),
    }
  })
  for (const { name, bytes, digest, files, revision } of entries) {
    first.put(digest, bytes)
    first.putTree(revision, files)
    first.setRef(name, digest)
  }
  await first.close()
  const pages = statSync(folder.at('store/index.db')).size / PAGE_BYTES
  expect(pages).toBeGreaterThan(100)
  const store = await openPackStore(folder.path)
  expect(store.fault).toBeUndefined()
  damage(folder, Math.floor(pages / 2), 1)
  const found = { blobs: 0, trees: 0, names: 0 }
  for (const { name, digest, revision } of entries) {
    if (store.has(digest)) found.blobs++
    if ((await store.getTree(revision)) !== undefined) found.trees++
    if (store.getRef(name) === digest) found.names++
  }
  // Damages an inner page of the index tree, so that the rows below this page cannot be read.
  for (const count of Object.values(found)) expect(count).toBeGreaterThan(500)
  expect(store.fault).toMatchObject({
    message: expect.stringMatching(
      /^the index entries of the store in .* are damaged \(.*\) and were moved to ".*"$/,
    ),
    isStoring: true,
  })
  for (const { name, bytes, digest, files, revision } of entries) {
    store.put(digest, bytes)
    store.putTree(revision, files)
    store.setRef(name, digest)
    expect(await store.get(digest)).toEqual(bytes)
  }
  await store.close()
  expect(asides(folder)).toHaveLength(1)
  const again = await openPackStore(folder.path)
  for (const { name, digest, files, revision } of entries)
    expect([again.has(digest), await again.getTree(revision), again.getRef(name)]).toEqual([
      true,
      files,
      digest,
    ])
  expect(again.fault).toBeUndefined()
  await again.close()
})

test.each([1, 2, 3])(
  'if only page %i of the index is damaged, no call throws and all content can be stored again',
  async page => {
    using folder = new TemporaryFolder()
    const digest = digestOf('text', nodeHasher)
    const files = [{ path: 'SKILL.md', digest, size: 4, isExecutable: false }]
    const fill = (store: SkillStore): void => {
      store.put(digest, bytesOf('text'))
      store.putTree(digest, files)
      store.setRef('name', digest)
    }
    const first = await openPackStore(folder.path)
    fill(first)
    await first.close()
    const [one, two] = [await openPackStore(folder.path), await openPackStore(folder.path)]
    damage(folder, page, 1)
    fill(one)
    await one.flush()
    expect([one.fault?.isStoring, asides(folder)]).toEqual([true, [expect.any(String)]])
    // This call makes the store `two` switch to the new index.
    fill(two)
    await two.flush()
    for (const store of [one, two])
      expect([await store.get(digest), await store.getTree(digest), store.getRef('name')]).toEqual([
        bytesOf('text'),
        files,
        digest,
      ])
    await one.close()
    await two.close()
    expect(asides(folder)).toHaveLength(1)
    const again = await openPackStore(folder.path)
    expect([await again.get(digest), again.getRef('name'), again.fault]).toEqual([
      bytesOf('text'),
      digest,
      undefined,
    ])
    await again.close()
  },
)

test('a name keeps the value that another process has set meanwhile', async () => {
  using folder = new TemporaryFolder()
  const [old, newer] = ['old', 'newer'].map(text => digestOf(text, nodeHasher))
  const [one, two] = [await openPackStore(folder.path), await openPackStore(folder.path)]
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
  const [one, two] = [await openPackStore(folder.path), await openPackStore(folder.path)]
  one.setRef('name', digest)
  await expect.poll(() => two.getRef('name')).toBe(digest)
  await one.close()
  await two.close()
})

test('if the state directory is removed, the store writes its open older packs to new files', async () => {
  using folder = new TemporaryFolder()
  const state = folder.at('state')
  const texts = ['only named', 'asked for']
  const [named, asked] = texts.map(text => digestOf(text, nodeHasher)) as [Digest, Digest]
  const files = [{ path: 'SKILL.md', digest: named, size: 10, isExecutable: false }]
  for (const text of texts) {
    const store = await openPackStore(state)
    store.put(digestOf(text, nodeHasher), bytesOf(text))
    store.putTree(named, files)
    await store.close()
  }
  const store = await openPackStore(state)
  await store.getTree(named)
  store.has(asked)
  for (let time = 0; time < 2; time++) {
    rmSync(state, { recursive: true })
    await store.flush()
    expect([await store.get(named), await store.get(asked)]).toEqual(texts.map(bytesOf))
  }
  await store.close()
  const again = await openPackStore(state)
  expect([await again.get(named), await again.get(asked)]).toEqual(texts.map(bytesOf))
  await again.close()
})

test.skipIf(process.platform !== 'linux')(
  'if the state directory is removed again and again, the store keeps the same number of files open',
  async () => {
    using folder = new TemporaryFolder()
    const state = folder.at('state')
    const store = await openPackStore(state)
    const texts: string[] = []
    const counts: number[] = []
    for (let time = 0; time < 4; time++) {
      texts.push(`text ${time}`)
      const digest = digestOf(`text ${time}`, nodeHasher)
      store.put(digest, bytesOf(`text ${time}`))
      store.putTree(digest, [{ path: 'SKILL.md', digest, size: 6, isExecutable: false }])
      store.setRef(`name ${time}`, digest)
      await store.flush()
      store.has(digest)
      rmSync(state, { recursive: true })
      await store.flush()
      counts.push(listOpen(state).length)
    }
    expect(new Set(counts).size, String(counts)).toBe(1)
    for (const text of texts) expect(await store.get(digestOf(text, nodeHasher))).toEqual(bytesOf(text))
    await store.close()
    expect(listOpen(state)).toEqual([])
    const again = await openPackStore(state)
    for (const text of texts) expect(await again.get(digestOf(text, nodeHasher))).toEqual(bytesOf(text))
    await again.close()
  },
)

/** Returns the open files of this process below a folder, with those that were removed. */
function listOpen(folder: string): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap(descriptor => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`)
      return path.startsWith(folder) ? [path] : []
    } catch {
      return [] // it listed this directory
    }
  })
}

test('a closed store fails every call with CLOSED', async () => {
  using folder = new TemporaryFolder()
  const digest = digestOf('text', nodeHasher)
  const store = await openPackStore(folder.path)
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

test('a store whose index is missing reports a fault when it is opened', async () => {
  using folder = new TemporaryFolder()
  const faults: unknown[] = []
  for (const isRemoved of [false, false, true, false]) {
    if (isRemoved) rmSync(folder.at('store/index.db'))
    const store = await openPackStore(folder.path)
    store.put(digestOf('text', nodeHasher), bytesOf('text'))
    faults.push(store.fault?.message)
    await store.close()
  }
  expect(faults).toEqual([
    undefined,
    undefined,
    expect.stringMatching(/the index entries of the store in .* are missing/),
    undefined,
  ])
})

test('served revisions keep their names when the index is replaced with an older copy of itself', async () => {
  using folder = new TemporaryFolder()
  const [older, newer] = ['older', 'newer'].map(text => digestOf(text, nodeHasher)) as [Digest, Digest]
  const first = await openPackStore(folder.path)
  first.setRef('name', older)
  first.setRef('other', older)
  await first.close()
  copyFileSync(folder.at('store/index.db'), folder.at('copy'))
  const store = await openPackStore(folder.path)
  store.setRef('name', newer)
  await store.flush()
  for (const end of ['-wal', '-shm']) rmSync(folder.at(`store/index.db${end}`), { force: true })
  rmSync(folder.at('store/index.db'))
  copyFileSync(folder.at('copy'), folder.at('store/index.db'))
  await store.close()
  const again = await openPackStore(folder.path)
  expect(['name', 'other'].map(name => again.getRef(name))).toEqual([newer, older])
  await again.close()
})

test('a note that is put during a flush is written only after its revision', async () => {
  using folder = new TemporaryFolder()
  const store = await openPackStore(folder.path)
  await store.notes?.open?.('source')
  const put = (text: string): void => {
    const files = [
      { path: 'SKILL.md', digest: digestOf(text, nodeHasher), size: text.length, isExecutable: false },
    ]
    const revision = revisionOf(files, nodeHasher)
    store.put(files[0]?.digest as Digest, bytesOf(text))
    store.putTree(revision, files)
    store.notes?.put('source', text, { revision, facts: Float64Array.of(1), text })
  }
  put('first')
  const flushed = store.flush()
  put('second')
  await flushed
  await store.close()
  const again = await openPackStore(folder.path)
  await again.notes?.open?.('source')
  expect(['first', 'second'].map(text => again.notes?.find('source', text)?.text)).toEqual([
    'first',
    'second',
  ])
  await again.close()
})
