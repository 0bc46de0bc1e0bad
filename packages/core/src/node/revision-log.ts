import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { SkillError } from '../index.ts'
import {
  checkOptions,
  checkWholeNumber,
  DEFAULT_HISTORY_LENGTH,
  type KnownOptions,
  keyOfPlace,
} from '../internal-entry.ts'
import type { FolderPlace, MemoryRevisionLogOptions, RevisionLog, RevisionRecord } from '../source-entry.ts'
import { inTransaction, isDamage, isUnwritable, type KeptDatabase, readRows } from './private-database.ts'
import { describeDamage, openStateDatabase } from './state-database.ts'

// The event loop gets a turn between transactions, because the first start with thousands of skills inserts thousands
// of rows.
const ROWS_PER_TRANSACTION = 500

const KNOWN: KnownOptions<MemoryRevisionLogOptions> = { maxRecords: true }

const SCHEMA = `
  PRAGMA busy_timeout = 5000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS revision (
    id INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, location TEXT NOT NULL, body TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS revision_place ON revision (origin, location, id);
`

const FILE = { name: 'history.sqlite', what: 'the steps of the history', schema: SCHEMA }

/**
 * Opens the history of a state directory. All processes that use the directory share this history. If several processes
 * see the same change, only one of these processes records the change. A damaged database is moved aside, and `damage`
 * reports it.
 * @throws {SkillError} IO_FAILED when the directory or the database cannot be used
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory, openRevisionLog } from '@skillstoke/core/node'
 *
 * const history = await openRevisionLog('./state', { maxRecords: 20 }) // closed with the runtime
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')], state: { history } })
 * console.log((await skills.history.log('support-pdf'))[0]?.event) // prints live
 * ```
 */
export async function openRevisionLog(
  stateDirectory: string,
  options: MemoryRevisionLogOptions = {},
): Promise<RevisionLog> {
  checkOptions('openRevisionLog()', options, KNOWN)
  checkWholeNumber('maxRecords', options.maxRecords, 1)
  const { maxRecords = DEFAULT_HISTORY_LENGTH } = options
  return await openStateDatabase(
    stateDirectory,
    FILE,
    (kept, damage) => new SqliteRevisionLog(kept, { folder: stateDirectory, maxRecords, damage }),
  )
}

interface LogDetails {
  readonly folder: string
  readonly maxRecords: number
  /** Description of the damage of the previous database. */
  readonly damage: string | undefined
}

class SqliteRevisionLog implements RevisionLog {
  readonly #kept: KeptDatabase
  readonly #folder: string
  readonly #maxRecords: number
  #damage: string | undefined
  #statements: Statements

  constructor(kept: KeptDatabase, { folder, maxRecords, damage }: LogDetails) {
    this.#kept = kept
    this.#folder = folder
    this.#maxRecords = maxRecords
    this.#damage = damage
    this.#statements = prepare(kept.database)
  }

  get damage(): string | undefined {
    return this.#damage
  }

  last({ origin, location }: FolderPlace): RevisionRecord | undefined {
    if (!this.#kept.database.isOpen) return undefined
    const row = this.#ask(({ newest }) => newest.get(origin, location))
    return row === undefined ? undefined : toRecord(row)
  }

  lasts(): readonly RevisionRecord[] {
    return this.#kept.database.isOpen ? this.#ask(({ lasts }) => lasts.all()).map(toRecord) : []
  }

  async append(records: readonly RevisionRecord[]): Promise<readonly RevisionRecord[]> {
    const dropped: RevisionRecord[] = []
    for (let i = 0; i < records.length; i += ROWS_PER_TRANSACTION) {
      if (i > 0) await setImmediate()
      dropped.push(...this.#appendSome(records.slice(i, i + ROWS_PER_TRANSACTION)))
    }
    return dropped
  }

  #appendSome(records: readonly RevisionRecord[]): readonly RevisionRecord[] {
    this.#ask(() => this.#restoreIfGone())
    try {
      return this.#insert(records)
    } catch (thrown) {
      if (!isUnwritable(thrown)) throw thrown
      // The rows stay in memory until a `heal` succeeds.
      this.#kept.leave(thrown, mergeRecords)
      this.#statements = prepare(this.#kept.database)
      return this.#insert(records)
    }
  }

  #insert(records: readonly RevisionRecord[]): readonly RevisionRecord[] {
    return this.#ask(({ newest, insert, prune }) =>
      inTransaction(this.#kept.database, () =>
        records.flatMap(record => {
          const { origin, location, event, revision } = record
          const row = newest.get(origin, location)
          const last = row === undefined ? undefined : toRecord(row)
          // Another process has already recorded the same step.
          if (last?.event === event && last.revision === revision) return []
          insert.run(origin, location, JSON.stringify(record))
          return prune.all(origin, location, origin, location, this.#maxRecords).map(toRecord)
        }),
      ),
    )
  }

  /**
   * Runs a query. If SQLite reports damage, moves the database aside, copies its readable rows into a new database and
   * repeats the query.
   */
  #ask<Answer>(question: (statements: Statements) => Answer): Answer {
    if (!this.#kept.database.isOpen) throw new SkillError('CLOSED', 'the history is closed')
    try {
      return question(this.#statements)
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown
      this.#damage = describeDamage(FILE, this.#folder, thrown, this.#kept.replaceDamaged(mergeRecords))
      this.#statements = prepare(this.#kept.database)
      return question(this.#statements)
    }
  }

  #restoreIfGone(): void {
    if (this.#kept.isGone()) this.#kept.restore(mergeHistories)
    else if (this.#kept.fault === undefined || !this.#kept.heal(mergeHistories)) return
    this.#statements = prepare(this.#kept.database)
  }

  async list({ origin, location }: FolderPlace): Promise<readonly RevisionRecord[]> {
    return this.#ask(({ ofPlace }) => ofPlace.all(origin, location)).map(toRecord)
  }

  async close(): Promise<void> {
    if (this.#kept.database.isOpen && this.#kept.fault !== undefined) this.#kept.heal(mergeHistories)
    this.#kept.close()
  }
}

function mergeRecords(from: DatabaseSync, to: DatabaseSync): void {
  const insert = to.prepare('INSERT OR IGNORE INTO revision (id, origin, location, body) VALUES (?, ?, ?, ?)')
  for (const { id, origin, location, body } of readRows(from, 'revision', 'id'))
    insert.run(Number(id), String(origin), String(location), String(body))
}

/**
 * Copies the steps of the history `from` into the new history `to`, which another process has created. Sorts all steps
 * by time. If both histories recorded the same state of a folder, keeps only the earlier step.
 */
function mergeHistories(from: DatabaseSync, to: DatabaseSync): void {
  const rows = [from, to].flatMap(database => [...readRows(database, 'revision', 'id')])
  const records = rows.map(toRecord).sort((a, b) => a.at - b.at)
  const insert = to.prepare('INSERT INTO revision (origin, location, body) VALUES (?, ?, ?)')
  const last = new Map<string, RevisionRecord>()
  to.exec('DELETE FROM revision')
  for (const record of records) {
    const key = keyOfPlace(record)
    const before = last.get(key)
    if (before?.event === record.event && before.revision === record.revision) continue
    last.set(key, record)
    insert.run(record.origin, record.location, JSON.stringify(record))
  }
}

interface Statements {
  readonly insert: StatementSync
  readonly newest: StatementSync
  readonly ofPlace: StatementSync
  readonly lasts: StatementSync
  readonly prune: StatementSync
}

function prepare(database: DatabaseSync): Statements {
  const ofPlace = 'FROM revision WHERE origin = ? AND location = ? ORDER BY id DESC'
  return {
    insert: database.prepare('INSERT INTO revision (origin, location, body) VALUES (?, ?, ?)'),
    newest: database.prepare(`SELECT body ${ofPlace} LIMIT 1`),
    ofPlace: database.prepare(`SELECT body ${ofPlace}`),
    lasts: database.prepare(
      'SELECT body FROM revision WHERE id IN (SELECT max(id) FROM revision GROUP BY origin, location)',
    ),
    prune: database.prepare(
      `DELETE FROM revision WHERE origin = ? AND location = ?
       AND id <= (SELECT id ${ofPlace} LIMIT 1 OFFSET ?) RETURNING body`,
    ),
  }
}

function toRecord(row: Record<string, unknown>): RevisionRecord {
  return JSON.parse(String(row['body'])) as RevisionRecord
}
