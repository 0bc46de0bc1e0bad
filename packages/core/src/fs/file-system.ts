/** What an entry of a directory is, links not followed. */
export type FileKind = 'file' | 'directory' | 'link' | 'other'

/** The facts that tell one state of a file from another. Times are milliseconds with their fractions. */
export interface FileStat {
  /** Links are followed, so never `link`. `other` is a FIFO, a device or a socket. */
  readonly kind: Exclude<FileKind, 'link'>
  readonly size: number
  readonly mtimeMs: number
  /** When the inode last changed; cannot be set back by a program. 0 where there is no such time. */
  readonly ctimeMs: number
  /** Identity of the file; a replaced file has another one. 0 where there is none. */
  readonly ino: number
  readonly dev: number
  /** When the inode was made: tells a new folder from a removed one whose number it got. 0 where there is no such time. */
  readonly birthtimeMs: number
  readonly isExecutable: boolean
  /** How many names the file has; more than one for hard links. */
  readonly links: number
}

export interface DirectoryEntry {
  readonly name: string
  readonly kind: FileKind
}

export interface FileReadOptions {
  /** Absolute folders; the opened file must be inside one of them, links resolved. */
  readonly inside: readonly string[]
  /** Larger files are refused before a byte is read. */
  readonly maxBytes: number
  /** Ends the reading, where the medium allows it. */
  readonly signal?: AbortSignal
}

/** Bytes and facts of one opened file. */
export interface OpenedFile {
  readonly bytes: Uint8Array
  /** Taken from the opened file, not from its path. */
  readonly stat: FileStat
  /** Where a store can find the same bytes later, instead of copying them; in a form that the store knows. */
  readonly locator?: string
}

/** A value, or the promise of one. */
export type Awaitable<T> = T | PromiseLike<T>

/** Whether a value has to be waited for. Waiting for one that is there costs more than most calls of a file system. */
export function isPending<T>(value: Awaitable<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | undefined)?.then === 'function'
}

/**
 * The file operator of a source: a disk, memory, or something remote. Paths are absolute, in the form that the file
 * system itself uses, with `/` between the parts that the library appends.
 *
 * A method answers with a promise, or at once where that takes microseconds. Either way it fails with a `SkillError`: NOT_FOUND
 * (nothing there), WRONG_KIND, OUTSIDE_ROOT, TOO_LARGE, or IO_FAILED for everything the medium refuses. It never blocks for long
 * and never follows a FIFO.
 */
export interface FileSystem {
  /**
   * What it reads, in a word: two objects with the same identity show the same files to the same reader, so what was read
   * through one is not read again through the other. @default each object reads something of its own
   */
  readonly identity?: string
  /** Entries of a directory in any order. */
  list(path: string): Awaitable<readonly DirectoryEntry[]>
  /** Facts of what is at the path, links followed. */
  stat(path: string): Awaitable<FileStat>
  /** Opens first, then verifies that the opened file is a regular one inside, then reads it whole. */
  read(path: string, options: FileReadOptions): Awaitable<OpenedFile>
  /** The path with all links resolved. */
  resolve(path: string): Awaitable<string>
  /**
   * Calls back after something directly in the directory changed; one call may stand for many changes.
   * The watch is armed when the call returns. Absent where changes cannot be reported.
   * @throws {SkillError} NOT_WATCHABLE with the reason
   */
  watch?(path: string, onEvent: () => void, onError: (error: Error) => void): () => void
  /** Why changes below this path cannot be reported, or `undefined` when they can. */
  findWatchFault?(path: string): string | undefined
  /** A path as people and commands write it where the files are. @default as it is */
  toNativePath?(path: string): string
  /** Gives the event loop back when it was held for long; called in loops over much work. Nothing when there is time left. */
  pace?(): Promise<void> | undefined
  /** Resolves when the watch callbacks for every change made before the call have run. */
  drain?(): Promise<void>
}

/** Whether two facts describe the same state of the same file. */
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

/** Whether two facts are about one and the same file or folder, whatever happened to it. */
export function isSameInode(a: FileStat, b: FileStat): boolean {
  return a.ino === b.ino && isSameDevice(a.dev, b.dev) && a.birthtimeMs === b.birthtimeMs
}

/** Node 22.12 to 22.16, 24.0 and 24.1 on Windows report the device of an opened file, and 0 for the same file by its path. */
function isSameDevice(a: number, b: number): boolean {
  return a === b || a === 0 || b === 0
}

/** The same number as the kind that takes no memory of its own, where it is one: Node hands all of them over as fractions. */
export function toCompact(value: number): number {
  const whole = value | 0
  return whole === value ? whole : value
}
