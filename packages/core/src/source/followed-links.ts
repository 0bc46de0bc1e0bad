import { type FileStat, type FileSystem, isSameInode, isSameStat } from '../fs/file-system.ts'
import type { DirectoryNode, FileNode } from './mirror.ts'

/** A followed link: a linked directory, or a linked file in a directory. */
export interface FollowedLink {
  readonly directory: DirectoryNode
  readonly file?: FileNode
  /**
   * Stat of an unreadable target. A file is retried when its stat changes. A directory is retried when another inode is
   * at its path.
   */
  unreadStat?: FileStat | undefined
  /** Whether the target of the link was missing at the last check. */
  isLost?: boolean
}

/**
 * Reports the directories with a link whose target changed. No event reports a change of a link's target, so every link
 * is checked on the file system.
 */
export async function findMovedLinks(
  links: Iterable<FollowedLink>,
  fileSystem: FileSystem,
  pathOf: (node: DirectoryNode) => string,
  onMoved: (node: DirectoryNode) => void,
): Promise<void> {
  for (const link of links) {
    const { directory, file } = link
    const path = file === undefined ? pathOf(directory) : `${pathOf(directory)}/${file.name}`
    const stat = await statIfThere(fileSystem, path)
    const wasLost = link.isLost === true
    link.isLost = stat === undefined
    // Report a lost target only once, because the links of an unreadable folder may stay lost for a long time.
    if (stat === undefined && wasLost) continue
    if (file !== undefined) {
      const before = file.stat ?? link.unreadStat
      if (file.stat === undefined) link.unreadStat = stat
      if (before !== undefined && (stat === undefined || !isSameStat(before, stat))) onMoved(directory)
      continue
    }
    const before = directory.stat ?? link.unreadStat
    if (directory.stat === undefined) link.unreadStat = stat
    if (stat === undefined || before === undefined || !isSameInode(stat, before))
      onMoved(directory.parent ?? directory)
  }
}

async function statIfThere(fileSystem: FileSystem, path: string): Promise<FileStat | undefined> {
  try {
    return await fileSystem.stat(path)
  } catch {
    return undefined
  }
}
