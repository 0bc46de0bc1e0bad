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
/** Older counts are removed. */
const KEPT_DAYS = 90
/** Clients choose names and words, so they could fill the disk. */
const MAX_ROWS_PER_DAY = 5_000
const MAX_TEXT = 200
const FLUSH_MS = 10_000

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

const ADD = `UPDATE usage SET count = count + ?
  WHERE day = ? AND kind = ? AND name = ? AND revision = ? AND client = ?`
const INSERT = `INSERT INTO usage (count, day, kind, name, revision, client)
  SELECT ?, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM usage WHERE day = ?) < ${MAX_ROWS_PER_DAY}`

/** Opens the counts of a state directory. @throws {SkillError} IO_FAILED when the directory cannot be used */
export async function openUsageLog(stateDirectory: string, clock: Clock = systemClock): Promise<UsageLog> {
  return new UsageLog(await openStateDatabase(stateDirectory, FILE), clock)
}

/** Counts uses of skills for each day. Collects counts in memory, so that counting never waits for the disk. */
export class UsageLog {
  readonly #database: StateDatabase
  readonly #clock: Clock
  readonly #waiting = new Map<string, UsageCount>()
  #cancelFlush: (() => void) | undefined

  constructor(database: StateDatabase, clock: Clock) {
    this.#database = database
    this.#clock = clock
  }

  /** Counts one use. It reaches the disk within ten seconds, or when the log is closed. */
  add(use: Pick<UsageCount, 'kind' | 'name' | 'revision' | 'client'>): void {
    const [name, client] = [use.name, use.client].map(text => text.slice(0, MAX_TEXT)) as [string, string]
    const row = { ...use, name, client, day: this.#dayBefore(0) }
    const key = JSON.stringify(Object.values(row))
    if (this.#waiting.size >= MAX_ROWS_PER_DAY) return
    this.#waiting.set(key, { ...row, count: (this.#waiting.get(key)?.count ?? 0) + 1 })
    this.#cancelFlush ??= this.#clock.after(FLUSH_MS, () => this.flush(), { background: true })
  }

  /** Returns the counts of the last days, the newest day first. Today is one of them. */
  list(days: number): readonly UsageCount[] {
    this.flush()
    const first = this.#dayBefore(days - 1)
    return this.#database
      .all('SELECT * FROM usage WHERE day >= ? ORDER BY day DESC, count DESC, kind, name, revision', first)
      .map(row => row as unknown as UsageCount)
  }

  /** Writes what was counted. If the disk cannot be written, keeps the counts for the next time. */
  flush(): void {
    this.#cancelFlush?.()
    this.#cancelFlush = undefined
    if (this.#waiting.size === 0 || !this.#database.isOpen) return
    try {
      this.#database.transaction(() => {
        for (const { count, day, kind, name, revision, client } of this.#waiting.values()) {
          const values = [count, day, kind, name, revision, client]
          if (this.#database.run(ADD, ...values) === 0) this.#database.run(INSERT, ...values, day)
        }
        this.#database.run('DELETE FROM usage WHERE day < ?', this.#dayBefore(KEPT_DAYS))
      })
      this.#waiting.clear()
    } catch (thrown) {
      if (!cannotWrite(thrown)) throw thrown
    }
  }

  close(): void {
    this.flush()
    this.#database.close()
  }

  #dayBefore(days: number): string {
    return new Date(this.#clock.now() - days * DAY_MS).toISOString().slice(0, 10)
  }
}
