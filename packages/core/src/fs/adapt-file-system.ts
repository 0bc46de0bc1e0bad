import { SkillError, toMessage } from '../errors.ts'
import { type Clock, LATE, systemClock, untilAborted, waitAtMost } from '../host.ts'
import { isInside } from '../is-inside.ts'
import { checkOptions, type KnownOptions, number, oneOf } from '../options.ts'
import { quote } from '../quote.ts'
import { Turns } from '../turns.ts'
import type { DirectoryEntry, FileReadOptions, FileStat, FileSystem, OpenedFile } from './file-system.ts'

/** Kind, size and modification time of one file or directory. */
export interface SimpleStat {
  readonly kind: 'file' | 'directory' | 'other'
  /** Size in bytes, not characters. If the size is absent, the file is read to find its size. */
  readonly size?: number
  /**
   * Time of the last change, in milliseconds since the epoch. If the time is absent, the source reads the file at each
   * scan and compares its bytes.
   */
  readonly mtimeMs?: number
  /** @default false */
  readonly isExecutable?: boolean
}

/**
 * The three functions that `adaptFileSystem()` needs. Every path begins with the `root` of the source. If nothing
 * exists at the path, a method throws or returns `undefined`.
 */
export interface SimpleFiles {
  list(path: string): Promise<readonly DirectoryEntry[] | undefined>
  stat(path: string): Promise<SimpleStat | undefined>
  /**
   * Reads the whole file. The method may stop as soon as it has read one byte more than `maxBytes`. The method should
   * stop reading when the signal aborts.
   */
  read(
    path: string,
    options: { readonly maxBytes: number; readonly signal: AbortSignal },
  ): Promise<Uint8Array | undefined>
  /** Returns the path with links resolved. If this method is absent, paths are assumed to contain no links. */
  resolve?(path: string): Promise<string | undefined>
}

const SEPARATORS = ['/', '\\'] as const

export interface AdaptFileSystemOptions {
  /**
   * Value for `FileSystem.identity`, for example the address of a bucket together with the account that reads the
   * bucket. @default none
   */
  readonly identity?: string
  /** The separator in native paths. @default '/' */
  readonly separator?: (typeof SEPARATORS)[number]
  /** Deadline of one call, in milliseconds; `Infinity` sets no deadline. @default 30,000 */
  readonly timeoutMs?: number
  /** Largest number of concurrent calls. Further calls wait. @default 8 */
  readonly concurrency?: number
  /**
   * Returns whether a thrown value means that nothing exists at the path. @default true for `ENOENT`, `ENOTDIR`, the
   * codes `ERR_FILE_NOT_FOUND`, `NoSuchKey` and `NotFound`, and the status 404
   */
  readonly isMissing?: (thrown: unknown) => boolean
  readonly clock?: Clock
}

const KNOWN: KnownOptions<AdaptFileSystemOptions> = {
  identity: true,
  separator: oneOf(SEPARATORS),
  timeoutMs: number(1),
  concurrency: number(1),
  isMissing: true,
  clock: true,
}

export const DEFAULT_FILE_TIMEOUT_MS = 30_000
const DEFAULT_CONCURRENCY = 8

/**
 * Creates a file system from three functions, for example over a database, a bucket, an API or a remote disk.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { adaptFileSystem, FileSource } from '@skillstoke/core/source'
 *
 * const folders = new Map([['/skills', ['greet']], ['/skills/greet', ['SKILL.md']]])
 * const kindOf = (path: string) => (folders.has(path) ? 'directory' : 'file')
 * const fileSystem = adaptFileSystem({
 *   list: async path => folders.get(path)?.map(name => ({ name, kind: kindOf(`${path}/${name}`) })),
 *   stat: async path => ({ kind: kindOf(path) }),
 *   read: async () => new TextEncoder().encode('---\nname: greet\ndescription: Use when greeting.\n---\nSay hello.\n'),
 * })
 * const source = new FileSource({ fileSystem, root: '/skills', label: 'api' })
 * await using skills = await createSkillRuntime({ sources: [source] })
 * console.log((await skills.load('greet')).body) // prints Say hello.
 * ```
 */
export function adaptFileSystem(files: SimpleFiles, options: AdaptFileSystemOptions = {}): FileSystem {
  return new AdaptedFileSystem(files, options)
}

class AdaptedFileSystem implements FileSystem {
  readonly identity?: string
  readonly #files: SimpleFiles
  readonly #options: Required<Omit<AdaptFileSystemOptions, 'identity' | 'concurrency'>>
  readonly #turns: Turns

  constructor(files: SimpleFiles, options: AdaptFileSystemOptions) {
    checkOptions('adaptFileSystem()', options, KNOWN)
    for (const name of ['list', 'stat', 'read'] as const) {
      if (typeof (files as Partial<SimpleFiles> | undefined)?.[name] !== 'function')
        throw new SkillError(
          'INVALID_OPTION',
          `files.${name} is ${typeof files?.[name]}; it must be a function`,
        )
    }
    if (options.identity !== undefined) this.identity = options.identity
    this.#files = files
    this.#turns = new Turns(options.concurrency ?? DEFAULT_CONCURRENCY)
    this.#options = {
      separator: options.separator ?? '/',
      timeoutMs: options.timeoutMs ?? DEFAULT_FILE_TIMEOUT_MS,
      isMissing: options.isMissing ?? isMissing,
      clock: options.clock ?? systemClock,
    }
  }

  async list(path: string): Promise<readonly DirectoryEntry[]> {
    const entries = await this.#call(path, native => this.#files.list(native))
    return entries.filter(({ name }) => name !== '.' && name !== '..')
  }

  async stat(path: string): Promise<FileStat> {
    return toStat(await this.#call(path, native => this.#files.stat(native)))
  }

  async read(path: string, { inside, maxBytes, signal }: FileReadOptions): Promise<OpenedFile> {
    signal?.throwIfAborted()
    const real = await this.resolve(path)
    if (!inside.some(folder => isInside(this.#normalize(real), this.#normalize(folder)))) {
      throw new SkillError(
        'OUTSIDE_ROOT',
        `it leads to ${quote(real)}, which is outside ${inside.join(', ')}`,
      )
    }
    const before = await this.stat(real)
    if (before.kind !== 'file') throw new SkillError('WRONG_KIND', `${quote(path)} is not a regular file`)
    assertSmall(path, before.size, maxBytes)
    const abort = new AbortController()
    const options = { maxBytes, signal: abort.signal }
    const onAbort = (): void => abort.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      const work = this.#call(real, native => this.#files.read(native, options), abort)
      const bytes = await untilAborted(abort.signal, work)
      assertSmall(path, bytes.length, maxBytes)
      return { bytes: new Uint8Array(bytes), stat: this.#checkSize(path, before, bytes.length) }
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  async resolve(path: string): Promise<string> {
    if (this.#files.resolve === undefined) return path
    return await this.#call(path, native => this.#files.resolve?.(native) ?? Promise.resolve(native))
  }

  toNativePath(path: string): string {
    return this.#options.separator === '/' ? path : path.replace(/[\\/]+/g, '\\')
  }

  /**
   * Returns the file's state with the size of the bytes that were read. Throws if the file system reported a different
   * size. Otherwise, the file would seem to change at each scan.
   */
  #checkSize(path: string, stat: FileStat, size: number): FileStat {
    if (stat.size === size || stat.size === UNKNOWN_SIZE) return stat
    throw new SkillError(
      'IO_FAILED',
      `${quote(path)}: stat() says ${stat.size} bytes and read() gave ${size}; sizes are in bytes, not characters`,
    )
  }

  #normalize(path: string): string {
    const slashed = this.#options.separator === '/' ? path : path.replaceAll('\\', '/')
    return slashed.replace(/\/+/g, '/').replace(/(?<=.)\/$/, '')
  }

  async #call<T>(
    path: string,
    call: (native: string) => Promise<T | undefined>,
    abort?: AbortController,
  ): Promise<T> {
    const { clock, timeoutMs, isMissing: isNothing } = this.#options
    return await this.#turns.run(async () => {
      const work = (async () => await call(this.toNativePath(path)))().catch((thrown: unknown) => {
        if (SkillError.isInstance(thrown)) throw thrown
        if (isNothing(thrown)) return undefined
        throw new SkillError('IO_FAILED', `${quote(path)}: ${toMessage(thrown)}`, { cause: thrown })
      })
      const result = await waitAtMost(clock, timeoutMs, work)
      if (result === LATE) {
        const late = new SkillError('IO_FAILED', `${quote(path)}: no answer after ${timeoutMs} ms`)
        abort?.abort(late)
        throw late
      }
      if (result === undefined) throw new SkillError('NOT_FOUND', `there is nothing at ${quote(path)}`)
      return result
    })
  }
}

// Placeholder if the file system reports no size. The real size is known after the file was read.
const UNKNOWN_SIZE = 0

function toStat(stat: SimpleStat): FileStat {
  return {
    kind: stat.kind,
    size: stat.size ?? UNKNOWN_SIZE,
    // A file without a modification time could change unnoticed. The time `Infinity` makes the source compare the
    // file's bytes at each scan.
    mtimeMs: stat.mtimeMs ?? Number.POSITIVE_INFINITY,
    ctimeMs: 0,
    birthtimeMs: 0,
    ino: 0,
    dev: 0,
    links: 1,
    isExecutable: stat.isExecutable ?? false,
  }
}

function assertSmall(path: string, size: number, maxBytes: number): void {
  if (size <= maxBytes) return
  throw new SkillError('TOO_LARGE', `${quote(path)} has ${size} bytes; at most ${maxBytes} are read`)
}

function isMissing(thrown: unknown): boolean {
  const { code, name, status } = (thrown ?? {}) as Record<string, unknown>
  return (
    ['ENOENT', 'ENOTDIR', 'ERR_FILE_NOT_FOUND', 'NoSuchKey', 'NotFound'].some(
      each => each === code || each === name,
    ) || status === 404
  )
}
