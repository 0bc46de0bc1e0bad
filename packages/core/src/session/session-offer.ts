import type { KnownOptions } from '../options.ts'
import type { Digest } from '../skill/digest.ts'
import type { Notice } from './known.ts'
import type { SessionState } from './session-state.ts'

/** The message that tells a conversation which skills changed. Append the message to the history and keep it there. */
export interface SessionUpdate {
  readonly text: string
  readonly tokens: number
  /**
   * Number of the generation that the conversation knows after this message. `digest` is the digest of that generation.
   */
  readonly generation: number
  readonly digest: Digest
}

/**
 * A message that the conversation does not contain yet. Append `text` to the history, then call `commit()`. An offer
 * that is never committed has no effect, and the next offer repeats its changes.
 */
export interface SessionOffer extends SessionUpdate {
  /**
   * The new catalog. Present only with the delivery `rebuild`: `commit()` makes this text the catalog of the session.
   */
  readonly catalog?: string
  /**
   * What the message says. If your history can lose messages, keep the entry beside it, and call `replay()` with the
   * entries that are left.
   */
  readonly entry: Notice
  /**
   * Records that the conversation contains this message. Idempotent. Commit offers in the order in which your history
   * contains their messages. A commit after `rebase()` has no effect.
   */
  commit(): void
  /**
   * Returns the state that the session will have after the commit. A store can write the message and the state in one
   * transaction.
   */
  state(): SessionState
}

export interface OfferOptions {
  /**
   * True to wait until all writes on disk are visible. If false, uses the newest generation that is already known.
   * @default true
   */
  readonly fresh?: boolean
}

export const KNOWN_OFFER: KnownOptions<OfferOptions> = { fresh: true }
