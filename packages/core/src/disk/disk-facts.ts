import type { Dirent, Stats } from 'node:fs'
import { type FileKind, toCompact } from '../fs/file-system.ts'
import { SkillError } from '../index.ts'
import { isInside, quote, toMessage } from '../internal-entry.ts'
import type { DirectoryEntry, FileReadOptions, FileStat } from '../source-entry.ts'

const EXECUTABLE_BY_OWNER = 0o100
const KIND_BITS = 0o170000
const DIRECTORY = 0o040000
const REGULAR = 0o100000

export const isLinux: boolean = process.platform === 'linux'
/** Whether this runtime is Node. Bun and Deno have the same modules as Node, but deliver file events later. */
export const isNode: boolean = process.versions['bun'] === undefined && process.versions['deno'] === undefined
export const isWindows: boolean = process.platform === 'win32'

/**
 * Returns the path with `/` as separator, because sources join paths with `/`. A backslash is a separator only on
 * Windows.
 */
export function toSlashes(path: string, platform: NodeJS.Platform = process.platform): string {
  return platform === 'win32' ? path.replaceAll('\\', '/') : path
}

export function toStat(stats: Stats): FileStat {
  const kind = stats.mode & KIND_BITS
  return {
    kind: kind === REGULAR ? 'file' : kind === DIRECTORY ? 'directory' : 'other',
    size: toCompact(stats.size),
    mtimeMs: stats.mtimeMs,
    ctimeMs: stats.ctimeMs,
    ino: toCompact(stats.ino),
    dev: toCompact(stats.dev),
    birthtimeMs: stats.birthtimeMs,
    links: toCompact(stats.nlink),
    isExecutable: (stats.mode & EXECUTABLE_BY_OWNER) !== 0,
  }
}

export function toEntries(found: readonly Dirent[]): readonly DirectoryEntry[] {
  return found.map(entry => ({ name: entry.name, kind: toKind(entry) }))
}

function toKind(entry: Dirent): FileKind {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  return entry.isSymbolicLink() ? 'link' : 'other'
}

/** @throws {SkillError} WRONG_KIND, TOO_LARGE */
export function assertReadable(path: string, stats: Stats, maxBytes: number): void {
  if ((stats.mode & KIND_BITS) !== REGULAR)
    throw new SkillError('WRONG_KIND', `${quote(path)} is not a regular file`)
  if (stats.size > maxBytes) {
    throw new SkillError('TOO_LARGE', `${quote(path)} has ${stats.size} bytes; at most ${maxBytes} are read`)
  }
}

/** @throws {SkillError} OUTSIDE_ROOT */
export function assertInside(realPath: string, { inside }: Pick<FileReadOptions, 'inside'>): void {
  if (inside.some(folder => isInside(toSlashes(realPath), toSlashes(folder)))) return
  throw new SkillError(
    'OUTSIDE_ROOT',
    `it leads to ${quote(realPath)}, which is outside ${inside.map(each => quote(each)).join(' and ')}`,
  )
}

/** @throws {SkillError} OUTSIDE_ROOT when the path no longer leads to the opened file */
export function assertSame(path: string, opened: Stats, now: Stats): void {
  // On Windows, some versions of Node report device 0 for a file that is not open; see `isSameInode`.
  if (now.ino !== opened.ino || (now.dev !== opened.dev && now.dev !== 0))
    throw new SkillError('OUTSIDE_ROOT', `${quote(path)} was replaced while it was opened`)
}

export function toSkillError(thrown: unknown, path: string): SkillError {
  if (SkillError.isInstance(thrown)) return thrown
  const code = (thrown as NodeJS.ErrnoException).code
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new SkillError('NOT_FOUND', `there is nothing at ${quote(path)}`, {
      cause: thrown,
      data: { path },
    })
  }
  return new SkillError('IO_FAILED', `${quote(path)}: ${toMessage(thrown)}`, {
    cause: thrown,
    data: { path, code },
  })
}

/** Error codes that libuv reports for sharing violations and refused access. */
const HELD = ['EPERM', 'EACCES', 'EBUSY']

/**
 * Returns an error that describes why a move failed. Windows refuses to move a folder that contains an open file or a
 * watched folder.
 */
export function describeHeld(
  thrown: unknown,
  path: string,
  platform: NodeJS.Platform = process.platform,
): SkillError {
  const code = (thrown as NodeJS.ErrnoException).code ?? ''
  if (platform !== 'win32' || !HELD.includes(code)) return toSkillError(thrown, path)
  const reason = 'a program has something open in it, such as a running "stoke dev" or an editor; end it'
  return new SkillError('IO_FAILED', `${quote(path)} cannot be moved: ${reason} (${toMessage(thrown)})`, {
    cause: thrown,
    data: { path, code },
  })
}
