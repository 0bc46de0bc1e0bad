import type { Digest } from '../skill/digest.ts'
import type { ContentKeys } from './content-keys.ts'

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
  /** Keys of the content of `revision`. Without them, every other revision counts as changed. */
  readonly content?: ContentKeys
  /** Keys of the content of `toldRevision`. */
  readonly toldContent?: ContentKeys | undefined
}

/** The skills that one conversation has loaded. */
export interface Ledger {
  entries(): readonly LedgerEntry[]
  find(name: string): LedgerEntry | undefined
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

/** A ledger that records nothing, for callers that have no conversation. */
export const NO_LEDGER: Ledger = Object.freeze({
  entries: () => [],
  find: () => undefined,
  saw: () => undefined,
  isProven: () => false,
  seen: () => [],
  allSeen: () => ({}),
})
