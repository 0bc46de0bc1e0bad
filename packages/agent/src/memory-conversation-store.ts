import type { SessionState } from '@skillstoke/core'
import { compareText } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import {
  type AppendOptions,
  ConversationBusyError,
  ConversationConflictError,
  type ConversationMessage,
  type ConversationPage,
  type ConversationStore,
  type ConversationSummary,
  checkAppend,
  checkIds,
  checkPage,
  checkRange,
  DEFAULT_PAGE_SIZE,
  type MessageRange,
  type StoredMessage,
  type StoredUse,
  type TurnClaim,
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
  readonly #claims = new Map<string, { readonly holder: string; readonly until: number }>()

  async append(
    tenant: string,
    conversation: string,
    expectSeq: number,
    messages: readonly ConversationMessage[],
    options: AppendOptions = {},
  ): Promise<number> {
    checkAppend(options)
    const { session, holder } = options
    const stored = this.#conversations.get(keyOf(tenant, conversation)) ?? []
    const repeated = stored.slice(expectSeq, expectSeq + messages.length)
    const isRepeat =
      messages.length > 0 && messages.every((message, index) => repeated[index]?.id === message.id)
    if (isRepeat) return expectSeq + messages.length
    if (stored.length !== expectSeq)
      throw new ConversationConflictError(conversation, expectSeq, stored.length)
    this.#assertFree(tenant, conversation, holder)
    const ids = stored.map(({ id }) => id)
    checkIds(messages, ids)
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

  async claim(
    tenant: string,
    conversation: string,
    { holder, expectSeq, leaseMs }: TurnClaim,
  ): Promise<void> {
    this.#assertFree(tenant, conversation, holder)
    const key = keyOf(tenant, conversation)
    const seq = this.#conversations.get(key)?.length ?? 0
    if (seq !== expectSeq) throw new ConversationConflictError(conversation, expectSeq, seq)
    this.#claims.set(key, { holder, until: Date.now() + leaseMs })
  }

  async release(tenant: string, conversation: string, holder: string): Promise<void> {
    const key = keyOf(tenant, conversation)
    if (this.#claims.get(key)?.holder === holder) this.#claims.delete(key)
  }

  #assertFree(tenant: string, conversation: string, holder: string | undefined): void {
    const claim = this.#claims.get(keyOf(tenant, conversation))
    const remainingMs = (claim?.until ?? 0) - Date.now()
    if (claim !== undefined && claim.holder !== holder && remainingMs > 0)
      throw new ConversationBusyError(conversation, claim.holder, remainingMs)
  }

  /** Makes all session states with the same catalog use one catalog object. */
  #share(state: SessionState): SessionState {
    const digest = nodeHasher.sha256(JSON.stringify(state.catalog))
    const catalog = this.#catalogs.get(digest) ?? state.catalog
    this.#catalogs.set(digest, catalog)
    return { ...state, catalog }
  }

  async readSession(
    tenant: string,
    conversation: string,
    atSeq: number = Infinity,
  ): Promise<SessionState | undefined> {
    const sessions = this.#sessions.get(keyOf(tenant, conversation))
    const positions = [...(sessions?.keys() ?? [])].filter(seq => seq <= atSeq)
    return structuredClone(sessions?.get(Math.max(...positions)))
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

  async list(tenant: string, page: ConversationPage = {}): Promise<readonly ConversationSummary[]> {
    checkPage(page)
    const { after = '', limit = DEFAULT_PAGE_SIZE } = page
    return this.#listAll(tenant)
      .map(([id, messages]) => ({ id, seq: messages.length, at: lastTime(messages) }))
      .filter(({ id, seq }) => seq > 0 && compareText(id, after) > 0)
      .sort((a, b) => compareText(a.id, b.id))
      .slice(0, limit)
  }

  async findUses(
    tenant: string,
    skill: string,
    limit: number = DEFAULT_PAGE_SIZE,
  ): Promise<readonly StoredUse[]> {
    const uses = this.#listAll(tenant).flatMap(([conversation, messages]) =>
      messages.flatMap(({ seq, at, uses = [] }) =>
        uses.filter(use => use.skill === skill).map(use => ({ ...use, conversation, seq, at })),
      ),
    )
    return uses.sort((a, b) => b.at - a.at || b.seq - a.seq).slice(0, limit)
  }

  #listAll(tenant: string): (readonly [id: string, messages: readonly StoredMessage[]])[] {
    return [...this.#conversations].flatMap(([key, messages]) => {
      const [owner, id] = JSON.parse(key) as [string, string]
      return owner === tenant ? [[id, messages] as const] : []
    })
  }

  async fork(tenant: string, conversation: string, atSeq: number, newConversation: string): Promise<void> {
    const target = keyOf(tenant, newConversation)
    const { length } = this.#conversations.get(target) ?? []
    this.#assertFree(tenant, newConversation, undefined)
    if (length > 0) throw new ConversationConflictError(newConversation, 0, length)
    this.#conversations.set(target, [...(await this.read(tenant, conversation, { limit: atSeq }))])
    const sessions = [...(this.#sessions.get(keyOf(tenant, conversation)) ?? [])]
    this.#sessions.set(target, new Map(sessions.filter(([seq]) => seq <= atSeq)))
  }

  async remove(tenant: string, conversation: string): Promise<void> {
    this.#conversations.delete(keyOf(tenant, conversation))
    this.#sessions.delete(keyOf(tenant, conversation))
    this.#claims.delete(keyOf(tenant, conversation))
    const used = new Set(
      [...this.#sessions.values()].flatMap(states => [...states.values()].map(each => each.catalog)),
    )
    for (const [digest, catalog] of this.#catalogs) if (!used.has(catalog)) this.#catalogs.delete(digest)
  }

  async removeInactive(tenant: string, before: number): Promise<number> {
    const inactive = this.#listAll(tenant).filter(([id, messages]) => {
      const isClaimed = (this.#claims.get(keyOf(tenant, id))?.until ?? 0) > Date.now()
      return !isClaimed && lastTime(messages) < before
    })
    for (const [id] of inactive) await this.remove(tenant, id)
    return inactive.length
  }
}

function lastTime(messages: readonly StoredMessage[]): number {
  return messages.at(-1)?.at ?? 0
}

function keyOf(tenant: string, conversation: string): string {
  return JSON.stringify([tenant, conversation])
}
