import type { DatabaseSync, StatementSync } from 'node:sqlite'
import {
  type DecisionStore,
  type FolderDecisions,
  type FolderPlace,
  type MadeDecision,
  type RecordedDecision,
  SkillError,
  toMessage,
  withDecision,
} from '../index.ts'
import { isDamage, type KeptDatabase } from './private-database.ts'
import { openStateDatabase } from './state-database.ts'

export interface DecisionStoreOptions {
  /** How often decisions of other processes are looked for, in milliseconds. @default 250 */
  readonly pollMs?: number
}

const DEFAULT_POLL_MS = 250

const SCHEMA = `
  PRAGMA busy_timeout = 5000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS decision (
    id INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, location TEXT NOT NULL, body TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS decision_place ON decision (origin, location, id);
`

/**
 * Opens the decisions of a state directory: readable by its user alone, outside everything that is served, and shared by
 * all processes of the directory. What one decides the others follow within a moment. When the database is damaged it is moved
 * aside and `damage` says so; folders about which the store remembers decisions then keep their last good revision.
 * @throws {SkillError} IO_FAILED when the directory or the database cannot be used
 */
export async function openDecisions(
  stateDirectory: string,
  options: DecisionStoreOptions = {},
): Promise<DecisionStore> {
  const file = { name: 'decisions.sqlite', what: 'the decisions', schema: SCHEMA, isVerified: true }
  return await openStateDatabase(
    stateDirectory,
    file,
    (kept, damage) => new SqliteDecisions(kept, options.pollMs ?? DEFAULT_POLL_MS, damage),
  )
}

interface Row {
  readonly id: number
  readonly origin: string
  readonly location: string
  readonly body: string
}

class SqliteDecisions implements DecisionStore {
  readonly isLasting = true
  readonly damage?: string
  readonly #kept: KeptDatabase
  #statements: Statements
  readonly #folders = new Map<string, FolderDecisions>()
  readonly #listeners = new Set<(made: readonly MadeDecision[]) => void>()
  readonly #timer: NodeJS.Timeout
  #lastId = 0
  #seenVersion: unknown

  constructor(kept: KeptDatabase, pollMs: number, damage: string | undefined) {
    this.#kept = kept
    if (damage !== undefined) this.damage = damage
    this.#statements = prepare(kept.database)
    this.#seenVersion = this.#readVersion()
    this.#takeNewer()
    this.#timer = setInterval(() => this.#poll(), pollMs).unref()
  }

  find(place: FolderPlace): FolderDecisions | undefined {
    return this.#folders.get(keyOf(place))
  }

  async record({ origin, location }: FolderPlace, decision: RecordedDecision): Promise<void> {
    const { fault } = this.#kept
    if (fault !== undefined)
      throw new SkillError('IO_FAILED', `the decision cannot be stored: ${fault}; nothing was decided`)
    const made = this.#use(() => {
      this.#restoreIfGone()
      this.#statements.insert.run(origin, location, JSON.stringify(decision))
      return this.#takeNewer()
    })
    this.#tell(made)
  }

  async list({ origin, location }: FolderPlace): Promise<readonly RecordedDecision[]> {
    return this.#use(() => {
      const rows = this.#statements.ofPlace.all(origin, location) as unknown as { readonly body: string }[]
      return rows.map(({ body }) => JSON.parse(body) as RecordedDecision)
    })
  }

  /** What is known stays in force; the next start moves the damaged database aside, and folders keep their last good revision. */
  #use<Value>(work: () => Value): Value {
    if (!this.#kept.database.isOpen) throw new SkillError('CLOSED', 'the decisions are closed')
    try {
      return work()
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown
      throw new SkillError(
        'IO_FAILED',
        `the decisions are damaged (${toMessage(thrown)}); end all processes of the state directory and start again`,
        { cause: thrown },
      )
    }
  }

  subscribe(onChange: (made: readonly MadeDecision[]) => void): () => void {
    this.#listeners.add(onChange)
    return () => this.#listeners.delete(onChange)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#listeners.clear()
    this.#kept.close()
  }

  /** The number changes when another connection has written. */
  #readVersion(): unknown {
    return this.#statements.version.get()?.['data_version']
  }

  #poll(): void {
    let made: readonly MadeDecision[]
    try {
      this.#restoreIfGone()
      const version = this.#readVersion()
      if (version === this.#seenVersion) return
      made = this.#takeNewer()
      this.#seenVersion = version
    } catch {
      return // full, gone or damaged: tried again by the next poll, and by the next decision, which reports it
    }
    this.#tell(made)
  }

  /** What was decided outlives the directory: it is written into a new one. */
  #restoreIfGone(): void {
    if (!this.#kept.isGone()) return
    // What another process has decided right before may not have been told here yet.
    const told = this.#readNewer(0).filter(({ id }) => id <= this.#lastId)
    const known = new Set(told.map(toKey))
    this.#kept.restore(mergeDecisions)
    this.#statements = prepare(this.#kept.database)
    this.#seenVersion = this.#readVersion()
    // In the new database everything has another number, and another process may have decided meanwhile.
    this.#folders.clear()
    this.#lastId = 0
    this.#tell(this.#takeNewer().filter(made => !known.has(toKey(made))))
  }

  /** Adds up what was recorded since the last time, in the order in which it was. */
  #takeNewer(): readonly MadeDecision[] {
    return this.#readNewer(this.#lastId).map(({ id, place, decision }) => {
      this.#lastId = id
      const key = keyOf(place)
      this.#folders.set(key, withDecision(this.#folders.get(key), decision))
      return { place, decision }
    })
  }

  #readNewer(lastId: number): readonly (MadeDecision & { readonly id: number })[] {
    return (this.#statements.newer.all(lastId) as unknown as Row[]).map(({ id, origin, location, body }) => ({
      id,
      place: { origin, location },
      decision: JSON.parse(body) as RecordedDecision,
    }))
  }

  #tell(made: readonly MadeDecision[]): void {
    if (made.length > 0) for (const onChange of this.#listeners) onChange(made)
  }
}

function toKey({ place, decision }: MadeDecision): string {
  return JSON.stringify([place.origin, place.location, decision])
}

/** Adds the decisions that another database does not have. */
function mergeDecisions(from: DatabaseSync, to: DatabaseSync): void {
  const insert = to.prepare(
    `INSERT INTO decision (origin, location, body) SELECT ?1, ?2, ?3
     WHERE NOT EXISTS (SELECT 1 FROM decision WHERE origin = ?1 AND location = ?2 AND body = ?3)`,
  )
  for (const { origin, location, body } of from
    .prepare('SELECT origin, location, body FROM decision ORDER BY id')
    .all() as unknown as Row[])
    insert.run(origin, location, body)
}

interface Statements {
  readonly insert: StatementSync
  readonly newer: StatementSync
  readonly ofPlace: StatementSync
  readonly version: StatementSync
}

function prepare(database: DatabaseSync): Statements {
  return {
    insert: database.prepare('INSERT INTO decision (origin, location, body) VALUES (?, ?, ?)'),
    newer: database.prepare('SELECT id, origin, location, body FROM decision WHERE id > ? ORDER BY id'),
    ofPlace: database.prepare('SELECT body FROM decision WHERE origin = ? AND location = ? ORDER BY id'),
    version: database.prepare('PRAGMA data_version'),
  }
}

function keyOf({ origin, location }: FolderPlace): string {
  return JSON.stringify([origin, location])
}
