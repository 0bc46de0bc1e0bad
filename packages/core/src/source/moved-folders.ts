import { identityOf } from './folder-reader.ts'
import type { DirectoryNode } from './mirror.ts'
import type { PublishedContents } from './published-contents.ts'

/**
 * Folders that were moved, but that no scan has read at their new path yet. The former path stays published until the
 * new path is read, so a move is never reported as a removal.
 */
export class MovedFolders {
  /** Paths that stay published although no folder is at these paths any more. */
  readonly #held = new Set<string>()

  /** Keeps the former paths of moved folders published. Must be called before each publication. */
  hold(rejected: readonly DirectoryNode[], published: PublishedContents): void {
    for (const path of this.#held) if (!published.isPending(path)) published.put(path, undefined)
    this.#held.clear()
    const waiting = new Set(
      rejected.flatMap(node => (published.find(node.path) === undefined ? (identityOf(node) ?? []) : [])),
    )
    if (waiting.size === 0) return
    for (const path of published.removed()) {
      if (!waiting.has(published.find(path)?.identity ?? '')) continue
      published.withdraw(path)
      this.#held.add(path)
    }
  }

  clear(): void {
    this.#held.clear()
  }
}
