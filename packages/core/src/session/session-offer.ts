import type { KnownOptions } from '../options.ts'
import type { Digest } from '../skill/digest.ts'
import type { SessionState } from './session-state.ts'

/** The message that brings a conversation up to date. Append it to the history and leave it there. */
export interface SessionUpdate {
  readonly text: string
  readonly tokens: number
  /** Number and digest of the generation that the message describes. */
  readonly generation: number
  readonly digest: Digest
}

/**
 * A message that the conversation does not contain yet. Append `text` to the history, then call `commit()`. An offer
 * that is never committed has no effect, and the next offer repeats the difference.
 */
export interface SessionOffer extends SessionUpdate {
  /**
   * The catalog that belongs to the message. Present with the delivery `rebuild`, where `commit()` puts it into effect.
   */
  readonly catalog?: string
  /**
   * Records that the conversation contains this message. Idempotent. A commit never undoes the report of a newer offer.
   * It has no effect after `rebase()`, which starts the conversation over.
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
   * Whether to wait until all writes on disk are visible. If false, the offer uses the newest known generation.
   * @default true
   */
  readonly fresh?: boolean
}

export const KNOWN_OFFER: KnownOptions<OfferOptions> = { fresh: true }
