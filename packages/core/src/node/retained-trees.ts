import type { Digest } from '../index.ts'

// A collection in a hurry takes what is older than half a minute.
const LEASE_MS = 1_200_000
const RENEW_AFTER_MS = LEASE_MS / 2

/** Revisions that are kept until a time. */
export interface Lease {
  readonly revisions: readonly Digest[]
  /** Milliseconds since the epoch. */
  readonly until: number
}

/**
 * Counts what this process uses of a shared store, and leases what no name keeps there: revisions that wait for approval, and
 * those that only a conversation was given.
 */
export class RetainedTrees {
  readonly #users = new Map<Digest, number>()
  /** Used, and named by this process. */
  readonly #named = new Set<Digest>()
  /** Named since the last `takeDue`; revisions are named before they are used. */
  readonly #justNamed = new Set<Digest>()
  /** Used, not named, and not leased yet. */
  readonly #unleased = new Set<Digest>()
  /** The time of each lease, the oldest first. */
  readonly #leases = new Map<Digest, number>()

  retain(revision: Digest): void {
    const users = this.#users.get(revision) ?? 0
    this.#users.set(revision, users + 1)
    if (users === 0 && !this.#named.has(revision)) this.#unleased.add(revision)
  }

  release(revision: Digest): void {
    const users = this.#users.get(revision) ?? 0
    if (users > 1) {
      this.#users.set(revision, users - 1)
      return
    }
    this.#users.delete(revision)
    this.#named.delete(revision)
    this.#endLease(revision)
  }

  /** Notes that a name has moved from one revision to another. */
  rename(from: Digest | undefined, to: Digest | undefined): void {
    if (to !== undefined) {
      this.#named.add(to)
      this.#justNamed.add(to)
      this.#endLease(to)
    }
    if (from === undefined || from === to) return
    // Another name may still keep it; then the lease is one too many.
    this.#named.delete(from)
    if (this.#users.has(from)) this.#unleased.add(from)
  }

  /** Whether `takeDue` would lease anything. */
  isDue(now: number): boolean {
    const [oldest] = this.#leases.values()
    return this.#unleased.size > 0 || (oldest !== undefined && oldest < now - RENEW_AFTER_MS)
  }

  /** What has to be leased now, so that no collection of another process takes it. */
  takeDue(now: number): Lease {
    for (const revision of this.#justNamed) if (!this.#users.has(revision)) this.#named.delete(revision)
    this.#justNamed.clear()
    const revisions = [...this.#unleased]
    for (const [revision, at] of this.#leases) {
      if (at >= now - RENEW_AFTER_MS) break
      revisions.push(revision)
    }
    for (const revision of revisions) {
      this.#endLease(revision)
      this.#leases.set(revision, now)
    }
    return { revisions, until: now + LEASE_MS }
  }

  #endLease(revision: Digest): void {
    this.#unleased.delete(revision)
    this.#leases.delete(revision)
  }
}
