import type { FileSystem } from '../fs/file-system.ts'
import type { DirectoryNode, FileNode } from './mirror.ts'
import { findMoved } from './second-fingerprint.ts'

/** Folders without a watch, and how to look at them. */
export interface LookedUnwatched {
  readonly nodes: readonly DirectoryNode[]
  readonly fileSystem: FileSystem
  readonly pathOf: (node: DirectoryNode) => string
  readonly signal: AbortSignal
}

/** With more entries than this in unwatched folders, comparing facts costs less than listing them. */
const MAX_LISTED_ENTRIES = 100

/** Finds the unwatched folders that a reading has to list: all of a few, else those whose facts differ or cannot be trusted. */
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

/** The files that listing a folder shows, skills of a single file included. */
function filesOf(node: DirectoryNode): FileNode[] {
  const standalone = [...node.directories.values()].filter(({ isStandalone }) => isStandalone)
  return [node, ...standalone].flatMap(({ files }) => [...files.values()])
}
