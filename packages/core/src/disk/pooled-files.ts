import { close, constants, fstat, open, read, readdir, readlink, realpath, type Stats, stat } from 'node:fs'
import { promisify } from 'node:util'
import type { DirectoryEntry, FileReadOptions, FileStat, OpenedFile } from '../source-entry.ts'
import {
  assertInside,
  assertReadable,
  assertSame,
  isLinux,
  toEntries,
  toSlashes,
  toStat,
} from './disk-facts.ts'

const openAsync = promisify(open)
const fstatAsync = promisify(fstat)
const readAsync = promisify(read)
const closeAsync = promisify(close)
const statAsync = promisify(stat)
const readdirAsync = promisify(readdir)
const readlinkAsync = promisify(readlink)
const realpathAsync = promisify(realpath.native)

/**
 * Reads the disk in the thread pool, so that a slow disk delays only the caller. Makes the same checks as
 * `directFiles`, in the same order.
 */
export const pooledFiles = {
  async list(path: string): Promise<readonly DirectoryEntry[]> {
    return toEntries(await readdirAsync(path, { withFileTypes: true }))
  },

  async stat(path: string): Promise<FileStat> {
    return toStat(await statAsync(path))
  },

  async resolve(path: string): Promise<string> {
    return toSlashes(await realpathAsync(path))
  },

  async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    const descriptor = await openAsync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stats = await fstatAsync(descriptor)
      assertReadable(path, stats, options.maxBytes)
      const realPath = await findRealPath(path, descriptor)
      assertInside(realPath, options)
      if (!isLinux) assertSame(path, stats, await statAsync(realPath))
      return { bytes: await readWhole(descriptor, stats), stat: toStat(stats) }
    } finally {
      await closeAsync(descriptor)
    }
  },
}

async function findRealPath(path: string, descriptor: number): Promise<string> {
  return isLinux ? await readlinkAsync(`/proc/self/fd/${descriptor}`) : await realpathAsync(path)
}

async function readWhole(descriptor: number, { size }: Stats): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(size)
  let length = 0
  while (length < size) {
    const { bytesRead } = await readAsync(descriptor, buffer, length, size - length, null)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return length === size ? buffer : buffer.subarray(0, length)
}
