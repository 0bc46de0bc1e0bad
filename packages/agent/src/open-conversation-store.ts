import type { EventEmitter } from 'node:events'
import { dirname, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { SkillError } from '@skillstoke/core'
import { quote, toMessage } from '@skillstoke/core/internal'
import { createStateDirectory, openWriteLock } from '@skillstoke/core/node'
import { type Dialect, Kysely, PostgresDialect, type PostgresPool, SqliteDialect, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { MIGRATIONS } from './conversation-schema.ts'
import { SqlConversationStore, type SqlEngine } from './sql-conversation-store.ts'
import { openSqlite, whileBusy } from './sqlite-database.ts'

type Database = Kysely<unknown>

// Maximum time that a write waits for other writers.
const BUSY_TIMEOUT_MS = 10_000

export const SQLITE: SqlEngine = {
  retry: async work => await whileBusy(BUSY_TIMEOUT_MS, work),
  locksRows: false,
  // All processes that open the file run on one machine.
  now: () => sql<number>`${Date.now()}`,
}

const POSTGRES: SqlEngine = {
  retry: async work => await retryConflicts(work),
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
  return await open(`in ${quote(path)}`, SQLITE, async () => {
    const dialect = new SqliteDialect({ database: await openSqlite(file) })
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
    dialect: 'createDriver' in pool ? pool : new PostgresDialect({ pool: withoutCrash(pool) }),
    // Kysely takes a lock of the database while it migrates.
    // A wrong address is reported at once, so the opening does not wait for a fail-over.
    migrate: async work => await retryConflicts(work, 0),
  }))
}

/**
 * Keeps the process alive when the server ends a connection. A connection without a listener for errors would end the
 * whole process. The query that runs on the connection fails, and is repeated.
 */
function withoutCrash(pool: PostgresPool): PostgresPool {
  const ignore = (): void => undefined
  const emitter = pool as Partial<EventEmitter>
  emitter.on?.('error', ignore) // idle connections
  emitter.on?.('connect', (client: Partial<EventEmitter>) => client.on?.('error', ignore))
  return pool
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

export async function migrateToLatest(db: Database): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

// Error codes of PostgreSQL after which the same transaction may succeed: serialization failure, deadlock, and a
// reference to a shared text that another transaction has just removed.
const CONFLICTS: readonly unknown[] = ['40001', '40P01', '23503']
// Codes while a database fails over: the server shuts down, crashed or starts, the standby is not promoted yet, or nothing
// listens at the address.
const AWAY: readonly unknown[] = [
  ...['57P01', '57P02', '57P03', '25006', '08000', '08003', '08006'],
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT'],
]
/** The package `pg` reports a broken connection without a code. */
const BROKEN = /^(?:Connection terminated|Client has encountered a connection error|timeout expired)/
const MAX_PAUSE_MS = 20
const AWAY_PAUSE_MS = 250
/** How long a call waits for a fail-over. */
const FAILOVER_MS = 30_000

/**
 * Repeats work after a conflict, and while the database fails over. An answer may be lost after the commit, so the work
 * must be idempotent, as appends are by the ids of their messages.
 */
async function retryConflicts<T>(work: () => Promise<T>, failoverMs: number = FAILOVER_MS): Promise<T> {
  const start = performance.now()
  for (;;) {
    try {
      return await work()
    } catch (thrown) {
      const { code, message = '' } = thrown as { readonly code?: unknown; readonly message?: string }
      const isAway = AWAY.includes(code) || BROKEN.test(message)
      const limitMs = isAway ? failoverMs : BUSY_TIMEOUT_MS
      if (!(isAway || CONFLICTS.includes(code)) || performance.now() > start + limitMs) throw thrown
      await setTimeout(isAway ? AWAY_PAUSE_MS : Math.random() * MAX_PAUSE_MS)
    }
  }
}
