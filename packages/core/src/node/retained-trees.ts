import type { Digest } from '../index.ts'

/**
 * Duration of a lease. Until the lease ends, no other process removes the leased revision, even if the revision loses
 * its name.
 */
const LEASE_MS = 7_200_000
const RENEW_AFTER_MS = LEASE_MS / 2
// A process that ends earlier needs no lease, because a collection keeps all content used within the last 30 seconds.
const LEASE_AFTER_MS = 10_000

const MOST_AT_ONCE = 5_000

/** Revisions that the store keeps until a given time. */
export interface Lease {
  readonly revisions: readonly Digest[]
  /** Milliseconds since the epoch. */
  readonly until: number
}

/**
 * For each revision, counts its users in this process. Decides which revisions to lease in the shared store. A used
 * revision needs a lease even if it has a name, because another process may point that name at another revision.
 */
export class RetainedTrees {
  readonly #users = new Map<Digest, number>()
  /** For each used revision without a lease, the time of the first use. Sorted by time. */
  readonly #unleased = new Map<Digest, number>()
  /** For each leased revision, the time at which the lease started. Sorted by time. */
  readonly #leases = new Map<Digest, number>()

  /** Adds a user. `now` is in milliseconds since the epoch. */
  retain(revision: Digest, now: number): void {
    const users = this.#users.get(revision) ?? 0
    this.#users.set(revision, users + 1)
    if (users === 0) this.#unleased.set(revision, now)
  }

  release(revision: Digest): void {
    const users = this.#users.get(revision) ?? 0
    if (users > 1) {
      this.#users.set(revision, users - 1)
      return
    }
    this.#users.delete(revision)
    this.#unleased.delete(revision)
    this.#leases.delete(revision)
  }

  /** Returns whether a revision needs a lease now. */
  isDue(now: number): boolean {
    const [since = Infinity] = this.#unleased.values()
    const [leasedAt = Infinity] = this.#leases.values()
    return now - since >= LEASE_AFTER_MS || now - leasedAt >= RENEW_AFTER_MS
  }

  /** Returns the revisions that need a lease now, at most `MOST_AT_ONCE` per call. */
  takeDue(now: number): Lease {
    const revisions = [
      ...keysUntil(this.#unleased, now - LEASE_AFTER_MS),
      ...keysUntil(this.#leases, now - RENEW_AFTER_MS),
    ].slice(0, MOST_AT_ONCE)
    for (const revision of revisions) {
      this.#unleased.delete(revision)
      this.#leases.delete(revision)
      this.#leases.set(revision, now)
    }
    return { revisions, until: now + LEASE_MS }
  }
}

/** Yields the keys whose time is not after `last`. The map must be sorted by time. */
function* keysUntil(times: ReadonlyMap<Digest, number>, last: number): Generator<Digest> {
  for (const [key, time] of times) {
    if (time > last) return
    yield key
  }
}
