import { setImmediate } from 'node:timers/promises'
import { keyOf } from '../history/decisions.ts'
import { LOG_OPTIONS, type MemoryRevisionLogOptions } from '../history/revision-log.ts'
import { checkOptions, DEFAULT_HISTORY_LENGTH } from '../internal-entry.ts'
import type { FolderPlace, RevisionLog, RevisionRecord } from '../source-entry.ts'
import { cannotWrite } from './private-database.ts'
import { openStateDatabase, type StateDatabase, type StateFile } from './state-database.ts'

// The event loop gets a turn between transactions, because the first start with thousands of skills inserts thousands
// of rows.
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

const FILE: StateFile = {
  name: 'history.sqlite',
  what: 'the steps of the history',
  schema: SCHEMA,
  salvaged: { revision: 'id' },
}

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
  checkOptions('openRevisionLog()', options, LOG_OPTIONS)
  const state = await openStateDatabase(stateDirectory, FILE)
  return new SqliteRevisionLog(state, options.maxRecords ?? DEFAULT_HISTORY_LENGTH)
}

const NEWEST = 'SELECT body FROM revision WHERE origin = ? AND location = ? ORDER BY id DESC'

const PRUNE = `DELETE FROM revision WHERE origin = ? AND location = ? AND id <= (
    SELECT id FROM revision WHERE origin = ? AND location = ? ORDER BY id DESC LIMIT 1 OFFSET ?
  ) RETURNING body`

class SqliteRevisionLog implements RevisionLog {
  readonly #state: StateDatabase
  readonly #maxRecords: number
  /** Steps that could not be written, oldest first. The next `append` tries again. */
  readonly #waiting: RevisionRecord[] = []

  constructor(state: StateDatabase, maxRecords: number) {
    this.#state = state
    this.#maxRecords = maxRecords
  }

  get damage(): string | undefined {
    return this.#state.damage
  }

  last(place: FolderPlace): RevisionRecord | undefined {
    if (!this.#state.isOpen) return undefined
    return this.#waiting.findLast(each => keyOf(each) === keyOf(place)) ?? this.#lastWritten(place)
  }

  #lastWritten({ origin, location }: FolderPlace): RevisionRecord | undefined {
    const row = this.#state.get(`${NEWEST} LIMIT 1`, origin, location)
    return row === undefined ? undefined : toRecord(row)
  }

  lasts(): readonly RevisionRecord[] {
    if (!this.#state.isOpen) return []
    const written = this.#state
      .all('SELECT body FROM revision WHERE id IN (SELECT max(id) FROM revision GROUP BY origin, location)')
      .map(toRecord)
    return [...new Map([...written, ...this.#waiting].map(each => [keyOf(each), each])).values()]
  }

  async append(records: readonly RevisionRecord[]): Promise<readonly RevisionRecord[]> {
    this.#waiting.push(...records)
    const dropped: RevisionRecord[] = []
    try {
      for (let isFirst = true; this.#waiting.length > 0; isFirst = false) {
        if (!isFirst) await setImmediate()
        const some = this.#waiting.slice(0, ROWS_PER_TRANSACTION)
        dropped.push(...this.#state.transaction(() => some.flatMap(each => this.#insert(each))))
        this.#waiting.splice(0, some.length)
      }
    } catch (thrown) {
      if (!cannotWrite(thrown)) throw thrown
    }
    return dropped
  }

  /** Returns the steps that the new step displaces. */
  #insert(record: RevisionRecord): readonly RevisionRecord[] {
    const { origin, location, event, revision } = record
    const last = this.#lastWritten(record)
    // Another process has already recorded the same step.
    if (last?.event === event && last.revision === revision) return []
    this.#state.run(
      'INSERT INTO revision (origin, location, body) VALUES (?, ?, ?)',
      origin,
      location,
      JSON.stringify(record),
    )
    return this.#state.all(PRUNE, origin, location, origin, location, this.#maxRecords).map(toRecord)
  }

  async list(place: FolderPlace): Promise<readonly RevisionRecord[]> {
    const waiting = this.#waiting.filter(each => keyOf(each) === keyOf(place))
    return [...waiting.toReversed(), ...this.#state.all(NEWEST, place.origin, place.location).map(toRecord)]
  }

  async close(): Promise<void> {
    if (this.#state.isOpen) await this.append([])
    this.#state.close()
  }
}

function toRecord(row: Record<string, unknown>): RevisionRecord {
  return JSON.parse(String(row['body'])) as RevisionRecord
}
