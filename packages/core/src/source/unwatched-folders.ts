import type { FileSystem } from '../fs/file-system.ts'
import type { DirectoryNode, FileNode } from './mirror.ts'
import { findMoved } from './second-fingerprint.ts'

/** Checks the folders without a watch. */
export interface LookedUnwatched {
  readonly nodes: readonly DirectoryNode[]
  readonly fileSystem: FileSystem
  readonly pathOf: (node: DirectoryNode) => string
  readonly signal: AbortSignal
}

/** If unwatched folders have more entries than this limit, it is faster to compare their stats than to list them. */
const MAX_LISTED_ENTRIES = 100

/**
 * Finds the unwatched folders that a scan must list. If there are only few unwatched folders, all must be listed.
 * Otherwise, only folders whose stat changed or is unreliable.
 */
export async function findUnwatchedNews({
  nodes,
  fileSystem,
  pathOf,
  signal,
}: LookedUnwatched): Promise<Iterable<DirectoryNode>> {
  let entries = 0
  for (const node of nodes) entries += 1 + node.directories.size + node.files.size
  if (entries <= MAX_LISTED_ENTRIES) return nodes
  const untrusted = nodes.filter(hasUntrustedFacts)
  const read = nodes.flatMap(node => filesOf(node).map(file => ({ directory: node, file })))
  const moved = await findMoved(fileSystem, { read, listed: nodes, pathOf }, signal)
  return new Set([...untrusted, ...moved])
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
