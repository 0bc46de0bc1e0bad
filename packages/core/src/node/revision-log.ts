import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import {
  DEFAULT_HISTORY_LENGTH,
  type FolderPlace,
  type MemoryRevisionLogOptions,
  type RevisionLog,
  type RevisionRecord,
  SkillError,
} from '../index.ts'
import { openStateDatabase } from './state-database.ts'

// Between two of them the event loop has its turn: the first start of a large folder has thousands of rows.
const ROWS_PER_TRANSACTION = 500

const SCHEMA = `
  PRAGMA busy_timeout = 5000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS revision (
    id INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, location TEXT NOT NULL, body TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS revision_place ON revision (origin, location, id);
`

/**
 * Opens the history of a state directory, which all its processes write to; of several that saw the same change one has it
 * written down.
 * @throws {SkillError} IO_FAILED when the directory or the database cannot be used
 */
export async function openRevisionLog(
  stateDirectory: string,
  options: MemoryRevisionLogOptions = {},
): Promise<RevisionLog> {
  const file = { name: 'history.sqlite', what: 'the history', schema: SCHEMA }
  return await openStateDatabase(
    stateDirectory,
    file,
    database => new SqliteRevisionLog(database, options.maxRecords ?? DEFAULT_HISTORY_LENGTH),
  )
}

class SqliteRevisionLog implements RevisionLog {
  readonly #database: DatabaseSync
  readonly #maxRecords: number
  readonly #insert: StatementSync
  readonly #newest: StatementSync
  readonly #ofPlace: StatementSync
  readonly #lasts: StatementSync
  readonly #prune: StatementSync

  constructor(database: DatabaseSync, maxRecords: number) {
    this.#database = database
    this.#maxRecords = maxRecords
    const ofPlace = 'FROM revision WHERE origin = ? AND location = ? ORDER BY id DESC'
    this.#insert = database.prepare('INSERT INTO revision (origin, location, body) VALUES (?, ?, ?)')
    this.#newest = database.prepare(`SELECT body ${ofPlace} LIMIT 1`)
    this.#ofPlace = database.prepare(`SELECT body ${ofPlace}`)
    this.#lasts = database.prepare(
      'SELECT body FROM revision WHERE id IN (SELECT max(id) FROM revision GROUP BY origin, location)',
    )
    this.#prune = database.prepare(
      `DELETE FROM revision WHERE origin = ?1 AND location = ?2 AND id <= (SELECT id FROM revision WHERE origin = ?1 AND location = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)`,
    )
  }

  last({ origin, location }: FolderPlace): RevisionRecord | undefined {
    if (!this.#database.isOpen) return undefined
    const row = this.#newest.get(origin, location)
    return row === undefined ? undefined : toRecord(row)
  }

  lasts(): readonly RevisionRecord[] {
    return this.#database.isOpen ? this.#lasts.all().map(toRecord) : []
  }

  async append(records: readonly RevisionRecord[]): Promise<void> {
    for (let i = 0; i < records.length; i += ROWS_PER_TRANSACTION) {
      if (i > 0) await setImmediate()
      this.#appendSome(records.slice(i, i + ROWS_PER_TRANSACTION))
    }
  }

  #appendSome(records: readonly RevisionRecord[]): void {
    if (!this.#database.isOpen) throw new SkillError('CLOSED', 'the history is closed')
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      for (const record of records) {
        const { origin, location, event, revision } = record
        const last = this.last(record)
        // Another process has seen the same.
        if (last?.event === event && last.revision === revision) continue
        this.#insert.run(origin, location, JSON.stringify(record))
        this.#prune.run(origin, location, this.#maxRecords)
      }
      this.#database.exec('COMMIT')
    } catch (thrown) {
      this.#database.exec('ROLLBACK')
      throw thrown
    }
  }

  async list({ origin, location }: FolderPlace): Promise<readonly RevisionRecord[]> {
    return this.#ofPlace.all(origin, location).map(toRecord)
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close()
  }
}

function toRecord(row: Record<string, unknown>): RevisionRecord {
  return JSON.parse(String(row['body'])) as RevisionRecord
}
