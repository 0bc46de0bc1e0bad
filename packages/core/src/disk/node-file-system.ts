import { statfsSync, watch } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import type { Awaitable, FileSystem } from '../fs/file-system.ts'
import { SkillError } from '../index.ts'
import { quote, toMessage } from '../internal-entry.ts'
import type { FileReadOptions, FileWriteOptions, WritableFileSystem } from '../source-entry.ts'
import { moveInside, removeInside, writeWhole } from './atomic-write.ts'
import { directFiles } from './direct-files.ts'
import { describeHeld, isLinux, isNode, isWindows, toSkillError } from './disk-facts.ts'
import { HeldFolders } from './held-folders.ts'
import { pooledFiles } from './pooled-files.ts'

// Maximum time that work may block the event loop, in milliseconds.
const SLICE_MS = 4
// An average call time above this value indicates a cold or remote disk. One call counts for at most four times this
// value, because a call also takes long when the process waits for a processor.
const SLOW_CALL_MS = 0.1
const LONGEST_COUNTED_MS = 4 * SLOW_CALL_MS
const AVERAGE_WEIGHT = 0.01
const RETRY_DIRECT_AFTER_CALLS = 2_000

// Linux file system types (`statfs(2)`) on which writes by other machines cause no event on this machine.
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

/**
 * The disk of this machine. Calls run synchronously, in slices of a few milliseconds. With a warm cache, synchronous
 * calls are many times faster. If the disk is slow, calls go to the thread pool until the disk is fast again.
 *
 * @example
 * ```ts
 * import { resolve } from 'node:path'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { NodeFileSystem } from '@skillstoke/core/node'
 * import { FileSource } from '@skillstoke/core/source'
 *
 * const source = new FileSource({ fileSystem: new NodeFileSystem(), root: resolve('./skills'), label: 'mine' })
 * await using skills = await createSkillRuntime({ sources: [source] })
 * console.log(skills.current.list().map(skill => skill.name)) // prints [ 'support-pdf' ]
 * ```
 */
export class NodeFileSystem implements WritableFileSystem {
  /**
   * All instances share an identity, because they read the same disk. A subclass has no identity, because it may read
   * files that are not on this disk.
   */
  readonly identity?: string
  /**
   * This method exists only with Node on Linux, because other runtimes and other systems deliver file events with a
   * delay.
   */
  readonly drain?: () => Promise<void>
  readonly #held = new HeldFolders()
  readonly #watchFaults = new Map<string, string | undefined>()
  #sliceStart = 0
  #turn: Promise<void> | undefined
  #averageMs = 0
  #pooledCalls = 0

  constructor() {
    if (new.target === NodeFileSystem) this.identity = 'disk'
    if (isLinux && isNode) this.drain = drainEvents
  }

  list(path: string): ReturnType<FileSystem['list']> {
    return this.#call(path, files => files.list(path))
  }

  stat(path: string): ReturnType<FileSystem['stat']> {
    return this.#call(path, files => files.stat(path))
  }

  resolve(path: string): ReturnType<FileSystem['resolve']> {
    return this.#call(path, files => files.resolve(path))
  }

  read(path: string, options: FileReadOptions): ReturnType<FileSystem['read']> {
    return this.#call(path, files => files.read(path, options))
  }

  async write(path: string, content: Uint8Array, options: FileWriteOptions): Promise<void> {
    try {
      writeWhole(path, content, options)
    } catch (thrown) {
      throw toSkillError(thrown, path)
    }
  }

  async move(from: string, to: string, { inside }: Pick<FileWriteOptions, 'inside'>): Promise<void> {
    this.#held.release(from)
    try {
      moveInside(from, to, inside)
    } catch (thrown) {
      throw describeHeld(thrown, from)
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
      if (!isWindows) return () => watcher.close()
      const forget = this.#held.add(path, () => onError(new Error('the folder was moved')))
      return () => {
        forget()
        watcher.close()
      }
    } catch (thrown) {
      throw new SkillError('NOT_WATCHABLE', `${quote(path)} cannot be watched: ${toMessage(thrown)}`, {
        cause: thrown,
      })
    }
  }

  toNativePath(path: string): string {
    return isWindows ? path.replaceAll('/', '\\') : path
  }

  findWatchFault(path: string): string | undefined {
    if (!isLinux) return undefined
    if (this.#watchFaults.has(path)) return this.#watchFaults.get(path)
    try {
      const name = REMOTE_TYPES.get(statfsSync(path).type)
      const fault = name === undefined ? undefined : `${name} does not report changes made on other machines`
      this.#watchFaults.set(path, fault)
      return fault
    } catch {
      return undefined // does not exist yet, so the next call checks again
    }
  }

  /**
   * Yields to the event loop after each slice of work. All callers wait for the same turn of the event loop, so that
   * they share one slice after this turn.
   */
  pace(): Promise<void> | undefined {
    if (this.#turn === undefined && performance.now() - this.#sliceStart < SLICE_MS) return undefined
    this.#turn ??= setImmediate().then(() => {
      this.#turn = undefined
      this.#sliceStart = performance.now()
    })
    return this.#turn
  }

  #call<T>(
    path: string,
    run: (files: typeof directFiles | typeof pooledFiles) => Awaitable<T>,
  ): Awaitable<T> {
    if (this.#averageMs >= SLOW_CALL_MS) return this.#callPooled(path, run)
    const turn = this.pace()
    return turn === undefined ? this.#callDirectly(path, run) : turn.then(() => this.#callDirectly(path, run))
  }

  #callDirectly<T>(path: string, run: (files: typeof directFiles) => Awaitable<T>): Awaitable<T> {
    const start = performance.now()
    try {
      return run(directFiles)
    } catch (thrown) {
      throw toSkillError(thrown, path)
    } finally {
      const countedMs = Math.min(LONGEST_COUNTED_MS, performance.now() - start)
      this.#averageMs += AVERAGE_WEIGHT * (countedMs - this.#averageMs)
      this.#pooledCalls = 0
    }
  }

  async #callPooled<T>(path: string, run: (files: typeof pooledFiles) => Awaitable<T>): Promise<T> {
    try {
      return await run(pooledFiles)
    } catch (thrown) {
      throw toSkillError(thrown, path)
    } finally {
      if (++this.#pooledCalls >= RETRY_DIRECT_AFTER_CALLS) this.#averageMs = 0
    }
  }
}

/**
 * The kernel queues the event of a write before the write returns, so the next poll of the event loop delivers this
 * event. Waits for two iterations of the event loop, because the current iteration may have polled already.
 */
async function drainEvents(): Promise<void> {
  await setImmediate()
  await setImmediate()
}
