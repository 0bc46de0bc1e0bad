/** Kind of a directory entry. Links are not followed. */
export type FileKind = 'file' | 'directory' | 'link' | 'other'

/**
 * Size, times and inode of a file. If one of these values differs, the file has changed. Times are milliseconds with
 * fractions.
 */
export interface FileStat {
  /** The kind is never `link`, because links are followed. `other` is a FIFO, a device or a socket. */
  readonly kind: Exclude<FileKind, 'link'>
  readonly size: number
  readonly mtimeMs: number
  /** Time of the last inode change. Programs cannot set this time back. 0 if the medium has no such time. */
  readonly ctimeMs: number
  /**
   * Identity of the file. A file that replaces this file has a different inode number. 0 if the medium has no inode
   * numbers.
   */
  readonly ino: number
  readonly dev: number
  /**
   * Creation time of the inode. Distinguishes a new folder from a removed folder whose inode number was reused. 0 if
   * the medium has no such time.
   */
  readonly birthtimeMs: number
  readonly isExecutable: boolean
  /** Number of names (hard links) that the file has. */
  readonly links: number
}

export interface DirectoryEntry {
  readonly name: string
  readonly kind: FileKind
}

export interface FileReadOptions {
  /** Absolute folders. The resolved path of the opened file must be inside one of these folders. */
  readonly inside: readonly string[]
  /** Files larger than this many bytes are refused before any byte is read. */
  readonly maxBytes: number
  /** Aborts the read, if the medium can abort reads. */
  readonly signal?: AbortSignal
}

/** The bytes of one opened file, and the size, times and inode of the file. */
export interface OpenedFile {
  readonly bytes: Uint8Array
  /** State of the opened file. The state does not change if another file later takes the path. */
  readonly stat: FileStat
}

/** A value or a promise of the value. */
export type Awaitable<T> = T | PromiseLike<T>

/** Returns whether a value is a promise. Awaiting a plain value would cost more than most file system calls. */
export function isPending<T>(value: Awaitable<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | undefined)?.then === 'function'
}

/**
 * The files that a source reads: a disk, memory, or a remote system. Paths are absolute, in the notation of the file
 * system itself. The library appends names to paths with `/`.
 *
 * A method that takes microseconds returns its value directly. A slower method returns a promise. Every failure is a
 * `SkillError`: NOT_FOUND if nothing exists at the path, WRONG_KIND, OUTSIDE_ROOT, TOO_LARGE, or IO_FAILED for any
 * other error that the medium reports. A method never blocks for long and never waits for the writer of a FIFO.
 */
export interface FileSystem {
  /**
   * Identifies the files that this file system reads. Two objects with the same identity show the same files, so
   * sources that use these objects can share one read of each file. @default each object counts as different
   */
  readonly identity?: string
  /** Returns the entries of a directory in any order. */
  list(path: string): readonly DirectoryEntry[] | PromiseLike<readonly DirectoryEntry[]>
  /** Returns the size, times and inode of the file or directory at the path. Follows links. */
  stat(path: string): FileStat | PromiseLike<FileStat>
  /**
   * Opens the file, verifies that the opened file is a regular file inside `options.inside`, and then reads the whole
   * file.
   */
  read(path: string, options: FileReadOptions): OpenedFile | PromiseLike<OpenedFile>
  /** Returns the path with all links resolved. */
  resolve(path: string): string | PromiseLike<string>
  /**
   * Calls `onEvent` after each change of a direct child of the directory. One call may report several changes. The
   * watch is active when the method returns. This method is absent if the medium cannot report changes.
   * @throws {SkillError} NOT_WATCHABLE with the reason
   */
  watch?(path: string, onEvent: () => void, onError: (error: Error) => void): () => void
  /** Returns the reason why changes below this path cannot be reported, or `undefined` if they can be reported. */
  findWatchFault?(path: string): string | undefined
  /** Converts a path to the native notation of the machine that has the files. @default unchanged */
  toNativePath?(path: string): string
  /**
   * Called in long loops. Yields to the event loop if the loop was blocked for long; returns `undefined` if there is no
   * need to yield.
   */
  pace?(): Promise<void> | undefined
  /**
   * Resolves when the watch callbacks of all earlier changes have run. This method is absent if the file system cannot
   * wait for these callbacks. In this case, each request compares the size, times and inode of every file.
   */
  drain?(): Promise<void>
}

/** Returns the stat of a file or directory, or `undefined` if the path is missing or cannot be reached. */
export async function statIfThere(fileSystem: FileSystem, path: string): Promise<FileStat | undefined> {
  try {
    return await fileSystem.stat(path)
  } catch {
    return undefined
  }
}

/** Returns whether two stats describe the same state of the same file. */
export function isSameStat(a: FileStat, b: FileStat): boolean {
  return (
    a.mtimeMs === b.mtimeMs &&
    a.ctimeMs === b.ctimeMs &&
    a.size === b.size &&
    isSameInode(a, b) &&
    a.kind === b.kind &&
    a.isExecutable === b.isExecutable
  )
}

/** Returns whether two stats belong to the same file or folder, even if its content differs. */
export function isSameInode(a: FileStat, b: FileStat): boolean {
  return a.ino === b.ino && isSameDevice(a.dev, b.dev) && a.birthtimeMs === b.birthtimeMs
}

/**
 * On Windows, Node 22.12 to 22.16, 24.0 and 24.1 report the device only for opened files. If a file is not open, these
 * versions of Node report the device 0.
 */
function isSameDevice(a: number, b: number): boolean {
  return a === b || a === 0 || b === 0
}

/** Returns a whole number as a small integer. Node returns every number as a double, which takes more memory. */
export function toCompact(value: number): number {
  const whole = value | 0
  return whole === value ? whole : value
}
