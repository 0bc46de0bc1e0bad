import { closeSync, openSync } from 'node:fs'
import type { SQLInputValue } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { type Dialect, SqliteDialect } from 'kysely'

/** Node's own SQLite for Kysely, which expects the methods of better-sqlite3. */
export async function openSqliteDialect(path: string): Promise<Dialect> {
  // An old Node does not have it, and is refused in one line when a runtime is created.
  const { DatabaseSync } = await import('node:sqlite')
  // What people say to an agent is nobody else's; the files that SQLite puts beside it get the same mode.
  closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path)
  try {
    // Whoever writes waits by trying again: the driver is synchronous, and waiting inside it would stop everything.
    database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL')
    database.exec('PRAGMA busy_timeout = 0; PRAGMA foreign_keys = ON')
  } catch (thrown) {
    database.close()
    throw thrown
  }
  return new SqliteDialect({
    database: {
      close: () => database.close(),
      prepare: sql => {
        const statement = database.prepare(sql)
        const values = (parameters: readonly unknown[]): SQLInputValue[] => [...parameters] as SQLInputValue[]
        return {
          reader: statement.columns().length > 0,
          all: parameters => statement.all(...values(parameters)),
          run: parameters => statement.run(...values(parameters)),
          iterate: parameters => statement.iterate(...values(parameters)),
        }
      },
    },
  })
}

// SQLITE_BUSY, in the lower byte of its variants.
const BUSY = 5
const MAX_PAUSE_MS = 20

/** Tries again while another connection writes, for at most this long. */
export async function whileBusy<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const end = performance.now() + timeoutMs
  for (;;) {
    try {
      return await work()
    } catch (thrown) {
      const code = (thrown as { errcode?: number }).errcode
      if (code === undefined || (code & 0xff) !== BUSY || performance.now() > end) throw thrown
      await setTimeout(Math.random() * MAX_PAUSE_MS)
    }
  }
}
