import type { Dirent, Stats } from 'node:fs'
import { SkillError } from '../index.ts'
import { toCompact, toMessage } from '../internal-entry.ts'
import type { DirectoryEntry, FileKind, FileReadOptions, FileStat } from '../source-entry.ts'

const EXECUTABLE_BY_OWNER = 0o100
const KIND_BITS = 0o170000
const DIRECTORY = 0o040000
const REGULAR = 0o100000

export const isLinux: boolean = process.platform === 'linux'

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
    throw new SkillError('WRONG_KIND', `${JSON.stringify(path)} is not a regular file`)
  if (stats.size > maxBytes) {
    throw new SkillError(
      'TOO_LARGE',
      `${JSON.stringify(path)} has ${stats.size} bytes; at most ${maxBytes} are read`,
    )
  }
}

/** @throws {SkillError} OUTSIDE_ROOT */
export function assertInside(realPath: string, { inside }: Pick<FileReadOptions, 'inside'>): void {
  if (inside.some(folder => isInside(realPath, folder))) return
  throw new SkillError(
    'OUTSIDE_ROOT',
    `it leads to ${JSON.stringify(realPath)}, which is outside ${inside.map(each => JSON.stringify(each)).join(' and ')}`,
  )
}

/** @throws {SkillError} OUTSIDE_ROOT when the path leads to another file than the one that was opened */
export function assertSame(path: string, opened: Stats, now: Stats): void {
  if (now.ino !== opened.ino || now.dev !== opened.dev)
    throw new SkillError('OUTSIDE_ROOT', `${JSON.stringify(path)} was replaced while it was opened`)
}

export function toSkillError(thrown: unknown, path: string): SkillError {
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

const SEPARATOR = process.platform === 'win32' ? '\\' : '/'

function isInside(path: string, folder: string): boolean {
  if (path === folder) return true
  return path.startsWith(folder) && (folder.endsWith(SEPARATOR) || path.startsWith(SEPARATOR, folder.length))
}
