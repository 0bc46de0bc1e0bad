import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../../../tests/fixtures/skill-folder.ts'
import { portableHasher } from '../host.ts'
import { openPackStore } from '../node/pack-store.ts'
import { digestOf } from '../skill/digest.ts'
import { revisionOf } from '../skill/manifest.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { storeConformance } from '../testing/store-conformance.ts'
import { MemorySkillStore } from './memory-skill-store.ts'

describe('MemorySkillStore', () => {
  test.each(storeConformance)('$name', async each => {
    await each.check(new MemorySkillStore())
  })

  test('collects revisions that nobody uses after their grace, and their bytes with them', async () => {
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

test('MemorySkillStore keeps what is put again right before its grace ends', async () => {
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

describe('openPackStore()', () => {
  test.each(storeConformance)('$name', async each => {
    using folder = new TemporaryFolder()
    const store = await openPackStore(folder.path)
    await each.check(store)
    await store.close()
  })
})
