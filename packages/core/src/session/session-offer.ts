import type { KnownOptions } from '../options.ts'
import type { Digest } from '../skill/digest.ts'
import type { SessionState } from './session-state.ts'

/** The one message that keeps a conversation up to date; append it and leave it there. */
export interface SessionUpdate {
  readonly text: string
  readonly tokens: number
  /** Number and digest of the generation that the message is about. */
  readonly generation: number
  readonly digest: Digest
}

/**
 * A message that the conversation was not told yet. Append `text` to the history, then call `commit()`. An offer that is
 * never committed costs nothing: the next one says the difference again.
 */
export interface SessionOffer extends SessionUpdate {
  /** The catalog that belongs to the message; present with the delivery `rebuild`, where `commit()` puts it in force. */
  readonly catalog?: string
  /**
   * Counts the conversation as told of exactly what this offer says. Idempotent. A commit never takes back what a newer
   * offer said, and does nothing after `rebase()`, which starts the conversation over.
   */
  commit(): void
  /** Returns what `SkillSession.state` returns once this offer is committed, for a store that writes both in one transaction. */
  state(): SessionState
}

export interface OfferOptions {
  /** Whether what is on disk by now is waited for, instead of telling of the newest generation as it is. @default true */
  readonly fresh?: boolean
}

export const KNOWN_OFFER: KnownOptions<OfferOptions> = { fresh: true }
