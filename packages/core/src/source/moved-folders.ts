import { identityOf } from './folder-reader.ts'
import type { DirectoryNode } from './mirror.ts'
import type { PublishedContents } from './published-contents.ts'

/**
 * Folders that were moved and could not be read yet under their new path: until then they go on under the old one, so that a
 * move is never a removal.
 */
export class MovedFolders {
  /** The paths that are shown although nothing is there any more. */
  readonly #held = new Set<string>()

  /** To be called before contents are shown. */
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
