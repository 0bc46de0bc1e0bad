import { type FileStat, type FileSystem, isSameInode, isSameStat, statIfThere } from '../fs/file-system.ts'
import type { DirectoryNode, FileNode } from './mirror.ts'

/** The target of a link that leads to no file and no directory. */
const LOST = 'lost'

/** A followed link: a linked directory, or a linked file in a directory. */
export interface FollowedLink {
  readonly directory: DirectoryNode
  readonly file?: FileNode
  /** The target at the last check; `undefined` before the first check. */
  seen?: FileStat | typeof LOST
}

/**
 * Reports the directories with a link whose target changed. No event reports a change of a link's target, so every link
 * is checked on the file system. Each change is reported once, because a second report would prolong the burst.
 */
export async function findMovedLinks(
  links: Iterable<FollowedLink>,
  fileSystem: FileSystem,
  pathOf: (node: DirectoryNode) => string,
  onMoved: (node: DirectoryNode) => void,
): Promise<void> {
  for (const link of links) {
    const { directory, file, seen } = link
    const path = file === undefined ? pathOf(directory) : `${pathOf(directory)}/${file.name}`
    // Saves inside a linked directory cause events, so only another directory at its path counts.
    const isSame = file === undefined ? isSameInode : isSameStat
    const target = (await statIfThere(fileSystem, path)) ?? LOST
    link.seen = target
    const read = (file ?? directory).stat
    const known = [read, seen].filter(state => state !== undefined)
    const isKnown = (state: FileStat | typeof LOST): boolean =>
      state === LOST || target === LOST ? state === target : isSame(state, target)
    if (known.length > 0 && !known.some(isKnown))
      onMoved(file === undefined ? (directory.parent ?? directory) : directory)
  }
}
