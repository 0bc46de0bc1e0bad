import type { Digest, SessionState } from '@skillstoke/core'
import { checkOptions, checkWholeNumber, type KnownOptions } from '@skillstoke/core/internal'

export type MessageRole = 'system' | 'user' | 'assistant' | 'tool'

/** One message as it was said. Rows are never rewritten, system messages included. */
export interface ConversationMessage {
  /** Unique in its conversation; appending the same id again is a repeat, not a second message. */
  readonly id: string
  readonly role: MessageRole
  /** Text, or the AI SDK's content parts as JSON values. */
  readonly content: unknown
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
  /** The generation of skills that the conversation knew when this was said. */
  readonly skills?: { readonly generation: number; readonly digest: Digest }
}

export interface StoredMessage extends ConversationMessage {
  /** Place in the conversation, counted from 1. */
  readonly seq: number
}

/** Where conversations are kept: append-only, one head each, compared before every append. */
export interface ConversationStore {
  /**
   * Appends messages if the last one has the place `expectSeq` (0: there is none yet); returns the new last place.
   * Repeating an append that already happened returns the same place and changes nothing. `session` is what the
   * conversation has been told of skills by then; it is stored with the messages or not at all.
   * @throws {ConversationConflictError} when another writer was faster
   */
  append(
    tenant: string,
    conversation: string,
    expectSeq: number,
    messages: readonly ConversationMessage[],
    session?: SessionState,
  ): Promise<number>
  /** What the conversation had been told of skills when it was stored last; `undefined` when that is not known. */
  readSession(tenant: string, conversation: string): Promise<SessionState | undefined>
  /** Messages after a place, in order; none when there is no such conversation. */
  read(
    tenant: string,
    conversation: string,
    range?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly StoredMessage[]>
  /** Starts a new conversation with the messages up to a place of another. */
  fork(tenant: string, conversation: string, atSeq: number, newConversation: string): Promise<void>
  /** Forgets a conversation; nothing happens when there is none. */
  remove(tenant: string, conversation: string): Promise<void>
}

/** Which messages of a conversation are read. */
export type MessageRange = NonNullable<Parameters<ConversationStore['read']>[2]>

const KNOWN_RANGE: KnownOptions<MessageRange> = { after: true, limit: true }

/** @throws {SkillError} INVALID_OPTION */
export function checkRange(range: MessageRange): void {
  checkOptions('read()', range, KNOWN_RANGE)
  checkWholeNumber('after', range.after, 0)
  checkWholeNumber('limit', range.limit, 0)
}

/** Somebody else appended first: read again, and decide anew. */
export class ConversationConflictError extends Error {
  override readonly name: string = 'ConversationConflictError'
  readonly expectedSeq: number
  readonly actualSeq: number

  constructor(conversation: string, expectedSeq: number, actualSeq: number) {
    super(
      `conversation ${JSON.stringify(conversation)} is at ${actualSeq}, not at ${expectedSeq}: another writer was faster`,
    )
    this.expectedSeq = expectedSeq
    this.actualSeq = actualSeq
  }
}
