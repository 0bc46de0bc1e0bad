import { closeSync, openSync } from 'node:fs'
import type { SQLInputValue } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import type { SqliteDatabase } from 'kysely'

/** Opens Node's SQLite for Kysely, which expects the methods of better-sqlite3. */
export async function openSqlite(path: string): Promise<SqliteDatabase> {
  // Imports `node:sqlite` only here, because older versions of Node lack this module. On these versions of Node,
  // `createSkillRuntime()` reports a clear error.
  const { DatabaseSync } = await import('node:sqlite')
  // Conversations are private. SQLite gives its journal files the same mode as the database file.
  if (path !== ':memory:') closeSync(openSync(path, 'a', 0o600))
  const database = new DatabaseSync(path)
  try {
    // Writers retry asynchronously, because waiting inside the synchronous driver would block the process.
    database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL')
    database.exec('PRAGMA busy_timeout = 0; PRAGMA foreign_keys = ON')
  } catch (thrown) {
    database.close()
    throw thrown
  }
  return {
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
  }
}

// SQLITE_BUSY. The extended codes of SQLITE_BUSY have this value in their lowest byte.
const BUSY = 5
const MAX_PAUSE_MS = 20

/** Runs `work`, and retries it for at most `timeoutMs` while another connection writes. */
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
