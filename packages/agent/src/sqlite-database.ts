import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { type Dialect, SqliteDialect } from 'kysely'

/** Node's own SQLite for Kysely, which expects the methods of better-sqlite3. */
export function openSqliteDialect(path: string): Dialect {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON')
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
