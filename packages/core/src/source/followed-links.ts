import { type FileStat, type FileSystem, isSameInode, isSameStat } from '../fs/file-system.ts'
import type { DirectoryNode, FileNode } from './mirror.ts'

/** A link that was followed: to a directory, or to a file in it. */
export interface FollowedLink {
  readonly directory: DirectoryNode
  readonly file?: FileNode
  /** Stat of a target that could not be read; it is retried once the stat is a different one, of a directory once the inode is. */
  unreadStat?: FileStat | undefined
  /** Whether it led nowhere when it was last looked at. */
  isLost?: boolean
}

/**
 * Reports the directories in which a link leads to something else than before. Events follow inodes and not names, so the
 * file system is asked.
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
    // A link in a folder that cannot be read is lost for as long as that is so, and one look at it finds out.
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
