import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { SkillError } from '../index.ts'
import {
  checkNumber,
  checkOptions,
  DecidedFolders,
  type KnownOptions,
  keyOfPlace as keyOf,
  LONGEST_TIMER_MS,
  moveFolders,
  toMessage,
} from '../internal-entry.ts'
import type {
  DecidedFolder,
  DecisionStore,
  FolderDecisions,
  FolderMove,
  FolderPlace,
  MadeDecision,
  RecordedDecision,
} from '../source-entry.ts'
import { inTransaction, isDamage, type KeptDatabase } from './private-database.ts'
import { openStateDatabase } from './state-database.ts'

export interface DecisionStoreOptions {
  /**
   * Interval at which the store reads the decisions of other processes, in milliseconds. At most `LONGEST_TIMER_MS`.
   * @default 250
   */
  readonly pollMs?: number
}

const KNOWN: KnownOptions<DecisionStoreOptions> = { pollMs: true }

const DEFAULT_POLL_MS = 250
/** While the disk is full or read-only, the store retries its writes at this interval, in milliseconds. */
const HEAL_INTERVAL_MS = 2_000

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
 * Opens the decisions of a state directory. All processes that use the directory share these decisions. Other users
 * cannot read the decisions, and no source serves the files of the database as a skill. Other processes apply a new
 * decision within `pollMs`. A damaged database is moved aside, and `damage` reports it. The skill store remembers which
 * folders have decisions. If the decisions are lost, these folders keep serving their last good revision.
 * @throws {SkillError} IO_FAILED when the directory or the database cannot be used
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory, openDecisions } from '@skillstoke/core/node'
 *
 * const decisions = await openDecisions('./state', { pollMs: 1_000 }) // closed with the runtime
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')], state: { decisions } })
 * await skills.review.disable('support-pdf', { by: 'ada' })
 * console.log((await skills.review.decisions('support-pdf')).map(({ kind }) => kind)) // prints [ 'disable' ]
 * ```
 */
export async function openDecisions(
  stateDirectory: string,
  options: DecisionStoreOptions = {},
): Promise<DecisionStore> {
  checkOptions('openDecisions()', options, KNOWN)
  checkNumber('pollMs', options.pollMs, 1, LONGEST_TIMER_MS)
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

/** The moved folders of one source. */
interface FolderMoves {
  readonly origin: string
  readonly moves: readonly FolderMove[]
}

/** The rows for moved folders have this location, because no skill folder can have the same location. */
const MOVES = '.'

/** Content of one row. */
type Step = MadeDecision | FolderMoves

function toStep({ origin, location, body }: Row): Step {
  const parsed = JSON.parse(body) as
    | RecordedDecision
    | { readonly kind: 'moved'; readonly moves: readonly FolderMove[] }
  return parsed.kind === 'moved'
    ? { origin, moves: parsed.moves }
    : { place: { origin, location }, decision: parsed }
}

class SqliteDecisions implements DecisionStore {
  readonly isLasting = true
  readonly damage?: string
  readonly #kept: KeptDatabase
  #statements: Statements
  readonly #folders = new DecidedFolders()
  /**
   * Current location of each moved folder. The key contains the origin of the source and the identity of the folder.
   */
  readonly #moved = new Map<string, string>()
  readonly #listeners = new Set<(made: readonly MadeDecision[]) => void>()
  readonly #timer: NodeJS.Timeout
  #lastId = 0
  #seenVersion: unknown
  /** Monotonic time of the last attempt to store the in-memory copy. */
  #triedAt = 0

  constructor(kept: KeptDatabase, pollMs: number, damage: string | undefined) {
    this.#kept = kept
    if (damage !== undefined) this.damage = damage
    this.#statements = prepare(kept.database)
    this.#seenVersion = this.#readVersion()
    this.#takeNewer()
    this.#timer = setInterval(() => this.#poll(), pollMs).unref()
  }

  find(place: FolderPlace): FolderDecisions | undefined {
    return this.#folders.find(place)
  }

  refresh(): void {
    if (this.#kept.database.isOpen) this.#poll()
  }

  async record({ origin, location }: FolderPlace, decision: RecordedDecision): Promise<void> {
    const made = this.#use(() => {
      this.#triedAt = -Infinity
      this.#restore()
      const { fault } = this.#kept
      if (fault !== undefined)
        throw new SkillError('IO_FAILED', `the decision cannot be stored: ${fault}; nothing was decided`)
      this.#statements.insert.run(origin, location, JSON.stringify(decision))
      return this.#takeNewer()
    })
    this.#tell(made)
  }

  async move(origin: string, moves: readonly FolderMove[]): Promise<void> {
    if (!this.#kept.database.isOpen) return
    this.#poll()
    const hasDecisions = moves.some(({ from, to }) =>
      [from, to].some(location => this.find({ origin, location }) !== undefined),
    )
    if (!hasDecisions) return
    if (this.#kept.fault !== undefined) return this.#follow({ origin, moves })
    const made = this.#use(() => {
      this.#restore()
      // Another process may have just recorded the same move of a folder.
      return inTransaction(this.#kept.database, () => {
        const before = this.#takeNewer()
        const isNew = moves.some(({ identity, to }) => this.#moved.get(`${origin}\0${identity}`) !== to)
        if (isNew) this.#statements.insert.run(origin, MOVES, JSON.stringify({ kind: 'moved', moves }))
        return [...before, ...this.#takeNewer()]
      })
    })
    this.#tell(made)
  }

  listWritten(): readonly DecidedFolder[] {
    return this.#folders.listWritten()
  }

  async list(place: FolderPlace): Promise<readonly RecordedDecision[]> {
    return this.#use(() => {
      const lists = new Map<string, RecordedDecision[]>()
      for (const step of this.#stepsOf(place)) {
        if ('moves' in step) moveFolders(lists, step.origin, step.moves)
        else lists.set(keyOf(step.place), [...(lists.get(keyOf(step.place)) ?? []), step.decision])
      }
      return lists.get(keyOf(place)) ?? []
    })
  }

  /**
   * Returns every recorded step that may concern a folder, including steps recorded under earlier paths of the folder.
   */
  #stepsOf({ origin, location }: FolderPlace): readonly Step[] {
    const read = (at: string): readonly Row[] =>
      this.#statements.ofPlace.all(origin, at) as unknown as readonly Row[]
    const moves = read(MOVES)
    const locations = new Set([location])
    for (const row of moves.toReversed()) {
      const step = toStep(row)
      for (const { from, to } of 'moves' in step ? step.moves : []) if (locations.has(to)) locations.add(from)
    }
    return [...locations]
      .flatMap(read)
      .concat(moves)
      .sort((a, b) => a.id - b.id)
      .map(toStep)
  }

  /**
   * Maps damage to IO_FAILED. When the database is damaged, known decisions stay in force, and the next start moves the
   * database aside.
   */
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

  /** Returns a number that changes whenever another connection writes to the database. */
  #readVersion(): unknown {
    return this.#statements.version.get()?.['data_version']
  }

  #poll(): void {
    let made: readonly MadeDecision[]
    try {
      this.#restore()
      const version = this.#readVersion()
      if (version === this.#seenVersion) return
      made = this.#takeNewer()
      this.#seenVersion = version
    } catch {
      return // full, gone or damaged: the next poll retries, and the next decision reports it
    }
    this.#tell(made)
  }

  /**
   * Recreates a removed database, so that the decisions survive the removal of the directory. If the database is an
   * in-memory copy, writes it to the disk as soon as the disk is writable again.
   */
  #restore(): void {
    const isCopy = this.#kept.fault !== undefined
    if (isCopy ? performance.now() < this.#triedAt + HEAL_INTERVAL_MS : !this.#kept.isGone()) return
    this.#triedAt = performance.now()
    // Lists the decisions that the listeners already know, because another process may have just recorded further
    // decisions.
    const told = this.#readNewer(0).filter(({ id }) => id <= this.#lastId)
    const known = new Set(told.flatMap(({ step }) => ('moves' in step ? [] : toKey(step))))
    if (!isCopy) this.#kept.restore(mergeDecisions)
    else if (!this.#kept.heal(mergeDecisions)) return
    this.#statements = prepare(this.#kept.database)
    this.#seenVersion = this.#readVersion()
    // In the recreated database, the rows have new ids, and some rows may be decisions of other processes.
    this.#folders.clear()
    this.#moved.clear()
    this.#lastId = 0
    this.#tell(this.#takeNewer().filter(made => !known.has(toKey(made))))
  }

  /** Applies the steps that were recorded since the last call, in order. Returns the decisions among these steps. */
  #takeNewer(): readonly MadeDecision[] {
    return this.#readNewer(this.#lastId).flatMap(({ id, step }) => {
      this.#lastId = id
      if ('moves' in step) {
        this.#follow(step)
        return []
      }
      this.#folders.add(step)
      return step
    })
  }

  #follow({ origin, moves }: FolderMoves): void {
    this.#folders.move(origin, moves)
    for (const { identity, to } of moves) this.#moved.set(`${origin}\0${identity}`, to)
  }

  #readNewer(lastId: number): readonly { readonly id: number; readonly step: Step }[] {
    return (this.#statements.newer.all(lastId) as unknown as Row[]).map(row => ({
      id: row.id,
      step: toStep(row),
    }))
  }

  #tell(made: readonly MadeDecision[]): void {
    if (made.length > 0) for (const onChange of this.#listeners) onChange(made)
  }
}

function toKey({ place, decision }: MadeDecision): string {
  return JSON.stringify([place.origin, place.location, decision])
}

/** Copies the decisions of the database `from` that the database `to` does not have yet. */
function mergeDecisions(from: DatabaseSync, to: DatabaseSync): void {
  const insert = to.prepare(
    `INSERT INTO decision (origin, location, body) SELECT ?, ?, ?
     WHERE NOT EXISTS (SELECT 1 FROM decision WHERE origin = ? AND location = ? AND body = ?)`,
  )
  for (const { origin, location, body } of from
    .prepare('SELECT origin, location, body FROM decision ORDER BY id')
    .all() as unknown as Row[])
    insert.run(origin, location, body, origin, location, body)
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
    ofPlace: database.prepare(
      'SELECT id, origin, location, body FROM decision WHERE origin = ? AND location = ? ORDER BY id',
    ),
    version: database.prepare('PRAGMA data_version'),
  }
}
