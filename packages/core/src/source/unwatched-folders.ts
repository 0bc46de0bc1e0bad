import type { FileSystem } from '../fs/file-system.ts'
import type { DirectoryNode, FileNode } from './mirror.ts'
import { findMoved } from './second-fingerprint.ts'

/** The folders that may have changed without an event so far. */
export interface LookedFolders {
  readonly nodes: readonly DirectoryNode[]
  readonly fileSystem: FileSystem
  readonly pathOf: (node: DirectoryNode) => string
  readonly signal: AbortSignal
}

export interface FolderNews {
  /** Folders that changed, because a stat differs. */
  readonly changed: ReadonlySet<DirectoryNode>
  /** Folders that may have changed although every stat is the same. */
  readonly doubtful: readonly DirectoryNode[]
}

/** If unwatched folders have more entries than this limit, it is faster to compare their stats than to list them. */
const MAX_LISTED_ENTRIES = 100

/**
 * Finds the unwatched folders that a scan must list. If there are only few unwatched folders, all must be listed.
 * Otherwise, only folders whose stat changed or is unreliable must be listed.
 */
export async function findUnwatchedNews(looked: LookedFolders): Promise<Iterable<DirectoryNode>> {
  let entries = 0
  for (const node of looked.nodes) entries += 1 + node.directories.size + node.files.size
  if (entries <= MAX_LISTED_ENTRIES) return looked.nodes
  const { changed, doubtful } = await findNews(looked)
  return new Set([...doubtful, ...changed])
}

/** Compares the stats of folders and of their files with the mirror. */
export async function findNews({ nodes, fileSystem, pathOf, signal }: LookedFolders): Promise<FolderNews> {
  const doubtful = nodes.filter(hasUntrustedFacts)
  const read = nodes.flatMap(node => filesOf(node).map(file => ({ directory: node, file })))
  const looked = { read, listed: nodes, pathOf, hasPromptEvents: false }
  return { changed: await findMoved(fileSystem, looked, signal), doubtful }
}

function hasUntrustedFacts(node: DirectoryNode): boolean {
  const { stat, isRacy, ignored } = node
  if (stat === undefined || isRacy || ignored !== undefined) return true
  return filesOf(node).some(file => file.stat === undefined || file.isRacy)
}

/** Returns the known files directly in a folder, including single-file skills. */
function filesOf(node: DirectoryNode): FileNode[] {
  const standalone = [...node.directories.values()].filter(({ isStandalone }) => isStandalone)
  return [node, ...standalone].flatMap(({ files }) => [...files.values()])
}
