import { type FileStat, type FileSystem, isSameStat, statIfThere } from '../fs/file-system.ts'
import { mapConcurrently } from '../fs/walk.ts'
import type { BelievedText } from './half-written.ts'
import type { DirectoryNode, FileNode } from './mirror.ts'

/** A file whose bytes were read in this pass. */
export interface ReadFile {
  readonly directory: DirectoryNode
  readonly file: FileNode
  /** The last accepted state of the file. */
  readonly before?: BelievedText | undefined
}

/** The files and directories that a pass has read. */
export interface LookedAt {
  readonly read: readonly ReadFile[]
  readonly listed: Iterable<DirectoryNode>
  readonly pathOf: (node: DirectoryNode) => string
  /**
   * Whether the events of all earlier changes have arrived before this check. If false, watched directories are also
   * checked.
   */
  readonly hasPromptEvents: boolean
}

const CONCURRENCY = 16

/**
 * Takes the second fingerprint: finds directories that changed since they were read. If events are prompt, events
 * report the changes in each directory that already had a watch at the first fingerprint. In such a directory, only
 * recently changed files are checked again.
 */
export async function findMoved(
  fileSystem: FileSystem,
  { read, listed, pathOf, hasPromptEvents }: LookedAt,
  signal: AbortSignal,
): Promise<ReadonlySet<DirectoryNode>> {
  const moved = new Set<DirectoryNode>()
  const check = async (node: DirectoryNode, path: string, before: FileStat | undefined): Promise<void> => {
    const after = await statIfThere(fileSystem, path)
    if (after === undefined || (before !== undefined && !isSameStat(before, after))) moved.add(node)
  }
  const isAsked = (node: DirectoryNode, isDoubtful: boolean): boolean =>
    node.isAttached && (node.unwatch === undefined || isDoubtful || !hasPromptEvents)
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
