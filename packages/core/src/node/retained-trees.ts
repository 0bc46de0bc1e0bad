import type { Digest } from '../index.ts'

/**
 * Duration of a lease. No other process removes a leased revision before the lease ends, even if the revision loses its
 * name.
 */
const LEASE_MS = 7_200_000
const RENEW_AFTER_MS = LEASE_MS / 2
// Most short processes need no lease, because a collection never removes content that was used in the last half minute.
const LEASE_AFTER_MS = 10_000

const MOST_AT_ONCE = 5_000

/** Revisions that are kept until a given time. */
export interface Lease {
  readonly revisions: readonly Digest[]
  /** Milliseconds since the epoch. */
  readonly until: number
}

/**
 * Counts the users of revisions in this process, and decides which revisions to lease in the shared store. Revisions in
 * use need a lease even if they have a name, because another process may change the name.
 */
export class RetainedTrees {
  readonly #users = new Map<Digest, number>()
  /** Time of the first use of each revision without a lease, oldest first. */
  readonly #unleased = new Map<Digest, number>()
  /** Time at which each lease started, oldest first. */
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

  /** Returns whether `takeDue` would return a revision. */
  isDue(now: number): boolean {
    const [since = Infinity] = this.#unleased.values()
    const [leasedAt = Infinity] = this.#leases.values()
    return now - since >= LEASE_AFTER_MS || now - leasedAt >= RENEW_AFTER_MS
  }

  /** Returns the revisions that need a lease now, up to a maximum number per call. */
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

/** Yields keys until a key has a time later than `last`. */
function* keysUntil(times: ReadonlyMap<Digest, number>, last: number): Generator<Digest> {
  for (const [key, time] of times) {
    if (time > last) return
    yield key
  }
}
