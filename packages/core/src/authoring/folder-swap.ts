import { SkillError, toMessage } from '../errors.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import { compareText } from '../skill/compare.ts'
import { findPathFault } from '../skill/skill-path.ts'

/** A file of the new folder. */
export interface FolderFile {
  readonly path: string
  readonly bytes: Uint8Array
  readonly isExecutable: boolean
}

export interface FolderSwap {
  readonly fileSystem: WritableFileSystem
  /** Absolute path of the source's folder. */
  readonly root: string
  /** Path of the folder within the source; not empty. */
  readonly location: string
}

const TRASH = '.trash'
// In the trash, where no source looks. A folder is here only between the two moves.
const SWAPS = `${TRASH}/.swap`

/**
 * Replaces a whole folder. Writes all new files aside, moves the old folder to the trash, and moves the new folder into
 * its place. Readers see the old or the new folder, or no folder between the two moves. A process that is killed
 * between them leaves the new folder ready for `finishSwaps`. Returns the new path of the old folder, if there was one.
 */
export async function replaceFolder(
  { fileSystem, root, location }: FolderSwap,
  files: readonly FolderFile[],
  when: string,
): Promise<string | undefined> {
  const id = encodeURIComponent(location)
  const stage = `${root}/${SWAPS}/.tmp-${id}`
  const ready = `${root}/${SWAPS}/${id}`
  const target = `${root}/${location}`
  const aside = `${root}/${TRASH}/${location.replaceAll('/', '-')}-${when}`
  const inside = { inside: root }
  await fileSystem.remove(stage, inside)
  await fileSystem.remove(ready, inside)
  for (const { path, bytes, isExecutable } of files)
    await fileSystem.write(`${stage}/${path}`, bytes, { inside: root, isExecutable })
  await fileSystem.move(stage, ready, inside)
  const wasThere = await isThere(fileSystem, target)
  try {
    if (wasThere) await fileSystem.move(target, aside, inside)
  } catch (thrown) {
    await fileSystem.remove(ready, inside)
    throw thrown
  }
  try {
    await fileSystem.move(ready, target, inside)
  } catch (thrown) {
    try {
      if (wasThere) await fileSystem.move(aside, target, inside)
      await fileSystem.remove(ready, inside)
    } catch (again) {
      throw new SkillError('IO_FAILED', `${toMessage(thrown)}; the old folder is in ${aside}`, {
        cause: again,
      })
    }
    throw thrown
  }
  return wasThere ? aside : undefined
}

/** True if a process has started to replace a folder. It may still run, or may have been killed. */
export async function hasSwaps(fileSystem: WritableFileSystem, root: string): Promise<boolean> {
  return (await listIfThere(fileSystem, `${root}/${SWAPS}`)).length > 0
}

/**
 * Finishes the swaps of killed processes: a folder that is missing gets its new contents. The caller must hold the
 * write lock, so that no other process is replacing a folder.
 */
export async function finishSwaps(fileSystem: WritableFileSystem, root: string): Promise<void> {
  const inside = { inside: root }
  const names = (await listIfThere(fileSystem, `${root}/${SWAPS}`)).sort(compareText)
  for (const name of names) {
    const ready = `${root}/${SWAPS}/${name}`
    const location = name.startsWith('.tmp-') ? undefined : decode(name)
    const target = `${root}/${location}`
    // The swap has not begun if the new folder is half written or the old one is still in place. Remove it, and unknown
    // names.
    const isBegun = location !== undefined && !(await isThere(fileSystem, target))
    if (isBegun) await fileSystem.move(ready, target, inside)
    else await fileSystem.remove(ready, inside)
  }
}

/** Returns the folder that a name stands for. Returns `undefined` for names that other programs put there. */
function decode(name: string): string | undefined {
  try {
    const location = decodeURIComponent(name)
    const isHidden = location
      .split('/')
      .some(segment => segment.startsWith('.') || segment === 'node_modules')
    return findPathFault(location) === undefined && !isHidden ? location : undefined
  } catch {
    return undefined
  }
}

async function listIfThere(fileSystem: WritableFileSystem, path: string): Promise<string[]> {
  try {
    return (await fileSystem.list(path)).map(({ name }) => name)
  } catch (thrown) {
    if (SkillError.isInstance(thrown, 'NOT_FOUND') || SkillError.isInstance(thrown, 'WRONG_KIND')) return []
    throw thrown
  }
}

async function isThere(fileSystem: WritableFileSystem, path: string): Promise<boolean> {
  try {
    await fileSystem.stat(path)
    return true
  } catch (thrown) {
    if (SkillError.isInstance(thrown, 'NOT_FOUND')) return false
    throw thrown
  }
}
