import type { ConversationStore } from './conversation-store.ts'
import { openMemoryStore } from './open-conversation-store.ts'
import type { SqlConversationStore } from './sql-conversation-store.ts'

type Given<Method extends keyof ConversationStore> = Parameters<ConversationStore[Method]>
type Answer<Method extends keyof ConversationStore> = ReturnType<ConversationStore[Method]>

/**
 * Stores conversations in memory until the process ends: the store of `openConversationStore`, without a file.
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
  #opened: Promise<SqlConversationStore> | undefined

  async append(...given: Given<'append'>): Answer<'append'> {
    return await (await this.#open()).append(...given)
  }

  async claim(...given: Given<'claim'>): Answer<'claim'> {
    await (await this.#open()).claim(...given)
  }

  async release(...given: Given<'release'>): Answer<'release'> {
    await (await this.#open()).release(...given)
  }

  async readSession(...given: Given<'readSession'>): Answer<'readSession'> {
    return await (await this.#open()).readSession(...given)
  }

  async read(...given: Given<'read'>): Answer<'read'> {
    return await (await this.#open()).read(...given)
  }

  async list(...given: Given<'list'>): Answer<'list'> {
    return await (await this.#open()).list(...given)
  }

  async findUses(...given: Given<'findUses'>): Answer<'findUses'> {
    return await (await this.#open()).findUses(...given)
  }

  async fork(...given: Given<'fork'>): Answer<'fork'> {
    await (await this.#open()).fork(...given)
  }

  async remove(...given: Given<'remove'>): Answer<'remove'> {
    await (await this.#open()).remove(...given)
  }

  async removeInactive(...given: Given<'removeInactive'>): Answer<'removeInactive'> {
    return await (await this.#open()).removeInactive(...given)
  }

  /** Opens the database at the first call, because a constructor cannot wait. */
  async #open(): Promise<SqlConversationStore> {
    this.#opened ??= openMemoryStore()
    return await this.#opened
  }
}
