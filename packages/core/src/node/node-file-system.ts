import { constants, type Dirent, type Stats, statfsSync, watch } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { SkillError } from '../index.ts'
import { toMessage } from '../internal-entry.ts'
import type {
  DirectoryEntry,
  FileKind,
  FileReadOptions,
  FileStat,
  FileWriteOptions,
  OpenedFile,
  WritableFileSystem,
} from '../source-entry.ts'
import { moveInside, removeInside, writeWhole } from './atomic-write.ts'
import { directOperations, type FileOperations, pooledOperations } from './file-operations.ts'

// The event loop is given back after this much work in a row.
const SLICE_MS = 4
// A moving average of calls above this means a cold or remote disk; below the lower mark the cache is warm again.
const SLOW_CALL_MS = 0.4
const AVERAGE_WEIGHT = 0.03
const RETRY_DIRECT_AFTER_CALLS = 2_000

const EXECUTABLE_BY_OWNER = 0o100

// File systems on which other machines write without an event here (Linux, `statfs(2)`).
const REMOTE_TYPES: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB2'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9p'],
  [0x65735546, 'FUSE'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
])

const isLinux = process.platform === 'linux'

/**
 * The disk. Calls are made directly, in slices of a few milliseconds, because that is many times faster on a warm
 * cache; when the disk proves slow they go to the thread pool until it is fast again.
 */
export class NodeFileSystem implements WritableFileSystem {
  /** There is one disk; what a subclass makes of it is its own. */
  readonly identity?: string
  readonly #watchFaults = new Map<string, string | undefined>()
  #sliceStart = 0
  #turn: Promise<void> | undefined
  #averageMs = 0
  #pooledCalls = 0

  constructor() {
    if (new.target === NodeFileSystem) this.identity = 'disk'
  }

  async list(path: string): Promise<readonly DirectoryEntry[]> {
    const entries = await this.#call(path, operations => operations.list(path))
    return entries.map(entry => ({ name: entry.name, kind: toKind(entry) }))
  }

  async stat(path: string): Promise<FileStat> {
    return toStat(await this.#call(path, operations => operations.stat(path)))
  }

  async resolve(path: string): Promise<string> {
    return await this.#call(path, operations => operations.realpath(path))
  }

  async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    return await this.#call(path, async operations => {
      // Not blocking, so that a pipe without a writer opens at once and is then refused.
      const descriptor = await operations.open(path, constants.O_RDONLY | constants.O_NONBLOCK)
      try {
        const stats = await operations.fstat(descriptor)
        if (!stats.isFile())
          throw new SkillError('WRONG_KIND', `${JSON.stringify(path)} is not a regular file`)
        await verifyInside(path, descriptor, stats, options.inside, operations)
        if (stats.size > options.maxBytes) {
          throw new SkillError(
            'TOO_LARGE',
            `${JSON.stringify(path)} has ${stats.size} bytes; at most ${options.maxBytes} are read`,
          )
        }
        return { bytes: await readWhole(descriptor, stats.size, operations), stat: toStat(stats) }
      } finally {
        await operations.close(descriptor)
      }
    })
  }

  async write(path: string, content: Uint8Array, options: FileWriteOptions): Promise<void> {
    try {
      writeWhole(path, content, options)
    } catch (thrown) {
      throw toSkillError(thrown, path)
    }
  }

  async move(from: string, to: string, { inside }: Pick<FileWriteOptions, 'inside'>): Promise<void> {
    try {
      moveInside(from, to, inside)
    } catch (thrown) {
      throw toSkillError(thrown, from)
    }
  }

  async remove(path: string, { inside }: Pick<FileWriteOptions, 'inside'>): Promise<void> {
    try {
      removeInside(path, inside)
    } catch (thrown) {
      const error = toSkillError(thrown, path)
      if (error.code !== 'NOT_FOUND') throw error
    }
  }

  watch(path: string, onEvent: () => void, onError: (error: Error) => void): () => void {
    try {
      const watcher = watch(path, { persistent: false })
      watcher.on('change', onEvent)
      watcher.on('error', onError)
      return () => watcher.close()
    } catch (thrown) {
      throw new SkillError(
        'NOT_WATCHABLE',
        `${JSON.stringify(path)} cannot be watched: ${toMessage(thrown)}`,
        { cause: thrown },
      )
    }
  }

  findWatchFault(path: string): string | undefined {
    if (!isLinux) return undefined
    if (this.#watchFaults.has(path)) return this.#watchFaults.get(path)
    try {
      const name = REMOTE_TYPES.get(statfsSync(path).type)
      const fault = name === undefined ? undefined : `${name} reports no changes made elsewhere`
      this.#watchFaults.set(path, fault)
      return fault
    } catch {
      return undefined // not there yet: asked again when it is
    }
  }

  /**
   * The kernel queues an event before the writing call returns, so letting the event loop poll once delivers it. Two
   * turns, because the first may begin after this iteration has polled.
   */
  async drain(): Promise<void> {
    await setImmediate()
    await setImmediate()
  }

  /** Gives the event loop back after each slice. Everybody waits for the same turn, or each would take a slice of its own. */
  async pace(): Promise<void> {
    if (this.#turn === undefined && performance.now() - this.#sliceStart < SLICE_MS) return
    this.#turn ??= setImmediate().then(() => {
      this.#turn = undefined
      this.#sliceStart = performance.now()
    })
    await this.#turn
  }

  async #call<T>(path: string, run: (operations: FileOperations) => T | Promise<T>): Promise<T> {
    const isDirect = this.#averageMs < SLOW_CALL_MS
    if (isDirect) await this.pace()
    const start = performance.now()
    try {
      return await run(isDirect ? directOperations : pooledOperations)
    } catch (thrown) {
      throw toSkillError(thrown, path)
    } finally {
      if (isDirect) {
        this.#averageMs += AVERAGE_WEIGHT * (performance.now() - start - this.#averageMs)
        this.#pooledCalls = 0
      } else if (++this.#pooledCalls >= RETRY_DIRECT_AFTER_CALLS) this.#averageMs = 0
    }
  }
}

/**
 * Open first, then ask what was opened: a path that was checked before it was opened can lead elsewhere by then.
 * On Linux the kernel names the opened file; elsewhere the resolved path must still be the same file, which is
 * narrower than a check before but not closed.
 */
async function verifyInside(
  path: string,
  descriptor: number,
  stats: Stats,
  inside: readonly string[],
  operations: FileOperations,
): Promise<void> {
  const realPath = isLinux
    ? await operations.readlink(`/proc/self/fd/${descriptor}`)
    : await operations.realpath(path)
  if (!inside.some(folder => isInside(realPath, folder))) {
    throw new SkillError(
      'OUTSIDE_ROOT',
      `it leads to ${JSON.stringify(realPath)}, which is outside ${inside.map(each => JSON.stringify(each)).join(' and ')}`,
    )
  }
  if (isLinux) return
  const now = await operations.stat(realPath)
  if (now.ino !== stats.ino || now.dev !== stats.dev) {
    throw new SkillError('OUTSIDE_ROOT', `${JSON.stringify(path)} was replaced while it was opened`)
  }
}

/** Reads as many bytes as the opened file stated; a file that grows meanwhile is caught by its new facts. */
async function readWhole(descriptor: number, size: number, operations: FileOperations): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(size)
  let length = 0
  while (length < size) {
    const count = await operations.read(descriptor, buffer, length)
    if (count === 0) break
    length += count
  }
  return length === size ? buffer : buffer.subarray(0, length)
}

function isInside(path: string, folder: string): boolean {
  if (path === folder) return true
  const separator = process.platform === 'win32' ? '\\' : '/'
  return path.startsWith(folder.endsWith(separator) ? folder : `${folder}${separator}`)
}

function toKind(entry: Dirent): FileKind {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  return entry.isSymbolicLink() ? 'link' : 'other'
}

function toStat(stats: Stats): FileStat {
  return {
    kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other',
    size: stats.size,
    mtimeMs: stats.mtimeMs,
    ctimeMs: stats.ctimeMs,
    ino: stats.ino,
    dev: stats.dev,
    birthtimeMs: stats.birthtimeMs,
    links: stats.nlink,
    isExecutable: (stats.mode & EXECUTABLE_BY_OWNER) !== 0,
  }
}

function toSkillError(thrown: unknown, path: string): SkillError {
  if (SkillError.isInstance(thrown)) return thrown
  const code = (thrown as NodeJS.ErrnoException).code
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new SkillError('NOT_FOUND', `there is nothing at ${JSON.stringify(path)}`, {
      cause: thrown,
      data: { path },
    })
  }
  return new SkillError('IO_FAILED', `${JSON.stringify(path)}: ${toMessage(thrown)}`, {
    cause: thrown,
    data: { path, code },
  })
}
