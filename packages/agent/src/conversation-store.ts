import type { Digest, SessionState } from '@skillstoke/core'
import { checkOptions, checkWholeNumber, type KnownOptions } from '@skillstoke/core/internal'

export type MessageRole = 'system' | 'user' | 'assistant' | 'tool'

/** One message of a conversation. A store never rewrites a message, not even a system message. */
export interface ConversationMessage {
  /** Unique in its conversation. A message whose id is already stored is not added again. */
  readonly id: string
  readonly role: MessageRole
  /** The text of the message, or its AI SDK content parts as JSON values. */
  readonly content: unknown
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
  /** The newest skill generation that the conversation knew when the message was created. */
  readonly skills?: { readonly generation: number; readonly digest: Digest }
}

export interface StoredMessage extends ConversationMessage {
  /** Position in the conversation, counted from 1. */
  readonly seq: number
}

/** A store of append-only conversations. Each append must state the position of the last stored message. */
export interface ConversationStore {
  /**
   * Appends messages if the last stored message has the position `expectSeq`, which is 0 for a new conversation.
   * Returns the position of the last appended message. Repeating a successful append returns the same position and
   * changes nothing. `session` is the session state after the appended messages. The messages and the state are stored
   * together or not at all. @throws {ConversationConflictError} when another writer appended messages first
   */
  append(
    tenant: string,
    conversation: string,
    expectSeq: number,
    messages: readonly ConversationMessage[],
    session?: SessionState,
  ): Promise<number>
  /** Returns the session state that was stored last, or `undefined` if there is none. */
  readSession(tenant: string, conversation: string): Promise<SessionState | undefined>
  /** Returns the messages after a position, in order. For an unknown conversation, returns an empty list. */
  read(
    tenant: string,
    conversation: string,
    range?: { readonly after?: number; readonly limit?: number },
  ): Promise<readonly StoredMessage[]>
  /** Copies the messages of a conversation, up to the position `atSeq`, into a new conversation. */
  fork(tenant: string, conversation: string, atSeq: number, newConversation: string): Promise<void>
  /** Removes a conversation. Does nothing if the conversation does not exist. */
  remove(tenant: string, conversation: string): Promise<void>
}

/** The range of messages to read from a conversation. */
export type MessageRange = NonNullable<Parameters<ConversationStore['read']>[2]>

const KNOWN_RANGE: KnownOptions<MessageRange> = { after: true, limit: true }

/** @throws {SkillError} INVALID_OPTION */
export function checkRange(range: MessageRange): void {
  checkOptions('read()', range, KNOWN_RANGE)
  checkWholeNumber('after', range.after, 0)
  checkWholeNumber('limit', range.limit, 0)
}

/**
 * Thrown if another writer appended messages first. Read the conversation again before you retry the append.
 *
 * @example
 * ```ts
 * import { ConversationConflictError, MemoryConversationStore } from '@skillstoke/agent'
 *
 * const store = new MemoryConversationStore()
 * const message = (id: string) => ({ id, role: 'user', content: 'Hello.', at: Date.now() }) as const
 * await store.append('local', 'chat-1', 0, [message('a')])
 * const failure = await store.append('local', 'chat-1', 0, [message('b')]).catch((error: unknown) => error)
 * if (failure instanceof ConversationConflictError) console.log(failure.actualSeq) // prints 1
 * ```
 */
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
