import { SkillError, toMessage } from '../errors.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import { compareText } from '../skill/compare.ts'
import { findPathFault } from '../skill/skill-path.ts'

/** A file as it is to be in a folder. */
export interface FolderFile {
  readonly path: string
  readonly bytes: Uint8Array
  readonly isExecutable: boolean
}

export interface FolderSwap {
  readonly fileSystem: WritableFileSystem
  /** Absolute folder of the source. */
  readonly root: string
  /** The folder within it; not empty. */
  readonly location: string
}

const TRASH = '.trash'
// Beside what was put aside, where no source looks. A folder is here for a moment only, between two moves.
const SWAPS = `${TRASH}/.swap`

/**
 * Replaces a whole folder. Everything new is written aside first; then the old folder is moved to the trash and the new one
 * into its place, so readers see the one or the other and, for the moment between two moves, neither. A process that is killed in
 * that moment leaves the new folder ready for `finishSwaps`. Returns where the old folder is, if there was one.
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
      throw new SkillError('IO_FAILED', `${toMessage(thrown)}; what was there is in ${aside}`, {
        cause: again,
      })
    }
    throw thrown
  }
  return wasThere ? aside : undefined
}

/** Whether a process has begun to replace a folder: one that is at it, or was killed. */
export async function hasSwaps(fileSystem: WritableFileSystem, root: string): Promise<boolean> {
  return (await listIfThere(fileSystem, `${root}/${SWAPS}`)).length > 0
}

/**
 * Ends what a killed process had begun: a folder that is in no place any more gets its new contents. To be called by the one who
 * has the write lock, so that nobody is at it.
 */
export async function finishSwaps(fileSystem: WritableFileSystem, root: string): Promise<void> {
  const inside = { inside: root }
  const names = (await listIfThere(fileSystem, `${root}/${SWAPS}`)).sort(compareText)
  for (const name of names) {
    const ready = `${root}/${SWAPS}/${name}`
    const location = name.startsWith('.tmp-') ? undefined : decode(name)
    const target = `${root}/${location}`
    // Half written, or the old folder is still in its place: the swap has not begun. Other names are nobody's here.
    const isBegun = location !== undefined && !(await isThere(fileSystem, target))
    if (isBegun) await fileSystem.move(ready, target, inside)
    else await fileSystem.remove(ready, inside)
  }
}

/** The folder that a name stands for, if it is one of ours: anybody may have put something there. */
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
