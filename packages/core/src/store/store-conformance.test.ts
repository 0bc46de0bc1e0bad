import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { portableHasher } from '../host.ts'
import { type Digest, digestOf } from '../skill/digest.ts'
import { revisionOf } from '../skill/manifest.ts'
import { openSkillStore } from '../state/sqlite-store.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { storeConformance } from '../testing/store-conformance.ts'
import { MemorySkillStore } from './memory-skill-store.ts'

describe('MemorySkillStore', () => {
  test.each(storeConformance)('$name', async each => {
    await each.check(new MemorySkillStore())
  })

  test('collects an unused revision and its bytes after the grace period', async () => {
    const clock = new FakeClock()
    const store = new MemorySkillStore({ clock, graceMs: 1_000 })
    const bytes = new TextEncoder().encode('text')
    const digest = digestOf(bytes, portableHasher)
    const files = [{ path: 'SKILL.md', digest, size: 4, isExecutable: false }]
    const revision = revisionOf(files, portableHasher)
    store.put(digest, bytes)
    store.putTree(revision, files)
    store.retain(revision)
    await clock.advance(5_000)
    expect(await store.getTree(revision)).toEqual(files)
    store.release(revision)
    await clock.advance(900)
    expect(await store.getTree(revision)).toEqual(files)
    await clock.advance(2_000)
    expect(await store.getTree(revision)).toBeUndefined()
    await clock.advance(2_000)
    expect(store.has(digest)).toBe(false)
    expect(clock.pendingTimers).toBe(0)
  })
})

test('MemorySkillStore keeps a revision if it is put again right before its grace period ends', async () => {
  const clock = new FakeClock()
  const store = new MemorySkillStore({ clock, graceMs: 1_000 })
  const bytes = new TextEncoder().encode('text')
  const digest = digestOf(bytes, portableHasher)
  const files = [{ path: 'SKILL.md', digest, size: 4, isExecutable: false }]
  const revision = revisionOf(files, portableHasher)
  store.put(digest, bytes)
  store.putTree(revision, files)
  await clock.advance(999)
  store.put(digest, bytes)
  store.putTree(revision, files)
  await clock.advance(500)
  store.retain(revision)
  await clock.advance(5_000)
  expect(await store.get(digest)).toEqual(bytes)
  expect(await store.getTree(revision)).toEqual(files)
})

describe('MemorySkillStore, when many revisions are replaced,', () => {
  const text = new Uint8Array(100_000)
  const asset = new Uint8Array(3_000_000)
  const assetFile = {
    path: 'asset.bin',
    digest: digestOf(asset, portableHasher),
    size: asset.length,
    isExecutable: false,
  }

  /** Puts one revision in the same way as a source does. All revisions share the same asset. */
  function putRevision(store: MemorySkillStore, number: number): Digest {
    const bytes = Uint8Array.from(text)
    bytes[0] = number
    const digest = digestOf(bytes, portableHasher)
    const files = [{ path: 'SKILL.md', digest, size: bytes.length, isExecutable: false }, assetFile]
    store.put(digest, bytes)
    if (!store.has(assetFile.digest)) store.put(assetFile.digest, asset)
    const revision = revisionOf(files, portableHasher)
    store.putTree(revision, files)
    return revision
  }

  /** Replaces one revision after another in the same way as the registry does. */
  async function edit(store: MemorySkillStore, clock: FakeClock, count: number, from = 0): Promise<Digest[]> {
    const revisions: Digest[] = []
    for (let i = from; i < from + count; i++) {
      const revision = putRevision(store, i)
      store.retain(revision)
      const before = revisions.at(-1)
      if (before !== undefined) store.release(before)
      revisions.push(revision)
      await clock.advance(100)
    }
    return revisions
  }

  const kept = async (store: MemorySkillStore, revisions: readonly Digest[]): Promise<boolean[]> =>
    await Promise.all(revisions.map(async revision => (await store.getTree(revision)) !== undefined))

  test('keeps 4 MB of replaced revisions, and every revision that is in use or younger than five seconds', async () => {
    const clock = new FakeClock()
    const store = new MemorySkillStore({ clock })
    const revisions = await edit(store, clock, 200)
    const found = await kept(store, revisions)
    const oldest = found.indexOf(true)
    expect(oldest).toBeGreaterThan(140)
    expect(found.slice(oldest)).not.toContain(false)
    expect(200 - oldest).toBeGreaterThan(25)
    expect(store.has(assetFile.digest)).toBe(true)
  })

  test('keeps each revision in use, and keeps all revisions if the grace period is infinite', async () => {
    const clock = new FakeClock()
    const store = new MemorySkillStore({ clock })
    const used = putRevision(store, 201)
    store.retain(used)
    await edit(store, clock, 100)
    expect(await kept(store, [used])).toEqual([true])
    const forGood = new MemorySkillStore({ clock, graceMs: Infinity })
    expect(await kept(forGood, await edit(forGood, clock, 100))).not.toContain(false)
  })

  test('if a source has just looked up bytes, keeps these bytes until the grace period ends', async () => {
    const clock = new FakeClock()
    const store = new MemorySkillStore({ clock })
    const [asked, other] = [putRevision(store, 201), putRevision(store, 202)]
    const digests: Digest[] = []
    for (const revision of [asked, other]) {
      const [file] = (await store.getTree(revision)) ?? []
      digests.push(file?.digest as Digest)
      store.retain(revision)
      store.has(file?.digest as Digest)
      store.release(revision)
    }
    await edit(store, clock, 48)
    expect(store.has(digests[0] as Digest)).toBe(true)
    await edit(store, clock, 20, 100)
    expect(await kept(store, [asked, other])).toEqual([false, false])
    expect(await Promise.all(digests.map(async each => (await store.get(each)) !== undefined))).toEqual([
      true,
      false,
    ])
    await clock.advance(120_000)
    expect(await store.get(digests[0] as Digest)).toBeUndefined()
  })
})

describe('openSkillStore()', () => {
  test.each(storeConformance)('$name', async each => {
    using folder = new TemporaryFolder()
    const store = await openSkillStore(folder.path)
    await each.check(store)
    await store.close()
  })
})
