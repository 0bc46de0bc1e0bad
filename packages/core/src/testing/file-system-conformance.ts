import { decodeUnmarkedText } from '../internal-entry.ts'
import type { FileSystem, WritableFileSystem } from '../source-entry.ts'
import { type ConformanceCase, expect, expectCode, expectEqual } from './conformance.ts'

/** A file system under test, with an empty folder in it. */
export interface FileSystemSubject {
  readonly fileSystem: FileSystem
  /** The same file system with write access. If `writable` is present, the rules for writing are also tested. */
  readonly writable?: WritableFileSystem
  /** Absolute path of the empty folder. */
  readonly root: string
  /** Creates a file and its parent folders, without using the file system under test. */
  readonly put: (path: string, content: string | Uint8Array) => void | Promise<void>
  /** Removes a file or folder, without using the file system under test. */
  readonly remove: (path: string) => void | Promise<void>
}

const MAX = 1_000_000

/**
 * The rules of `FileSystem` as test cases, for any test runner. Call `check` with a fresh subject for each case.
 *
 * @example
 * ```ts
 * import { MemoryFileSystem } from '@skillstoke/core/source'
 * import { fileSystemConformance } from '@skillstoke/core/testing'
 *
 * for (const { check } of fileSystemConformance) {
 *   const files = new MemoryFileSystem({ '/root/.keep': '' })
 *   files.remove('/root/.keep')
 *   const put = (path: string, content: string | Uint8Array) => files.write(path, content)
 *   await check({ fileSystem: files, writable: files, root: '/root', put, remove: path => files.remove(path) })
 * }
 * ```
 */
export const fileSystemConformance: readonly ConformanceCase<FileSystemSubject>[] = [
  {
    name: 'list() returns the names and kinds of the direct entries of a folder',
    async check({ fileSystem, root, put }) {
      await put(`${root}/b.md`, 'b')
      await put(`${root}/a/deep/c.md`, 'c')
      const entries = [...(await fileSystem.list(root))].sort((a, b) => (a.name < b.name ? -1 : 1))
      expectEqual(
        entries.map(({ name, kind }) => [name, kind]),
        [
          ['a', 'directory'],
          ['b.md', 'file'],
        ],
        'entries',
      )
    },
  },
  {
    name: 'read() returns the bytes of a file unchanged, and its facts',
    async check({ fileSystem, root, put }) {
      const all = Uint8Array.from({ length: 70_000 }, (_, index) => index % 251)
      await put(`${root}/all.bin`, all)
      await put(`${root}/empty`, '')
      const { bytes, stat } = await fileSystem.read(`${root}/all.bin`, {
        inside: [await real(fileSystem, root)],
        maxBytes: MAX,
      })
      expect(
        bytes.length === all.length && all.every((byte, index) => bytes[index] === byte),
        'the same bytes',
      )
      expectEqual([stat.kind, stat.size], ['file', all.length], 'facts')
      const empty = await fileSystem.read(`${root}/empty`, {
        inside: [await real(fileSystem, root)],
        maxBytes: MAX,
      })
      expectEqual(empty.bytes.length, 0, 'an empty file')
    },
  },
  {
    name: 'stat() finds a non-ASCII name as list() returns it',
    async check({ fileSystem, root, put }) {
      await put(`${root}/日本 ü.md`, 'text')
      const [entry] = await fileSystem.list(root)
      const { kind } = await fileSystem.stat(`${root}/${entry?.name}`)
      expectEqual(kind, 'file', 'the listed name')
    },
  },
  {
    name: 'list(), stat() and read() of a missing path fail with NOT_FOUND',
    async check({ fileSystem, root }) {
      const path = `${root}/none/none.md`
      await expectCode(async () => await fileSystem.list(path), 'NOT_FOUND', 'list()')
      await expectCode(async () => await fileSystem.stat(path), 'NOT_FOUND', 'stat()')
      await expectCode(
        async () => await fileSystem.read(path, { inside: [root], maxBytes: MAX }),
        'NOT_FOUND',
        'read()',
      )
    },
  },
  {
    name: 'read() refuses folders, files over the limit, and files outside of the allowed folders',
    async check({ fileSystem, root, put }) {
      await put(`${root}/in/a.md`, '0123456789')
      await put(`${root}/in-other/a.md`, 'other')
      const inside = [await real(fileSystem, `${root}/in`)]
      await expectCode(
        async () => await fileSystem.read(`${root}/in`, { inside, maxBytes: MAX }),
        'WRONG_KIND',
        'a folder',
      )
      await expectCode(
        async () => await fileSystem.read(`${root}/in/a.md`, { inside, maxBytes: 9 }),
        'TOO_LARGE',
        'ten bytes of nine',
      )
      expectEqual(
        (await fileSystem.read(`${root}/in/a.md`, { inside, maxBytes: 10 })).bytes.length,
        10,
        'ten of ten',
      )
      await expectCode(
        async () => await fileSystem.read(`${root}/in-other/a.md`, { inside, maxBytes: MAX }),
        'OUTSIDE_ROOT',
        'a folder whose name begins in the same way',
      )
    },
  },
  {
    name: 'stat() and read() show changed bytes, a changed size, a removal and a new file',
    async check({ fileSystem, root, put, remove }) {
      const path = `${root}/a.md`
      const read = async (): Promise<string> =>
        decodeUnmarkedText(
          (await fileSystem.read(path, { inside: [await real(fileSystem, root)], maxBytes: MAX })).bytes,
        )
      await put(path, 'one')
      const before = await fileSystem.stat(path)
      await put(path, 'longer')
      expectEqual([await read(), (await fileSystem.stat(path)).size], ['longer', 6], 'after a change')
      expect(before.size !== (await fileSystem.stat(path)).size, 'the facts differ')
      await remove(path)
      await expectCode(async () => await fileSystem.stat(path), 'NOT_FOUND', 'after the removal')
      await put(path, 'two')
      expectEqual(await read(), 'two', 'after it came back')
    },
  },
  {
    name: 'write() replaces whole files, creates folders, and leaves no temporary file',
    async check({ writable, root }) {
      if (writable === undefined) return
      const write = async (path: string, text: string): Promise<void> =>
        await writable.write(path, new TextEncoder().encode(text), { inside: root })
      const read = async (path: string): Promise<string> =>
        decodeUnmarkedText(
          (await writable.read(path, { inside: [await real(writable, root)], maxBytes: MAX })).bytes,
        )
      await write(`${root}/a/b/c.md`, 'one')
      await write(`${root}/a/b/c.md`, 'two')
      expectEqual(await read(`${root}/a/b/c.md`), 'two', 'the new content')
      expectEqual((await writable.list(`${root}/a/b`)).length, 1, 'nothing left beside it')
      await writable.move(`${root}/a`, `${root}/z/a`, { inside: root })
      expectEqual(await read(`${root}/z/a/b/c.md`), 'two', 'moved')
      await expectCode(async () => await writable.stat(`${root}/a`), 'NOT_FOUND', 'the old path')
      await write(`${root}/a/x.md`, 'x')
      await expectCode(
        async () => await writable.move(`${root}/a`, `${root}/z/a`, { inside: root }),
        'IO_FAILED',
        'an occupied path',
      )
      await expectCode(
        async () => await writable.write(`${root}-other/x.md`, new Uint8Array(), { inside: root }),
        'OUTSIDE_ROOT',
        'a sibling folder',
      )
    },
  },
]

async function real(fileSystem: FileSystem, path: string): Promise<string> {
  return await fileSystem.resolve(path)
}
