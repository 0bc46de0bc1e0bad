import { dirname, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { createStateDirectory, openWriteLock } from '@skillstoke/core/node'
import { type Dialect, Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { type ConversationTables, MIGRATIONS } from './conversation-schema.ts'
import { SqlConversationStore, type SqlEngine } from './sql-conversation-store.ts'
import { openSqliteDialect, whileBusy } from './sqlite-database.ts'

type Database = Kysely<ConversationTables>

// Maximum time that a write waits for other writers.
const BUSY_TIMEOUT_MS = 10_000

const SQLITE: SqlEngine = {
  retry: async work => await whileBusy(BUSY_TIMEOUT_MS, work),
  locksRows: false,
  // All processes that open the file run on one machine.
  now: () => sql<number>`${Date.now()}`,
}

const POSTGRES: SqlEngine = {
  retry: retryConflicts,
  locksRows: true,
  // The clock of the server, because the clocks of several machines differ.
  now: () => sql<string>`floor(extract(epoch from clock_timestamp()) * 1000)`,
}

/**
 * Opens a store in an SQLite file, and creates the file if necessary. Several processes may open the same file. The
 * caller must close the store.
 * @throws {SkillError} IO_FAILED when the file cannot be opened, or was written by a newer version
 *
 * @example
 * ```ts
 * import { createOfflineModel, openConversationStore, SkillAgent } from '@skillstoke/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * await using store = await openConversationStore('./conversations.sqlite')
 * const agent = new SkillAgent({ skills, model: createOfflineModel(), store })
 * await agent.conversation('chat-1').send('Hello.')
 * const stored = await store.read('local', 'chat-1')
 * console.log(stored.map(({ role }) => role)) // prints [ 'system', 'user', 'assistant' ]
 * ```
 */
export async function openConversationStore(path: string): Promise<SqlConversationStore> {
  const file = resolve(path)
  createStateDirectory(dirname(file))
  return await open(`in ${JSON.stringify(path)}`, SQLITE, async () => {
    const dialect = await openSqliteDialect(file)
    const lock = await openWriteLock(dirname(file))
    return {
      dialect,
      migrate: async work => {
        try {
          await lock.run(async () => await whileBusy(BUSY_TIMEOUT_MS, work))
        } finally {
          await lock.close()
        }
      },
    }
  })
}

/**
 * Opens a store in a PostgreSQL database, and creates its tables if necessary. Many processes on many machines may use
 * the same database. `pool` is a `Pool` of the package `pg`, or a Kysely dialect for PostgreSQL. `close()` of the store
 * also ends the pool.
 * @throws {SkillError} IO_FAILED when the database cannot be reached, or was written by a newer version
 *
 * @example
 * ```ts no-run
 * import { openPostgresStore } from '@skillstoke/agent'
 * import pg from 'pg'
 *
 * const pool = new pg.Pool({ connectionString: 'postgres://localhost/chats' })
 * await using store = await openPostgresStore(pool)
 * console.log(await store.list('local'))
 * ```
 */
export async function openPostgresStore(pool: PostgresPool | Dialect): Promise<SqlConversationStore> {
  return await open('in PostgreSQL', POSTGRES, async () => ({
    dialect: 'createDriver' in pool ? pool : new PostgresDialect({ pool }),
    // Kysely takes a lock of the database while it migrates.
    migrate: async work => await retryConflicts(work),
  }))
}

interface Opened {
  readonly dialect: Dialect
  /** Runs the migrations while no other process runs them. */
  readonly migrate: (work: () => Promise<void>) => Promise<void>
}

async function open(
  place: string,
  engine: SqlEngine,
  connect: () => Promise<Opened>,
): Promise<SqlConversationStore> {
  let database: Database | undefined
  try {
    const { dialect, migrate } = await connect()
    const opened: Database = new Kysely({ dialect })
    database = opened
    await migrate(async () => await migrateToLatest(opened))
    return new SqlConversationStore(opened, engine)
  } catch (thrown) {
    // A failure to close would hide why the database could not be opened.
    await database?.destroy().catch(() => undefined)
    const message = `the conversations ${place} cannot be opened: ${toMessage(thrown)}`
    throw new SkillError('IO_FAILED', message, { cause: thrown })
  }
}

async function migrateToLatest(db: Database): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

// Error codes of PostgreSQL after which the same transaction may succeed: serialization failure, deadlock, and a
// reference to a shared text that another transaction has just removed.
const RETRIABLE: readonly unknown[] = ['40001', '40P01', '23503']
const MAX_PAUSE_MS = 20

async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  const end = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      return await work()
    } catch (thrown) {
      const { code } = thrown as { readonly code?: unknown }
      if (!RETRIABLE.includes(code) || performance.now() > end) throw thrown
      await setTimeout(Math.random() * MAX_PAUSE_MS)
    }
  }
}
