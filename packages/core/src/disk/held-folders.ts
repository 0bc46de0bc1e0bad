import { isInside } from '../internal-entry.ts'
import { toSlashes } from './disk-facts.ts'

/** A file watch that keeps its folder open. */
interface HeldFolder {
  readonly path: string
  /** Ends the watch, and notifies the owner of the watch. */
  readonly release: () => void
}

/** The watched folders on Windows. Windows cannot move a folder while a folder below it is watched. */
export class HeldFolders {
  readonly #held = new Set<HeldFolder>()

  /** Returns a function that removes the folder from the watched folders. */
  add(path: string, release: () => void): () => void {
    const held = { path, release }
    this.#held.add(held)
    return () => void this.#held.delete(held)
  }

  /** Ends the watch of a folder and of every folder below it. */
  release(folder: string): void {
    const outer = toSlashes(folder)
    for (const { path, release } of this.#held) if (isInside(toSlashes(path), outer)) release()
  }
}
