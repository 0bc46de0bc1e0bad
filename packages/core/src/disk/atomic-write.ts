import { randomUUID } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { SkillError } from '../index.ts'
import { quote } from '../internal-entry.ts'
import type { FileWriteOptions } from '../source-entry.ts'
import { isLinux, isWindows, toSlashes } from './disk-facts.ts'
import { ignoring } from './ignoring.ts'

const TEMPORARY = '.tmp-'
// Age after which the temporary file of a killed writer is removed.
const STALE_MS = 3_600_000
const FILE_MODE = 0o644
const EXECUTABLE_MODE = 0o755

/** An open folder. The descriptor gives access to the entries of the folder even after the folder was moved. */
interface OpenFolder {
  readonly descriptor: number
  entry(name: string): string
}

/**
 * Writes a temporary file in the same folder, then renames it to the target path. Opens or creates each folder of the
 * path without following links, so that no file is written outside the folder `inside`.
 */
export function writeWhole(path: string, content: Uint8Array, options: FileWriteOptions): void {
  const { inside, isExecutable = false } = options
  const { folders, name } = splitInside(path, inside)
  withFolder(inside, folders, true, folder => {
    const temporary = folder.entry(`${TEMPORARY}${randomUUID()}`)
    try {
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
      const descriptor = openSync(temporary, flags, 0o600)
      try {
        for (let at = 0; at < content.length; ) at += writeSync(descriptor, content, at)
        fchmodSync(descriptor, isExecutable ? EXECUTABLE_MODE : FILE_MODE)
        fsyncSync(descriptor)
      } finally {
        closeSync(descriptor)
      }
      renameSync(temporary, folder.entry(name))
    } catch (thrown) {
      ignoring(['ENOENT'], () => unlinkSync(temporary))
      throw thrown
    }
    syncFolder(folder)
    sweep(folder)
  })
}

/** Moves a file or folder to a path that does not exist yet. */
export function moveInside(from: string, to: string, inside: string): void {
  const source = splitInside(from, inside)
  const target = splitInside(to, inside)
  withFolder(inside, source.folders, false, fromFolder => {
    withFolder(inside, target.folders, true, toFolder => {
      if (lstatSync(toFolder.entry(target.name), { throwIfNoEntry: false }) !== undefined)
        throw new SkillError('IO_FAILED', `${quote(to)} already exists`)
      renameSync(fromFolder.entry(source.name), toFolder.entry(target.name))
      syncFolder(fromFolder)
      syncFolder(toFolder)
    })
  })
}

/** Removes a file, or a folder with its content. */
export function removeInside(path: string, inside: string): void {
  const { folders, name } = splitInside(path, inside)
  withFolder(inside, folders, false, folder => {
    rmSync(folder.entry(name), { recursive: true, force: true })
    syncFolder(folder)
  })
}

function splitInside(path: string, inside: string): { folders: readonly string[]; name: string } {
  const [inner, outer] = [toSlashes(path), toSlashes(inside)]
  const segments = inner.startsWith(`${outer}/`) ? inner.slice(outer.length + 1).split('/') : []
  const name = segments.pop()
  if (name === undefined || [...segments, name].some(each => each === '' || each === '.' || each === '..'))
    throw new SkillError('OUTSIDE_ROOT', `${quote(path)} is not a path inside ${quote(inside)}`)
  return { folders: segments, name }
}

function withFolder(
  root: string,
  folders: readonly string[],
  create: boolean,
  work: (folder: OpenFolder) => void,
): void {
  if (create) mkdirSync(root, { recursive: true })
  let shown = root
  let folder = openFolder(realpathSync.native(root), root)
  try {
    for (const name of folders) {
      shown = `${shown}/${name}`
      const path = folder.entry(name)
      if (create) ignoring(['EEXIST'], () => mkdirSync(path))
      const next = openFolder(path, shown)
      closeSync(folder.descriptor)
      folder = next
    }
    work(folder)
  } finally {
    closeSync(folder.descriptor)
  }
}

/** Opens a folder without following links. Error messages contain the path `shown` instead of `path`. */
function openFolder(path: string, shown: string): OpenFolder {
  let descriptor: number
  try {
    // This line refuses links and files, because on Windows no flag makes `open` refuse them.
    if (isWindows && !lstatSync(path).isDirectory()) throw notFolder(shown)
    descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code !== 'ELOOP' && code !== 'ENOTDIR') throw thrown
    throw notFolder(shown, thrown)
  }
  // Only Linux can reach files through the descriptor of a folder. On other systems, the write does not notice that the
  // folder was replaced meanwhile.
  const base = isLinux ? `/proc/self/fd/${descriptor}` : path
  return { descriptor, entry: name => join(base, name) }
}

function notFolder(shown: string, cause?: unknown): SkillError {
  const message = `${quote(shown)} is a link or a file, not a folder; write to a path without links`
  return new SkillError('OUTSIDE_ROOT', message, { cause })
}

function syncFolder(folder: OpenFolder): void {
  if (!isWindows) fsyncSync(folder.descriptor)
}

function sweep(folder: OpenFolder): void {
  for (const name of readdirSync(folder.entry('.'))) {
    if (!name.startsWith(TEMPORARY)) continue
    const path = folder.entry(name)
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat?.isFile() === true && Date.now() - stat.mtimeMs > STALE_MS)
      ignoring(['ENOENT'], () => unlinkSync(path))
  }
}
