import type { Digest } from '../skill/digest.ts'

/** A store that keeps what is in use; `SkillStore` is one. */
export interface RetainingStore {
  retain(revision: Digest): void
  release(revision: Digest): void
}

/** The revisions that one conversation was given something of: its store keeps them readable until `release`. */
export class RetainedRevisions {
  readonly #store: RetainingStore
  /** How often each was added. */
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

  /** Takes back one `add`; after the last one the store may collect the revision. */
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

  /** Lets them go, for good. */
  release(): void {
    this.#isReleased = true
    for (const revision of this.#revisions.keys()) this.#store.release(revision)
    this.#revisions.clear()
  }
}
