import { SkillError, toMessage, unlessFailed } from '../errors.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import { compareText } from '../skill/compare.ts'
import { findPathFault } from '../skill/skill-path.ts'
import type { FetchedFile } from '../source/stored-tree.ts'
import { type GuardedFolder, refuseGit } from './git-guard.ts'
import { carryLeftOut, type PartFiles } from './left-out-files.ts'
import { listFolder } from './list-folder.ts'

/** A file of the new folder. */
export type FolderFile = Omit<FetchedFile, 'kind'>

export const TRASH = '.trash'
// This folder is inside the trash, which no source reads. It holds a new folder until the new folder replaces the old
// one.
const SWAPS = `${TRASH}/.swap`

/**
 * Replaces a whole folder. Writes the new files to a temporary folder, moves the old folder to the trash, then moves
 * the temporary folder to the path of the old folder. Between the two moves, readers see no folder. At any other time,
 * readers see either the whole old folder or the whole new folder. If the process is killed between the two moves,
 * `finishSwaps` makes the second move. Then moves what is no part of the skill, for example `.git`, into the new folder.
 * Returns the path of the old folder in the trash, if there was an old folder.
 * @param parts the files of the skill in the old folder
 * @throws {SkillError} INVALID_PATH for files that git would take for its own data
 */
export async function replaceFolder(
  { fileSystem, root, location }: GuardedFolder,
  files: readonly FolderFile[],
  { when, parts }: { readonly when: string; readonly parts: PartFiles },
): Promise<string | undefined> {
  const id = encodeURIComponent(location)
  const stage = `${root}/${SWAPS}/.tmp-${id}`
  const ready = `${root}/${SWAPS}/${id}`
  const target = `${root}/${location}`
  const aside = `${root}/${TRASH}/${location.replaceAll('/', '-')}-${when}`
  const inside = { inside: root }
  const paths = files.map(({ path }) => path)
  await refuseGit({ fileSystem, root, location }, paths)
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
  if (!wasThere) return undefined
  await carryLeftOut(fileSystem, { from: aside, to: target, root }, parts)
  return aside
}

/** True if a process has started to replace a folder. The process may still be running, or may have been killed. */
export async function hasSwaps(fileSystem: WritableFileSystem, root: string): Promise<boolean> {
  return ((await listFolder(fileSystem, `${root}/${SWAPS}`)) ?? []).length > 0
}

/**
 * Finishes the folder swaps that a killed process started. If the old folder was moved away, moves the new folder to
 * the path of the old folder. The caller must hold the write lock, so that no other process is replacing a folder.
 */
export async function finishSwaps(fileSystem: WritableFileSystem, root: string): Promise<void> {
  const inside = { inside: root }
  const entries = (await listFolder(fileSystem, `${root}/${SWAPS}`)) ?? []
  for (const name of entries.map(each => each.name).sort(compareText)) {
    const ready = `${root}/${SWAPS}/${name}`
    const location = name.startsWith('.tmp-') ? undefined : decode(name)
    const target = `${root}/${location}`
    // If the new folder is half written or the old folder is still in place, the swap has not begun. Remove the entry.
    // Also remove entries whose names cannot be decoded.
    const isBegun = location !== undefined && !(await isThere(fileSystem, target))
    if (isBegun) await fileSystem.move(ready, target, inside)
    else await fileSystem.remove(ready, inside)
  }
}

/**
 * Decodes the name of a swap entry to the path of the folder that the entry replaces. Returns `undefined` for a name
 * that another program created.
 */
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

async function isThere(fileSystem: WritableFileSystem, path: string): Promise<boolean> {
  return (await unlessFailed(() => fileSystem.stat(path), 'NOT_FOUND')) !== undefined
}
