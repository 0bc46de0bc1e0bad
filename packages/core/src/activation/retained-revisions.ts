import type { Digest } from '../skill/digest.ts'

/** A store that keeps what is in use; `SkillStore` is one. */
export interface RetainingStore {
  retain(revision: Digest): void
  release(revision: Digest): void
}

/** The revisions that one conversation was given something of: its store keeps them readable until `release`. */
export class RetainedRevisions {
  readonly #store: RetainingStore
  readonly #revisions = new Set<Digest>()
  #isReleased = false

  constructor(store: RetainingStore) {
    this.#store = store
  }

  add(revision: Digest): void {
    if (this.#isReleased || this.#revisions.has(revision)) return
    this.#revisions.add(revision)
    this.#store.retain(revision)
  }

  /** Lets them go, for good. */
  release(): void {
    this.#isReleased = true
    for (const revision of this.#revisions) this.#store.release(revision)
    this.#revisions.clear()
  }
}
