import type { Digest } from '../skill/digest.ts'
import type { RetainedRevisions } from './retained-revisions.ts'

/** One skill in the context of a conversation. */
export interface LedgerEntry {
  readonly name: string
  /** The revision of the instructions that the conversation received last. */
  readonly revision: Digest
  /**
   * The newest revision that was reported to the conversation. Equal to `revision` until a change is reported. Absent
   * after the removal of the skill is reported.
   */
  readonly toldRevision: Digest | undefined
}

/** The skills that one conversation has loaded. */
export interface Ledger {
  entries(): readonly LedgerEntry[]
  find(name: string): LedgerEntry | undefined
  record(entry: LedgerEntry): void
  forget(name: string): void
  /** Records that the conversation received a file of a revision. */
  saw(name: string, revision: Digest): void
  /**
   * True if the conversation saw a revision. False if only a stored state without a seal says so, because the program
   * that stored the state can write any revision into it.
   */
  isProven(name: string, revision: Digest): boolean
  /** For one skill, returns the hundred revisions that the conversation saw most recently, newest last. */
  seen(name: string): readonly Digest[]
  /** Returns the result of `seen()` for every skill name. */
  allSeen(): Readonly<Record<string, readonly Digest[]>>
}

// Without a limit, a conversation that runs for days and loads every edit would retain all revisions.
const MAX_SEEN_OF_NAME = 100

export class MemoryLedger implements Ledger {
  readonly #retained: RetainedRevisions
  readonly #entries = new Map<string, LedgerEntry>()
  readonly #seen = new Map<string, Set<Digest>>()
  /** The revisions of `#seen` that are only claimed. */
  readonly #claimed = new Map<string, Set<Digest>>()

  constructor(retained: RetainedRevisions) {
    this.#retained = retained
  }

  entries(): readonly LedgerEntry[] {
    return [...this.#entries.values()]
  }

  find(name: string): LedgerEntry | undefined {
    return this.#entries.get(name)
  }

  record(entry: LedgerEntry): void {
    this.#entries.set(entry.name, Object.freeze({ ...entry }))
    this.#see(entry.name, entry.revision)
  }

  saw(name: string, revision: Digest): void {
    this.#claimed.get(name)?.delete(revision)
    this.#see(name, revision)
  }

  /** Adds a skill or a revision of a stored state. `isProven` is true if the seal of the state proves the claim. */
  claim(claim: LedgerEntry | Pick<LedgerEntry, 'name' | 'revision'>, isProven: boolean): void {
    const { name, revision } = claim
    const isNew = this.#seen.get(name)?.has(revision) !== true
    if (isNew && !isProven) this.#claimed.set(name, (this.#claimed.get(name) ?? new Set()).add(revision))
    if ('toldRevision' in claim) this.record(claim)
    else this.#see(name, revision)
  }

  isProven(name: string, revision: Digest): boolean {
    const isSeen = this.#seen.get(name)?.has(revision) === true
    return isSeen && this.#claimed.get(name)?.has(revision) !== true
  }

  #see(name: string, revision: Digest): void {
    const seen = this.#seen.get(name) ?? new Set()
    this.#seen.set(name, seen)
    // Move a revision that is seen again to the end of the list.
    if (!seen.delete(revision)) this.#retained.add(revision)
    seen.add(revision)
    if (seen.size <= MAX_SEEN_OF_NAME) return
    const loaded = this.#entries.get(name)?.revision
    const oldest = [...seen].find(each => each !== loaded)
    if (oldest === undefined) return
    seen.delete(oldest)
    this.#claimed.get(name)?.delete(oldest)
    this.#retained.remove(oldest)
  }

  seen(name: string): readonly Digest[] {
    return [...(this.#seen.get(name) ?? [])]
  }

  allSeen(): Readonly<Record<string, readonly Digest[]>> {
    return Object.fromEntries([...this.#seen.keys()].map(name => [name, this.seen(name)]))
  }

  /** Returns the result of `allSeen()` without the revisions that are only claimed. */
  provenSeen(): Readonly<Record<string, readonly Digest[]>> {
    return Object.fromEntries(
      Object.entries(this.allSeen()).map(([name, revisions]) => [
        name,
        revisions.filter(revision => this.isProven(name, revision)),
      ]),
    )
  }

  forget(name: string): void {
    this.#entries.delete(name)
  }
}

/** A ledger that records nothing, for callers that have no conversation. */
export class ForgetfulLedger implements Ledger {
  entries(): readonly LedgerEntry[] {
    return []
  }

  find(): undefined {
    return undefined
  }

  record(): void {}

  forget(): void {}

  saw(): void {}

  isProven(): boolean {
    return false
  }

  seen(): readonly Digest[] {
    return []
  }

  allSeen(): Readonly<Record<string, readonly Digest[]>> {
    return {}
  }
}
