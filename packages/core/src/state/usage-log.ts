import { type Clock, systemClock } from '../host.ts'
import { cannotWrite } from './private-database.ts'
import { openStateDatabase, type StateDatabase, type StateFile } from './state-database.ts'

/** What happened on one day, and how often. */
export interface UsageCount {
  /** Date in UTC, for example `2026-11-26`. */
  readonly day: string
  /** `load`: a skill was loaded. `miss`: a search matched no skill. */
  readonly kind: 'load' | 'miss'
  /** Name of the skill, or the words of the search. */
  readonly name: string
  /** Revision that was loaded. Empty for a search. */
  readonly revision: string
  /** Name of the MCP client, or of the verb, that used the skill. */
  readonly client: string
  readonly count: number
}

const DAY_MS = 24 * 60 * 60 * 1000
/** Number of days with uses that are kept. */
const KEPT_DAYS = 90
/** The words of a search are private, so the counts of rare users do not stay for ever. */
const MAX_AGE_DAYS = 365
/** Clients choose names and words, so they could fill the disk. */
const MAX_ROWS_PER_DAY = 5_000
const MAX_TEXT = 200

const FILE: StateFile = {
  name: 'usage.sqlite',
  what: 'the counts of uses',
  salvaged: { usage: 'day' },
  schema: `
    PRAGMA busy_timeout = 1000;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE IF NOT EXISTS usage (
      day TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, revision TEXT NOT NULL, client TEXT NOT NULL,
      count INTEGER NOT NULL, PRIMARY KEY (day, kind, name, revision, client)
    ) WITHOUT ROWID;
  `,
}

const ADD = `UPDATE usage SET count = count + 1
  WHERE day = ? AND kind = ? AND name = ? AND revision = ? AND client = ?`
const INSERT = `INSERT INTO usage (count, day, kind, name, revision, client)
  SELECT 1, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM usage WHERE day = ?) < ${MAX_ROWS_PER_DAY}`

// Mostly counts days and not time, because a wrong clock would otherwise remove everything.
const FORGET = `DELETE FROM usage WHERE day < ? OR day NOT IN
  (SELECT DISTINCT day FROM usage ORDER BY day DESC LIMIT ${KEPT_DAYS})`

/** Opens the counts of a state directory. @throws {SkillError} IO_FAILED when the directory cannot be used */
export async function openUsageLog(stateDirectory: string, clock: Clock = systemClock): Promise<UsageLog> {
  return new UsageLog(await openStateDatabase(stateDirectory, FILE), clock)
}

/** Counts uses of skills for each day. */
export class UsageLog {
  readonly #database: StateDatabase
  readonly #clock: Clock

  constructor(database: StateDatabase, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /** Counts one use. Does not count it if the disk cannot be written, because counting must not fail the use. */
  add({ kind, name, revision, client }: Pick<UsageCount, 'kind' | 'name' | 'revision' | 'client'>): void {
    if (!this.#database.isOpen) return
    const day = this.#dayBefore(0)
    const values = [day, kind, name.slice(0, MAX_TEXT), revision, client.slice(0, MAX_TEXT)]
    try {
      if (this.#database.run(ADD, ...values) > 0) return
      this.#database.run(INSERT, ...values, day)
      this.#database.run(FORGET, this.#dayBefore(MAX_AGE_DAYS))
    } catch (thrown) {
      if (!cannotWrite(thrown)) throw thrown
    }
  }

  /** Returns the counts of the last days, the newest day first. Today is one of them. */
  list(days: number): readonly UsageCount[] {
    return this.#database
      .all(
        'SELECT * FROM usage WHERE day BETWEEN ? AND ? ORDER BY day DESC, count DESC, kind, name, revision',
        ...[this.#dayBefore(days - 1), this.#dayBefore(0)],
      )
      .map(row => row as unknown as UsageCount)
  }

  close(): void {
    this.#database.close()
  }

  #dayBefore(days: number): string {
    return new Date(Math.max(0, this.#clock.now() - days * DAY_MS)).toISOString().slice(0, 10)
  }
}
