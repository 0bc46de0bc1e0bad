import type { Digest } from '../skill/digest.ts'

/** A store that keeps revisions that are in use. `SkillStore` implements this interface. */
export interface RetainingStore {
  retain(revision: Digest): void
  release(revision: Digest): void
}

/**
 * The revisions that one conversation has seen. The store keeps these revisions readable until `release()` is called.
 */
export class RetainedRevisions {
  readonly #store: RetainingStore
  /** Number of `add` calls for each revision. */
  readonly #revisions = new Map<Digest, number>()
  #isReleased = false

  constructor(store: RetainingStore) {
    this.#store = store
  }

  add(revision: Digest): void {
    if (this.#isReleased) return
    const count = this.#revisions.get(revision) ?? 0
    this.#revisions.set(revision, count + 1)
    if (count === 0) this.#store.retain(revision)
  }

  /** Undoes one `add()` call. After every `add()` call is undone, the store may delete the revision. */
  remove(revision: Digest): void {
    const count = this.#revisions.get(revision)
    if (count === undefined) return
    if (count > 1) {
      this.#revisions.set(revision, count - 1)
      return
    }
    this.#revisions.delete(revision)
    this.#store.release(revision)
  }

  /** Releases all revisions. Later `add()` calls have no effect. */
  release(): void {
    this.#isReleased = true
    for (const revision of this.#revisions.keys()) this.#store.release(revision)
    this.#revisions.clear()
  }
}
