import { type FileStat, type FileSystem, isSameStat } from '../fs/file-system.ts'
import { mapConcurrently } from '../fs/walk.ts'
import type { BelievedText } from './half-written.ts'
import type { DirectoryNode, FileNode } from './mirror.ts'

/** A file whose bytes were read in this pass. */
export interface ReadFile {
  readonly directory: DirectoryNode
  readonly file: FileNode
  /** What was believed of the file before. */
  readonly before?: BelievedText | undefined
}

/** What a pass has looked at. */
export interface LookedAt {
  readonly read: readonly ReadFile[]
  readonly listed: Iterable<DirectoryNode>
  readonly pathOf: (node: DirectoryNode) => string
}

const CONCURRENCY = 16

/**
 * The second fingerprint: the directories in which something no longer is as it was read. Where a watch was armed
 * before the first one, events tell the same for all but recently changed files, and those alone are asked again.
 */
export async function findMoved(
  fileSystem: FileSystem,
  { read, listed, pathOf }: LookedAt,
  signal: AbortSignal,
): Promise<ReadonlySet<DirectoryNode>> {
  const moved = new Set<DirectoryNode>()
  const check = async (node: DirectoryNode, path: string, before: FileStat | undefined): Promise<void> => {
    try {
      const after = await fileSystem.stat(path)
      if (before !== undefined && !isSameStat(before, after)) moved.add(node)
    } catch {
      moved.add(node)
    }
  }
  const files = read.filter(
    ({ directory, file }) => file.stat !== undefined && isAsked(directory, file.isRacy || file.isLink),
  )
  const directories = [...listed].filter(node => node.stat !== undefined && isAsked(node, node.isRacy))
  await mapConcurrently(
    files,
    ({ directory, file }) => check(directory, `${pathOf(directory)}/${file.name}`, file.stat),
    CONCURRENCY,
    signal,
  )
  await mapConcurrently(directories, node => check(node, pathOf(node), node.stat), CONCURRENCY, signal)
  return moved
}

function isAsked(node: DirectoryNode, isRacy: boolean): boolean {
  return node.isAttached && (node.unwatch === undefined || isRacy)
}
