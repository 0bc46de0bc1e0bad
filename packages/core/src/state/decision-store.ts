import { DecidedFolders, keyOf, moveFolders } from '../history/decisions.ts'
import { SkillError } from '../index.ts'
import {
  checkOptions,
  type KnownOptions,
  Listeners,
  LONGEST_TIMER_MS,
  number,
  toMessage,
} from '../internal-entry.ts'
import type {
  DecisionStore,
  FolderDecisions,
  FolderMove,
  FolderPlace,
  MadeDecision,
  RecordedDecision,
} from '../source-entry.ts'
import { cannotWrite, isDamage } from './private-database.ts'
import { openStateDatabase, type StateDatabase, type StateFile } from './state-database.ts'

export interface DecisionStoreOptions {
  /**
   * Interval at which the store reads the decisions of other processes, in milliseconds. At most `LONGEST_TIMER_MS`.
   * @default 250
   */
  readonly pollMs?: number
}

const KNOWN: KnownOptions<DecisionStoreOptions> = { pollMs: number(1, LONGEST_TIMER_MS) }

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

const FILE: StateFile = { name: 'decisions.sqlite', what: 'the decisions', schema: SCHEMA, isVerified: true }

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
  const state = await openStateDatabase(stateDirectory, FILE)
  try {
    return new SqliteDecisions(state, options.pollMs ?? DEFAULT_POLL_MS)
  } catch (thrown) {
    state.close()
    throw thrown
  }
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
  readonly #state: StateDatabase
  readonly #folders = new DecidedFolders()
  readonly #listeners = new Listeners<[readonly MadeDecision[]]>()
  readonly #timer: NodeJS.Timeout
  #lastId = 0
  #seenVersion: unknown

  constructor(state: StateDatabase, pollMs: number) {
    this.#state = state
    this.#seenVersion = this.#readVersion()
    this.#takeNewer()
    this.#timer = setInterval(() => this.#poll(), pollMs).unref()
  }

  get damage(): string | undefined {
    return this.#state.damage
  }

  find(place: FolderPlace): FolderDecisions | undefined {
    return this.#folders.find(place)
  }

  refresh(): void {
    if (this.#state.isOpen) this.#poll()
  }

  async record({ origin, location }: FolderPlace, decision: RecordedDecision): Promise<void> {
    const made = this.#use(() => {
      const { fault } = this.#state
      if (fault !== undefined) throw refusal(fault)
      try {
        this.#state.run(INSERT, origin, location, JSON.stringify(decision))
      } catch (thrown) {
        throw cannotWrite(thrown) ? refusal(toMessage(thrown), thrown) : thrown
      }
      return this.#takeNewer()
    })
    this.#tell(made)
  }

  async move(origin: string, moves: readonly FolderMove[]): Promise<void> {
    if (!this.#state.isOpen) return
    this.#poll()
    const hasDecisions = moves.some(({ from, to }) =>
      [from, to].some(location => this.find({ origin, location }) !== undefined),
    )
    if (!hasDecisions) return
    if (this.#state.fault !== undefined) return this.#folders.move(origin, moves)
    const made = this.#use(() =>
      this.#state.transaction(() => {
        // Another process may have just recorded the same move of a folder.
        const before = this.#takeNewer()
        const isNew = moves.some(({ identity, to }) => this.locate(origin, identity) !== to)
        if (isNew) this.#state.run(INSERT, origin, MOVES, JSON.stringify({ kind: 'moved', moves }))
        return [...before, ...this.#takeNewer()]
      }),
    )
    this.#tell(made)
  }

  locate(origin: string, identity: string): string | undefined {
    return this.#folders.locate(origin, identity)
  }

  listWritten(): ReturnType<DecisionStore['listWritten']> {
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
      this.#state.all(OF_PLACE, origin, at) as unknown as readonly Row[]
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
    return this.#listeners.subscribe(onChange)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#listeners.clear()
    this.#state.close()
  }

  /** Returns a number that changes whenever another connection writes to the database. */
  #readVersion(): unknown {
    return this.#state.get('PRAGMA data_version')?.['data_version']
  }

  #poll(): void {
    let made: readonly MadeDecision[]
    try {
      const version = this.#readVersion()
      if (version === this.#seenVersion) return
      made = this.#takeNewer()
      this.#seenVersion = version
    } catch {
      return // damaged: the next poll tries again, and the next decision reports it
    }
    this.#tell(made)
  }

  /** Applies the steps that were recorded since the last call, in order. Returns the decisions among these steps. */
  #takeNewer(): readonly MadeDecision[] {
    return this.#readNewer(this.#lastId).flatMap(({ id, step }) => {
      this.#lastId = id
      if ('moves' in step) {
        this.#folders.move(step.origin, step.moves)
        return []
      }
      this.#folders.add(step)
      return step
    })
  }

  #readNewer(lastId: number): readonly { readonly id: number; readonly step: Step }[] {
    return (this.#state.all(NEWER, lastId) as unknown as Row[]).map(row => ({
      id: row.id,
      step: toStep(row),
    }))
  }

  #tell(made: readonly MadeDecision[]): void {
    if (made.length > 0) this.#listeners.tell(made)
  }
}

function refusal(reason: string, cause?: unknown): SkillError {
  return new SkillError('IO_FAILED', `the decision cannot be stored: ${reason}; nothing was decided`, {
    cause,
  })
}

const INSERT = 'INSERT INTO decision (origin, location, body) VALUES (?, ?, ?)'
const NEWER = 'SELECT id, origin, location, body FROM decision WHERE id > ? ORDER BY id'
const OF_PLACE =
  'SELECT id, origin, location, body FROM decision WHERE origin = ? AND location = ? ORDER BY id'
