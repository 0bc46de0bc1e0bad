import type { Digest } from '../index.ts'

/** How long a lease lasts: another process takes none of it before that, whatever loses its name. */
const LEASE_MS = 7_200_000
const RENEW_AFTER_MS = LEASE_MS / 2
// No collection takes what was put, named or asked for in the last half minute, and many processes end before that.
const LEASE_AFTER_MS = 10_000

const MOST_AT_ONCE = 5_000

/** Revisions that are kept until a time. */
export interface Lease {
  readonly revisions: readonly Digest[]
  /** Milliseconds since the epoch. */
  readonly until: number
}

/**
 * Counts what this process uses of a shared store, and says what to lease there. Names are no substitute for a lease: another
 * process may point them elsewhere.
 */
export class RetainedTrees {
  readonly #users = new Map<Digest, number>()
  /** Since when each revision is used that is not leased yet, the oldest first. */
  readonly #unleased = new Map<Digest, number>()
  /** The time of each lease, the oldest first. */
  readonly #leases = new Map<Digest, number>()

  /** Times are in milliseconds since the epoch. */
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

  /** Whether `takeDue` would lease anything. */
  isDue(now: number): boolean {
    const [since = Infinity] = this.#unleased.values()
    const [leasedAt = Infinity] = this.#leases.values()
    return now - since >= LEASE_AFTER_MS || now - leasedAt >= RENEW_AFTER_MS
  }

  /** What has to be leased now, so that no collection of another process takes it; at most some of it at once. */
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

/** The keys up to the first that is later. */
function* keysUntil(times: ReadonlyMap<Digest, number>, last: number): Generator<Digest> {
  for (const [key, time] of times) {
    if (time > last) return
    yield key
  }
}
