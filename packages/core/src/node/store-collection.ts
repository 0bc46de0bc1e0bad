import { closeSync, openSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { toMessage } from '../internal-entry.ts'
import type { Clock } from '../source-entry.ts'
import { runCollectionRound } from './collection-round.ts'
import { compactPacks } from './compact-packs.ts'
import { PACK_INDEX } from './pack-index.ts'
import { isBusy, openPrivateDatabase } from './private-database.ts'
import { TimeSlices } from './time-slices.ts'

// What other processes left is looked for once this one has started.
const FIRST_AFTER_MS = 60_000
const ROUTINE_AFTER_MS = 300_000
const SOON_AFTER_MS = 15_000
const MANY_BYTES = 33_554_432
const FAILURES_TO_REPORT = 3
// What a process that ends soon does for the next ones, and how often one of them does.
const LAST_WORK_MS = 2_000
const LAST_WORK_AFTER_MS = 3_600_000
// Writing an index anew takes a few milliseconds for 2 MB of it.
const MAX_VACUUM_PAGES = 512

const LOCK = 'collection-lock.sqlite'

export interface StoreCollectionOptions {
  /** The folder of the packs and their index. */
  readonly folder: string
  readonly clock: Clock
  /** Whether this process writes to a pack. */
  readonly isWriting: (pack: string) => boolean
  /** Whether the index is that of the folder, and can be written. */
  readonly isCurrent: () => boolean
  /** Called after a round, when packs may be gone. */
  readonly onDone: () => void
}

/**
 * Removes from a store what nothing needs any more while processes use it: some time after the start, after this process
 * has written, and when it closes after none has for an hour. One process at a time does so, in slices of a few milliseconds. A failure ends a round and nothing else; when it comes again and again,
 * `failure` has its reason.
 */
export class StoreCollection {
  readonly #options: StoreCollectionOptions
  readonly #abort = new AbortController()
  #writtenBytes = 0
  #hasWork = false
  #cancelTimer: (() => void) | undefined
  #dueAt = Infinity
  #running: Promise<void> | undefined
  #failures = 0
  #failure = ''

  constructor(options: StoreCollectionOptions) {
    this.#options = options
    this.#runIn(FIRST_AFTER_MS)
  }

  /** Why the last rounds have failed, all of them. */
  get failure(): string | undefined {
    return this.#failures >= FAILURES_TO_REPORT ? this.#failure : undefined
  }

  /** Plans a round for what is written: soon when it is much. */
  noteWritten(bytes: number): void {
    this.#writtenBytes += bytes
    this.#hasWork = true
    this.#runIn(this.#writtenBytes > MANY_BYTES ? SOON_AFTER_MS : ROUTINE_AFTER_MS)
  }

  /** Ends a round that is under way; what it has done stays done. Idempotent. */
  async stop(): Promise<void> {
    this.#abort.abort()
    this.#cancelTimer?.()
    await this.#running
  }

  /** Like `stop`, after a short round when this process has written and none of those before it has come to one for an hour. */
  async finish(): Promise<void> {
    if (this.#hasWork && !this.#abort.signal.aborted && this.#running === undefined && this.#isOverdue()) {
      const cancel = this.#options.clock.after(LAST_WORK_MS, () => this.#abort.abort())
      this.#start()
      await this.#running
      cancel()
    }
    await this.stop()
  }

  /** The file of the lock has the time of the last round; in a new store there is nothing to do yet. */
  #isOverdue(): boolean {
    const { folder, clock, isCurrent } = this.#options
    if (!isCurrent()) return false
    try {
      const lock = statSync(join(folder, LOCK), { throwIfNoEntry: false })
      if (lock !== undefined) return clock.now() - lock.mtimeMs >= LAST_WORK_AFTER_MS
      closeSync(openSync(join(folder, LOCK), 'a', 0o600))
    } catch {
      // Full or gone; the store reports that.
    }
    return false
  }

  #runIn(delayMs: number): void {
    const { clock } = this.#options
    const dueAt = clock.monotonic() + delayMs
    if (dueAt >= this.#dueAt || this.#abort.signal.aborted) return
    this.#cancelTimer?.()
    this.#dueAt = dueAt
    this.#cancelTimer = clock.after(delayMs, () => this.#start(), { background: true })
  }

  #start(): void {
    this.#dueAt = Infinity
    if (this.#running !== undefined) {
      this.#runIn(SOON_AFTER_MS)
      return
    }
    this.#writtenBytes = 0
    this.#running = this.#run().finally(() => (this.#running = undefined))
  }

  async #run(): Promise<void> {
    const { folder, clock, isCurrent, onDone } = this.#options
    if (!isCurrent()) return
    try {
      const nextInMs = await withOnlyCollection(folder, async () => {
        const database = await openPrivateDatabase(join(folder, PACK_INDEX.name))
        try {
          database.exec('PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL')
          return await this.#collect(database)
        } finally {
          database.close()
        }
      })
      // Processes that collect in turn come at different times.
      this.#runIn((nextInMs ?? FIRST_AFTER_MS) * (1 + clock.random()))
      this.#failures = 0
      onDone()
    } catch (thrown) {
      if (this.#abort.signal.aborted) return
      // Full, damaged or gone: the store reports what concerns it, and the next round tries again.
      this.#failures++
      this.#failure = toMessage(thrown)
      this.#runIn(FIRST_AFTER_MS)
    }
  }

  /** Returns when there is something for another round, in milliseconds. */
  async #collect(database: DatabaseSync): Promise<number> {
    const { folder, clock, isWriting, isCurrent } = this.#options
    const slices = new TimeSlices(this.#abort.signal)
    const round = await runCollectionRound(database, slices, clock.now())
    await compactPacks({ folder, database, slices, round, isWriting, isCurrent })
    shrink(database)
    return round.nextInMs
  }
}

/** Does some work unless another process does the same now; returns `undefined` then. The kernel frees the lock of a dead one. */
async function withOnlyCollection<Value>(
  folder: string,
  work: () => Promise<Value>,
): Promise<Value | undefined> {
  const lock = await openPrivateDatabase(join(folder, LOCK))
  try {
    lock.exec('PRAGMA busy_timeout = 0; BEGIN IMMEDIATE')
  } catch (thrown) {
    lock.close()
    if (!isBusy(thrown)) throw thrown
    return undefined
  }
  try {
    const value = await work()
    utimesSync(join(folder, LOCK), new Date(), new Date())
    return value
  } finally {
    lock.close()
  }
}

/** Writes a small index anew when most of its file is free. A large one uses its free pages again, until `collectGarbage`. */
function shrink(database: DatabaseSync): void {
  const { pages, free } = database
    .prepare(
      'SELECT (SELECT page_count FROM pragma_page_count) AS pages, (SELECT freelist_count FROM pragma_freelist_count) AS free',
    )
    .get() as { readonly pages: number; readonly free: number }
  if (free > MAX_VACUUM_PAGES / 2 && free > pages / 2 && pages - free < MAX_VACUUM_PAGES)
    vacuumIfFree(database)
}

/** Another process may write at the moment: then a later round does it. */
function vacuumIfFree(database: DatabaseSync): void {
  try {
    database.exec('VACUUM')
  } catch (thrown) {
    if (!isBusy(thrown)) throw thrown
  }
}
