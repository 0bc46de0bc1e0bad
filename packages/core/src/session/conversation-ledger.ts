import type { Ledger, LedgerEntry } from '../activation/ledger.ts'
import type { RetainedRevisions } from '../activation/retained-revisions.ts'
import type { ScopeTest } from '../catalog/scope.ts'
import type { Digest } from '../skill/digest.ts'
import { fold, type Known, type SessionEntry, see } from './known.ts'
import type { SessionState } from './session-state.ts'

/** Holds what a conversation knows, and retains the revisions that it has seen. */
export class ConversationLedger implements Ledger {
  readonly #retained: RetainedRevisions
  /** Revisions that only a stored state without a seal claims, each as name and revision. */
  readonly #claimed = new Set<string>()
  #known: Known

  constructor(retained: RetainedRevisions, known: Known) {
    this.#retained = retained
    this.#known = known
  }

  get known(): Known {
    return this.#known
  }

  set(known: Known): void {
    for (const [name, now] of known.seen) {
      const before = this.#known.seen.get(name) ?? []
      if (now === before) continue
      for (const revision of now) if (!before.includes(revision)) this.#retained.add(revision)
      for (const revision of before) if (!now.includes(revision)) this.#drop(name, revision)
    }
    this.#known = known
  }

  #drop(name: string, revision: Digest): void {
    this.#claimed.delete(claimOf(name, revision))
    this.#retained.remove(revision)
  }

  add(entry: SessionEntry): void {
    if (entry.kind !== 'notice') this.#claimed.delete(claimOf(entry.name, entry.revision))
    this.set(fold(this.#known, entry))
  }

  /** Adds an entry that a host has stored. */
  claimEntry(entry: SessionEntry): void {
    if (entry.kind !== 'notice' && !this.seen(entry.name).includes(entry.revision))
      this.#claimed.add(claimOf(entry.name, entry.revision))
    this.set(fold(this.#known, entry))
  }

  /** Adds what a stored state says. `isProven` is true if its seal proves it. Leaves out skills outside the scope. */
  claim(
    seen: SessionState['seen'],
    ledger: readonly LedgerEntry[],
    { isInScope, isProven }: { readonly isInScope: ScopeTest; readonly isProven: boolean },
  ): void {
    const claims = Object.entries(seen).flatMap(([name, revisions]) =>
      revisions.map(revision => ({ name, revision })),
    )
    const loads = ledger.filter(({ name }) => isInScope(name))
    for (const { name, revision } of [...claims, ...loads]) {
      if (!isInScope(name)) continue
      if (!isProven && !this.seen(name).includes(revision)) this.#claimed.add(claimOf(name, revision))
      const seen = see(this.seen(name), revision, this.find(name)?.revision)
      this.set({ ...this.#known, seen: new Map(this.#known.seen).set(name, seen) })
    }
    const loaded = loads.map(entry => [entry.name, Object.freeze({ ...entry })] as const)
    this.#known = { ...this.#known, loaded: new Map([...this.#known.loaded, ...loaded]) }
  }

  entries(): readonly LedgerEntry[] {
    return [...this.#known.loaded.values()]
  }

  find(name: string): LedgerEntry | undefined {
    return this.#known.loaded.get(name)
  }

  saw(name: string, revision: Digest): void {
    this.add({ kind: 'read', name, revision })
  }

  isProven(name: string, revision: Digest): boolean {
    return this.seen(name).includes(revision) && !this.#claimed.has(claimOf(name, revision))
  }

  seen(name: string): readonly Digest[] {
    return this.#known.seen.get(name) ?? []
  }

  allSeen(): Readonly<Record<string, readonly Digest[]>> {
    return Object.fromEntries(this.#known.seen)
  }

  /** Returns the result of `allSeen()` without the revisions that are only claimed. */
  provenSeen(): Readonly<Record<string, readonly Digest[]>> {
    return Object.fromEntries(
      [...this.#known.seen].map(([name, revisions]) => [
        name,
        revisions.filter(revision => this.isProven(name, revision)),
      ]),
    )
  }
}

function claimOf(name: string, revision: Digest): string {
  return `${name}\0${revision}`
}
