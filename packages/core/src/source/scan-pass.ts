import { SkillError, unlessFailed } from '../errors.ts'
import type { FileSystem } from '../fs/file-system.ts'
import type { SymlinkPolicy } from './entry-classifier.ts'
import type { ScanPass } from './mirror.ts'

/** A root and the policy for its links. */
export interface ScannedRoot {
  readonly fileSystem: FileSystem
  readonly root: string
  readonly symlinks: SymlinkPolicy
  readonly linkRoots: readonly string[]
}

/** Returns false if the root does not exist. @throws {SkillError} WRONG_KIND if the root is a file */
export async function isFolderThere(fileSystem: FileSystem, root: string): Promise<boolean> {
  const found = await unlessFailed(() => fileSystem.stat(root), 'NOT_FOUND')
  if (found !== undefined && found.kind !== 'directory')
    throw new SkillError('WRONG_KIND', `${root} is a file; a source is a folder`)
  return found !== undefined
}

/** Whether a path is a folder, or a link to one. */
export async function isFolderAt(fileSystem: FileSystem, path: string): Promise<boolean> {
  return (await unlessFailed(() => fileSystem.stat(path)))?.kind === 'directory'
}

/** What one pass has to know about its scan. */
export interface PassOptions {
  /** Whether a skill was served from a location, in this process or an earlier one. @default never */
  readonly wasServed?: ((location: string) => boolean) | undefined
  /** Whether a folder stays a skill for a moment if its skill file vanishes. @default false */
  readonly keepsLost?: boolean
}

/** Starts one pass over all directories of the mirror. Resolves to `undefined` if the root does not exist. */
export async function createScanPass(
  { fileSystem, root, symlinks, linkRoots }: ScannedRoot,
  { wasServed = () => false, keepsLost = false }: PassOptions = {},
): Promise<ScanPass | undefined> {
  const rootRealPath = await unlessFailed(() => fileSystem.resolve(root), 'NOT_FOUND')
  if (rootRealPath === undefined) return undefined
  const insideFolders = [rootRealPath]
  if (symlinks === 'follow') insideFolders.push('/')
  for (const folder of linkRoots) {
    // If the folder is unreadable, only links into it cannot be followed.
    const realPath = await unlessFailed(() => fileSystem.resolve(folder))
    if (realPath !== undefined) insideFolders.push(realPath)
  }
  return {
    insideFolders,
    rootRealPath,
    wasServed,
    keepsLost,
    affected: new Set(),
    removed: new Set(),
    listed: new Set(),
    revisited: new Set(),
    changed: new Set(),
    created: new Set(),
    replaced: new Set(),
  }
}
