import { setImmediate } from 'node:timers/promises'
import { toMessage } from '../internal-entry.ts'
import type { Clock } from '../source-entry.ts'
import type { StateDatabase } from './state-database.ts'

/** How long content is kept after its last use, because a process may be about to use it again. */
export const GRACE_MS = 600_000
/** The first collection waits, so that the start of the process is not delayed. */
const FIRST_AFTER_MS = 60_000
const AGAIN_AFTER_MS = 300_000
/** A process that ends collects for at most two seconds, if no process has collected for an hour. */
const LAST_AFTER_MS = 3_600_000
const LAST_MS = 2_000
const FAILURES_TO_REPORT = 3

const ROWS_PER_PAGE = 500
const ROWS_PER_SLICE = 25
const FREE_PAGES_PER_SLICE = 250

/** A table with unneeded rows. */
interface Garbage {
  readonly table: 'tree' | 'blob'
  readonly key: 'revision' | 'digest'
  /** Condition of unneeded rows. Its parameter is a time in milliseconds since the epoch. */
  readonly isUnneeded: string
  /** Statements that remove what belongs to a row, with the key as parameter. They run before the row is removed. */
  readonly parts: readonly string[]
}

const TREES: Garbage = {
  table: 'tree',
  key: 'revision',
  isUnneeded: `until < ? + ${GRACE_MS} AND NOT EXISTS (SELECT 1 FROM ref WHERE ref.revision = tree.revision)`,
  parts: ['DELETE FROM member WHERE revision = ?', 'DELETE FROM note WHERE revision = ?'],
}

const BLOBS: Garbage = {
  table: 'blob',
  key: 'digest',
  isUnneeded: 'at < ? AND NOT EXISTS (SELECT 1 FROM member WHERE member.digest = blob.digest)',
  parts: ['DELETE FROM content WHERE id = (SELECT content FROM blob WHERE digest = ?)'],
}

/** Numbers of removed revisions and files. */
export interface Collected {
  readonly trees: number
  readonly blobs: number
}

/**
 * Removes revisions that have neither a name nor a lease, then files that no revision has. Yields after each slice of a
 * few milliseconds. Other processes may use the store meanwhile.
 * @param before content that was used later is kept, in milliseconds since the epoch
 */
export function* collecting(state: StateDatabase, before: number): Generator<undefined, Collected> {
  const trees = yield* removing(state, TREES, before)
  const blobs = yield* removing(state, BLOBS, before)
  return { trees, blobs }
}

function* removing(
  state: StateDatabase,
  { table, key, isUnneeded, parts }: Garbage,
  before: number,
): Generator<undefined, number> {
  const look = `SELECT ${key} AS key, ${isUnneeded} AS isUnneeded FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ?`
  const check = `SELECT 1 FROM ${table} WHERE ${key} = ? AND ${isUnneeded}`
  const removals = [...parts, `DELETE FROM ${table} WHERE ${key} = ?`]
  let removed = 0
  for (let last = ''; ; ) {
    const page = state.all(look, before, last, ROWS_PER_PAGE)
    yield
    const found = page.flatMap(row => (row['isUnneeded'] === 1 ? String(row['key']) : []))
    for (let i = 0; i < found.length; i += ROWS_PER_SLICE) {
      state.transaction(() => {
        for (const each of found.slice(i, i + ROWS_PER_SLICE)) {
          // Another process may have used the row since the page was read.
          if (state.get(check, each, before) === undefined) continue
          for (const sql of removals) state.run(sql, each)
          removed++
        }
      })
      yield
    }
    if (page.length < ROWS_PER_PAGE) return removed
    last = String(page.at(-1)?.['key'])
  }
}

/** Gives free pages back to the disk. Yields after each slice of a few milliseconds. */
export function* shrinking(state: StateDatabase): Generator<undefined, void> {
  for (let free = Infinity; ; yield) {
    const left = Number(state.get('PRAGMA freelist_count')?.['freelist_count'])
    if (left === 0 || left >= free) return
    free = left
    state.all(`PRAGMA incremental_vacuum(${FREE_PAGES_PER_SLICE})`)
  }
}

/**
 * Collects while processes use the store: one minute after the start, then every five minutes. Of the processes that
 * share a store, one collects at a time.
 */
export class StoreCollection {
  readonly #state: StateDatabase
  readonly #clock: Clock
  readonly #abort = new AbortController()
  #cancelTimer: () => void
  #running: Promise<void> | undefined
  #failures = 0
  #failure = ''

  constructor(state: StateDatabase, clock: Clock) {
    this.#state = state
    this.#clock = clock
    this.#cancelTimer = this.#plan(FIRST_AFTER_MS)
  }

  /** Why the last collection failed; set only after several failures in a row. */
  get failure(): string | undefined {
    return this.#failures >= FAILURES_TO_REPORT ? this.#failure : undefined
  }

  /** Collects a last time if no process has done so for an hour. Then stops the collection like `stop`. */
  async finish(): Promise<void> {
    const cancel = this.#clock.after(LAST_MS, () => this.#abort.abort())
    await this.#running
    await this.#collect(LAST_AFTER_MS)
    cancel()
    await this.stop()
  }

  /** Ends a running collection. What it removed stays removed. Idempotent. */
  async stop(): Promise<void> {
    this.#abort.abort()
    this.#cancelTimer()
    await this.#running
  }

  #plan(delayMs: number): () => void {
    const run = (): void => {
      this.#running = this.#collect(AGAIN_AFTER_MS / 2).finally(() => {
        if (!this.#abort.signal.aborted) this.#cancelTimer = this.#plan(AGAIN_AFTER_MS)
      })
    }
    return this.#clock.after(delayMs, run, { background: true })
  }

  /** Collects, unless a process has begun to collect within the last `pauseMs`. */
  async #collect(pauseMs: number): Promise<void> {
    try {
      if (!this.#begin(pauseMs)) return
      for (const _ of collecting(this.#state, this.#clock.now() - GRACE_MS)) await this.#turn()
      for (const _ of shrinking(this.#state)) await this.#turn()
      this.#failures = 0
    } catch (thrown) {
      if (this.#abort.signal.aborted) return
      this.#failures++
      this.#failure = `unneeded content cannot be removed from the store: ${toMessage(thrown)}`
    }
  }

  async #turn(): Promise<void> {
    await setImmediate()
    this.#abort.signal.throwIfAborted()
  }

  #begin(pauseMs: number): boolean {
    const now = this.#clock.now()
    return this.#state.transaction(() => {
      const last = this.#state.get('SELECT at FROM collected')?.['at']
      // A time in the future was written before the clock was set back.
      const isDue = last === undefined || Number(last) <= now - pauseMs || Number(last) > now
      if (isDue) this.#state.run('INSERT OR REPLACE INTO collected (id, at) VALUES (1, ?)', now)
      // A new store has nothing to collect yet.
      return isDue && last !== undefined
    })
  }
}
