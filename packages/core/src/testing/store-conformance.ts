import { decodeUnmarkedText, digestOf, revisionOf } from '../internal-entry.ts'
import { portableHasher, type SkillFile, type SkillStore } from '../source-entry.ts'
import { type ConformanceCase, expect } from './conformance.ts'

const encoder = new TextEncoder()

/**
 * The rules of `SkillStore` as test cases, for any test runner. Call `check` with a fresh store for each case.
 *
 * @example
 * ```ts
 * import { MemorySkillStore } from '@skillstoke/core/source'
 * import { storeConformance } from '@skillstoke/core/testing'
 *
 * for (const { check } of storeConformance) await check(new MemorySkillStore())
 * ```
 */
export const storeConformance: readonly ConformanceCase<SkillStore>[] = [
  {
    name: 'get() returns the bytes that were put under their digest',
    async check(store) {
      const bytes = encoder.encode('some text')
      const digest = digestOf(bytes, portableHasher)
      expect(!store.has(digest), 'has() is false before put()')
      store.put(digest, bytes.slice())
      expect(store.has(digest), 'has() is true right after put()')
      expect(text(await store.get(digest)) === 'some text', 'the bytes are the same before flush()')
      await store.flush()
      expect(text(await store.get(digest)) === 'some text', 'the bytes are the same after flush()')
    },
  },
  {
    name: 'get(), getTree() and getRef() return undefined for unknown keys',
    async check(store) {
      expect((await store.get(digestOf('nothing', portableHasher))) === undefined, 'no bytes')
      expect((await store.getTree(digestOf('nothing', portableHasher))) === undefined, 'no tree')
      expect(store.getRef('nothing') === undefined, 'no ref')
    },
  },
  {
    name: 'get() keeps empty files and bytes of every value',
    async check(store) {
      const all = Uint8Array.from({ length: 256 }, (_, index) => index)
      for (const bytes of [new Uint8Array(0), all]) {
        const digest = digestOf(bytes, portableHasher)
        store.put(digest, bytes.slice())
        await store.flush()
        const kept = await store.get(digest)
        expect(
          kept?.length === bytes.length && bytes.every((byte, index) => kept[index] === byte),
          `${bytes.length} bytes`,
        )
      }
    },
  },
  {
    name: 'getTree() returns the file list of a revision',
    async check(store) {
      const { revision, files } = putTree(store, 'tree')
      await store.flush()
      expect(JSON.stringify(await store.getTree(revision)) === JSON.stringify(files), 'the list is equal')
    },
  },
  {
    name: 'setRef() points a name at the newest revision, or removes it',
    async check(store) {
      const first = putTree(store, 'first').revision
      const second = putTree(store, 'second').revision
      store.setRef('name', first)
      expect(store.getRef('name') === first, 'readable at once')
      await store.flush()
      store.setRef('name', second)
      await store.flush()
      expect(store.getRef('name') === second, 'moved')
      store.setRef('name', undefined)
      expect(store.getRef('name') === undefined, 'removed at once')
      await store.flush()
      expect(store.getRef('name') === undefined, 'removed after flush()')
    },
  },
  {
    name: 'notes, if present, are returned as they were put, and only for stored revisions',
    async check(store) {
      const { notes } = store
      if (notes === undefined) return
      const { revision } = putTree(store, 'first')
      const facts = Float64Array.of(1.5, -2, 2 ** 40)
      const find = (location: string): string | undefined => {
        const note = notes.find('source', location)
        return note === undefined ? undefined : JSON.stringify([note.revision, [...note.facts], note.text])
      }
      notes.put('source', 'pdf', { revision, facts, text: 'Größe' })
      notes.put('source', 'lost', { revision: digestOf('lost', portableHasher), facts, text: '' })
      const expected = JSON.stringify([revision, [...facts], 'Größe'])
      expect(find('pdf') === expected, 'found at once')
      await store.flush()
      expect(find('pdf') === expected, 'found after flush()')
      expect(find('lost') === undefined, 'not found without its revision')
      expect(notes.find('other source', 'pdf') === undefined, 'not found for another source')
      notes.put('source', 'pdf', undefined)
      expect(find('pdf') === undefined, 'removed at once')
      await store.flush()
      expect(find('pdf') === undefined, 'removed after flush()')
    },
  },
  {
    name: 'put() during flush() loses nothing',
    async check(store) {
      const trees = Array.from({ length: 50 }, (_, index) => {
        const tree = putTree(store, `tree ${index}`)
        void store.flush()
        return tree
      })
      await store.flush()
      for (const { revision, files } of trees) {
        expect((await store.getTree(revision)) !== undefined, 'the tree is there')
        for (const { digest } of files) expect((await store.get(digest)) !== undefined, 'the bytes are there')
      }
    },
  },
  {
    name: 'close() can be called twice',
    async check(store) {
      await store.close()
      await store.close()
    },
  },
]

function putTree(
  store: SkillStore,
  content: string,
): { revision: ReturnType<typeof revisionOf>; files: SkillFile[] } {
  const bytes = encoder.encode(content)
  const digest = digestOf(bytes, portableHasher)
  const files: SkillFile[] = [{ path: 'SKILL.md', digest, size: bytes.length, isExecutable: false }]
  const revision = revisionOf(files, portableHasher)
  store.put(digest, bytes)
  store.putTree(revision, files)
  return { revision, files }
}

function text(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : decodeUnmarkedText(bytes)
}
