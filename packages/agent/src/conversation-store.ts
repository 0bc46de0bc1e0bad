import { type Digest, type SessionState, SkillError } from '@skillstoke/core'
import { checkOptions, type KnownOptions, quote, whole } from '@skillstoke/core/internal'

export type MessageRole = 'system' | 'user' | 'assistant' | 'tool'

/** One message of a conversation. A store never rewrites a message, not even a system message. */
export interface ConversationMessage {
  /** Unique in its conversation. */
  readonly id: string
  readonly role: MessageRole
  /** The text of the message, or its AI SDK content parts as JSON values. */
  readonly content: unknown
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
  /** The newest skill generation that the conversation knew when the message was created. */
  readonly skills?: { readonly generation: number; readonly digest: Digest }
  /** The answers of skill tools in this message. @default none */
  readonly uses?: readonly SkillUse[]
  /**
   * True for the first message after a compaction. The model receives this message and the later ones, but no earlier
   * message.
   */
  readonly startsOver?: boolean
  /**
   * Position of the last earlier message that counts. The messages between it and this message were taken back. The
   * model receives none of them. @default no message was taken back
   */
  readonly backTo?: number
}

/** A tool call that a skill answered. */
export interface SkillUse {
  /** The id that the model gave the call. */
  readonly callId: string
  /** The name of the tool. */
  readonly tool: string
  readonly skill: string
  /** The revision of the skill that answered. */
  readonly revision: Digest
}

/** A use of a skill in a stored conversation. */
export interface StoredUse extends SkillUse {
  readonly conversation: string
  /** Position of the message with the answer. */
  readonly seq: number
  readonly at: number
}

/** A stored conversation without its messages. */
export interface ConversationSummary {
  readonly id: string
  /** Position of the last message. */
  readonly seq: number
  /** Wall time of the last message, in milliseconds since the epoch. 0 if there is no message. */
  readonly at: number
}

/** The right of one process to answer in a conversation for a limited time. */
export interface TurnClaim {
  /** Identifies the claimant, for example a process. */
  readonly holder: string
  /** Position of the last message that the claimant knows. */
  readonly expectSeq: number
  /** How long the claim lasts, in milliseconds. */
  readonly leaseMs: number
}

export interface AppendOptions {
  /** State of the session after the appended messages. Stored together with the messages, or not at all. */
  readonly session?: SessionState
  /** The claimant that appends. Needed while the conversation is claimed. */
  readonly holder?: string
}

export interface StoredMessage extends ConversationMessage {
  /** Position in the conversation, counted from 1. */
  readonly seq: number
}

/** Returns the messages that were not taken back. */
export function omitTakenBack(messages: readonly StoredMessage[]): readonly StoredMessage[] {
  let counting: StoredMessage[] = []
  for (const message of messages) {
    const { backTo } = message
    if (backTo !== undefined) counting = counting.filter(({ seq }) => seq <= backTo)
    counting.push(message)
  }
  return counting
}

/** A store of append-only conversations. Each append must state the position of the last stored message. */
export interface ConversationStore {
  /**
   * Appends messages if the last stored message has the position `expectSeq`, which is 0 for a new conversation.
   * Returns the position of the last appended message. Repeating a successful append returns the same position and
   * changes nothing.
   * @throws ConversationConflictError when another writer appended messages first
   * @throws ConversationBusyError when another claimant holds the conversation
   * @throws {SkillError} INVALID_OPTION when another message has the same id
   */
  append(
    tenant: string,
    conversation: string,
    expectSeq: number,
    messages: readonly ConversationMessage[],
    options?: AppendOptions,
  ): Promise<number>
  /**
   * Claims the conversation for one turn, or renews the claim of the same holder. Until the lease ends, only the holder
   * can append. Claim a conversation before each model call, so that a second process stops before it pays for a call.
   * @throws ConversationConflictError when another writer appended messages first
   * @throws ConversationBusyError when another claimant holds the conversation
   */
  claim(tenant: string, conversation: string, claim: TurnClaim): Promise<void>
  /** Ends a claim. Does nothing if `holder` does not hold the conversation. */
  release(tenant: string, conversation: string, holder: string): Promise<void>
  /**
   * Returns the session state that was stored last, or `undefined` if there is none. With `atSeq`, returns the state after
   * the message at this position.
   */
  readSession(tenant: string, conversation: string, atSeq?: number): Promise<SessionState | undefined>
  /** Returns the messages after a position, in order. For an unknown conversation, returns an empty list. */
  read(tenant: string, conversation: string, range?: MessageRange): Promise<readonly StoredMessage[]>
  /** Returns the conversations of a tenant in the order of their ids. `after` is the last id of the previous page. */
  list(tenant: string, page?: ConversationPage): Promise<readonly ConversationSummary[]>
  /** Returns the uses of a skill in all conversations of a tenant, the newest use first. */
  findUses(tenant: string, skill: string, limit?: number): Promise<readonly StoredUse[]>
  /**
   * Copies the messages of a conversation, up to the position `atSeq`, into a new conversation.
   * @throws ConversationConflictError when the new conversation has messages
   * @throws ConversationBusyError when a claimant holds the new conversation
   */
  fork(tenant: string, conversation: string, atSeq: number, newConversation: string): Promise<void>
  /** Removes a conversation. Does nothing if the conversation does not exist. */
  remove(tenant: string, conversation: string): Promise<void>
  /**
   * Removes the conversations of a tenant whose last message is older than `before`, in milliseconds since the epoch.
   * Keeps claimed conversations. Returns the number of removed conversations.
   */
  removeInactive(tenant: string, before: number): Promise<number>
}

/** A range of the messages of a conversation. */
export interface MessageRange {
  /** Position of the message before the first one to read. @default 0 */
  readonly after?: number
  /** Maximum number of messages. @default all */
  readonly limit?: number
}

/** A page of the list of conversations. */
export interface ConversationPage {
  /** The id after which the page begins. @default the page begins with the first id */
  readonly after?: string
  /** Maximum number of conversations. @default 100 */
  readonly limit?: number
}

export const DEFAULT_PAGE_SIZE = 100

const KNOWN_RANGE: KnownOptions<MessageRange> = { after: whole(0), limit: whole(0) }

/** @throws {SkillError} INVALID_OPTION */
export function checkRange(range: MessageRange): void {
  checkOptions('read()', range, KNOWN_RANGE)
}

const KNOWN_APPEND: KnownOptions<AppendOptions> = { session: true, holder: true }

/** @throws {SkillError} INVALID_OPTION */
export function checkAppend(options: AppendOptions | undefined): void {
  checkOptions('append()', options, KNOWN_APPEND)
}

/**
 * @param stored ids of messages of the conversation
 * @throws {SkillError} INVALID_OPTION when an id is stored already, or occurs twice
 */
export function checkIds(messages: readonly ConversationMessage[], stored: readonly string[]): void {
  const ids = messages.map(({ id }) => id)
  const repeated = ids.find((id, index) => stored.includes(id) || ids.indexOf(id) < index)
  if (repeated === undefined) return
  const shown = quote(repeated)
  throw new SkillError('INVALID_OPTION', `the conversation already has a message with the id ${shown}`)
}

const KNOWN_PAGE: KnownOptions<ConversationPage> = { after: true, limit: whole(1) }

/** @throws {SkillError} INVALID_OPTION */
export function checkPage(page: ConversationPage): void {
  checkOptions('list()', page, KNOWN_PAGE)
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
      `conversation ${quote(conversation)} is at ${actualSeq}, not at ${expectedSeq}: another writer was faster`,
    )
    this.expectedSeq = expectedSeq
    this.actualSeq = actualSeq
  }
}

/**
 * Thrown if another process answers in the conversation. Wait for `remainingMs`, or let the other process finish.
 *
 * @example
 * ```ts
 * import { ConversationBusyError, MemoryConversationStore } from '@skillstoke/agent'
 *
 * const store = new MemoryConversationStore()
 * const claim = { expectSeq: 0, leaseMs: 10_000 }
 * await store.claim('local', 'chat-1', { holder: 'one', ...claim })
 * const failure = await store.claim('local', 'chat-1', { holder: 'two', ...claim }).catch((error: unknown) => error)
 * if (failure instanceof ConversationBusyError) console.log(failure.remainingMs <= 10_000) // prints true
 * ```
 */
export class ConversationBusyError extends Error {
  override readonly name: string = 'ConversationBusyError'
  /** The claimant that holds the conversation. */
  readonly holder: string
  /** Time until the claim of the other process ends, unless that process renews it. */
  readonly remainingMs: number

  constructor(conversation: string, holder: string, remainingMs: number) {
    super(
      `another process answers in the conversation ${quote(conversation)}; try again in ${Math.ceil(remainingMs / 1000)} s`,
    )
    this.holder = holder
    this.remainingMs = remainingMs
  }
}
