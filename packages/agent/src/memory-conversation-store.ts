import type { SessionState } from '@skillstoke/core'
import { nodeHasher } from '@skillstoke/core/node'
import {
  ConversationConflictError,
  type ConversationMessage,
  type ConversationStore,
  checkRange,
  type MessageRange,
  type StoredMessage,
} from './conversation-store.ts'

/**
 * Stores conversations in memory until the process ends.
 *
 * @example
 * ```ts
 * import { MemoryConversationStore } from '@skillstoke/agent'
 *
 * const store = new MemoryConversationStore()
 * const message = { id: 'a', role: 'user', content: 'Hello.', at: Date.now() } as const
 * console.log(await store.append('local', 'chat-1', 0, [message])) // prints 1
 * console.log((await store.read('local', 'chat-1')).map(({ seq, content }) => `${seq}: ${content}`))
 * // prints [ '1: Hello.' ]
 * ```
 */
export class MemoryConversationStore implements ConversationStore {
  readonly #conversations = new Map<string, StoredMessage[]>()
  /** Session states, keyed by conversation and then by number of messages. */
  readonly #sessions = new Map<string, Map<number, SessionState>>()
  /** Catalogs, keyed by digest. Several conversations may share a catalog. */
  readonly #catalogs = new Map<string, NonNullable<SessionState['catalog']>>()

  async append(
    tenant: string,
    conversation: string,
    expectSeq: number,
    messages: readonly ConversationMessage[],
    session?: SessionState,
  ): Promise<number> {
    const stored = this.#conversations.get(keyOf(tenant, conversation)) ?? []
    const repeated = stored.slice(expectSeq, expectSeq + messages.length)
    const isRepeat =
      messages.length > 0 && messages.every((message, index) => repeated[index]?.id === message.id)
    if (isRepeat) return expectSeq + messages.length
    if (stored.length !== expectSeq)
      throw new ConversationConflictError(conversation, expectSeq, stored.length)
    const added = messages.map((message, index) =>
      structuredClone({ ...message, seq: expectSeq + index + 1 }),
    )
    const key = keyOf(tenant, conversation)
    this.#conversations.set(key, [...stored, ...added])
    const end = expectSeq + messages.length
    if (session !== undefined) {
      const sessions = this.#sessions.get(key) ?? new Map<number, SessionState>()
      this.#sessions.set(key, sessions.set(end, this.#share(structuredClone(session))))
    }
    return end
  }

  /** Makes all session states with the same catalog use one catalog object. */
  #share(state: SessionState): SessionState {
    if (state.catalog === undefined) return state
    const digest = nodeHasher.sha256(JSON.stringify(state.catalog))
    const catalog = this.#catalogs.get(digest) ?? state.catalog
    this.#catalogs.set(digest, catalog)
    return { ...state, catalog }
  }

  async readSession(tenant: string, conversation: string): Promise<SessionState | undefined> {
    const sessions = this.#sessions.get(keyOf(tenant, conversation))
    return structuredClone(sessions?.get(Math.max(...sessions.keys())))
  }

  async read(
    tenant: string,
    conversation: string,
    range: MessageRange = {},
  ): Promise<readonly StoredMessage[]> {
    checkRange(range)
    const after = range.after ?? 0
    const stored = this.#conversations.get(keyOf(tenant, conversation)) ?? []
    return structuredClone(stored.slice(after, range.limit === undefined ? undefined : after + range.limit))
  }

  async fork(tenant: string, conversation: string, atSeq: number, newConversation: string): Promise<void> {
    const target = keyOf(tenant, newConversation)
    const existing = this.#conversations.get(target)
    if (existing !== undefined) throw new ConversationConflictError(newConversation, 0, existing.length)
    this.#conversations.set(target, [...(await this.read(tenant, conversation, { limit: atSeq }))])
    const sessions = [...(this.#sessions.get(keyOf(tenant, conversation)) ?? [])]
    this.#sessions.set(target, new Map(sessions.filter(([seq]) => seq <= atSeq)))
  }

  async remove(tenant: string, conversation: string): Promise<void> {
    this.#conversations.delete(keyOf(tenant, conversation))
    this.#sessions.delete(keyOf(tenant, conversation))
    const used = new Set(
      [...this.#sessions.values()].flatMap(states => [...states.values()].map(each => each.catalog)),
    )
    for (const [digest, catalog] of this.#catalogs) if (!used.has(catalog)) this.#catalogs.delete(digest)
  }
}

function keyOf(tenant: string, conversation: string): string {
  return JSON.stringify([tenant, conversation])
}
