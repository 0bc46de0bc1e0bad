import { Kysely, SqliteDialect } from 'kysely'
import { migrateToLatest, SQLITE } from './open-conversation-store.ts'
import { SqlConversationStore } from './sql-conversation-store.ts'
import { openSqlite } from './sqlite-database.ts'

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
export class MemoryConversationStore extends SqlConversationStore {
  constructor() {
    // Kysely opens the database at the first query, because a constructor cannot wait.
    const database = async (): ReturnType<typeof openSqlite> => {
      const opened = await openSqlite(':memory:')
      await migrateToLatest(new Kysely({ dialect: new SqliteDialect({ database: opened }) }))
      return opened
    }
    super(new Kysely({ dialect: new SqliteDialect({ database }) }), SQLITE)
  }
}
