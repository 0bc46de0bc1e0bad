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

// The first round collects content that other processes left behind. The round waits for a minute, so that the start of
// the process is not delayed.
const FIRST_AFTER_MS = 60_000
const ROUTINE_AFTER_MS = 300_000
const SOON_AFTER_MS = 15_000
const MANY_BYTES = 33_554_432
const FAILURES_TO_REPORT = 3
// Time limit of a round at close. The round at close runs only if no process has finished a round within
// `LAST_WORK_AFTER_MS`.
const LAST_WORK_MS = 2_000
const LAST_WORK_AFTER_MS = 3_600_000
// Vacuuming an index of 2 MB takes a few milliseconds.
const MAX_VACUUM_PAGES = 512

const LOCK = 'collection-lock.sqlite'

export interface StoreCollectionOptions {
  /** The folder that contains the packs and the index. */
  readonly folder: string
  readonly clock: Clock
  /** Returns whether this process writes to a pack. */
  readonly isWriting: (pack: string) => boolean
  /** Whether the index file that this process has open is still in the folder and is writable. */
  readonly isCurrent: () => boolean
  /** Called after each round, because the round may have removed packs. */
  readonly onDone: () => void
}

/**
 * Removes unneeded content from a store while processes use the store. A round runs one minute after the start. After a
 * write, a round runs within about ten minutes. At close, a round runs if no process has finished a round for an hour.
 * Only one process collects at a time, in slices of a few milliseconds. A failure ends the current round, but later
 * rounds still run. After repeated failures, `failure` has the reason.
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

  /** Why the last round failed; set only after several failures in a row. */
  get failure(): string | undefined {
    return this.#failures >= FAILURES_TO_REPORT ? this.#failure : undefined
  }

  /** Plans a round after a write. After many bytes, the round runs sooner. */
  noteWritten(bytes: number): void {
    this.#writtenBytes += bytes
    this.#hasWork = true
    this.#runIn(this.#writtenBytes > MANY_BYTES ? SOON_AFTER_MS : ROUTINE_AFTER_MS)
  }

  /** Aborts a running round. Finished work remains. Idempotent. */
  async stop(): Promise<void> {
    this.#abort.abort()
    this.#cancelTimer?.()
    await this.#running
  }

  /**
   * Runs a last, short round if this process has written to the store and no process has finished a round for an hour.
   * Then stops the collection like `stop`.
   */
  async finish(): Promise<void> {
    if (this.#hasWork && !this.#abort.signal.aborted && this.#running === undefined && this.#isOverdue()) {
      const cancel = this.#options.clock.after(LAST_WORK_MS, () => this.#abort.abort())
      this.#start()
      await this.#running
      cancel()
    }
    await this.stop()
  }

  /**
   * Returns whether the last round ended more than an hour ago. The modification time of the lock file is the end of
   * the last round. If the lock file is missing, creates it and returns false, because a new store needs no round yet.
   */
  #isOverdue(): boolean {
    const { folder, clock, isCurrent } = this.#options
    if (!isCurrent()) return false
    try {
      const lock = statSync(join(folder, LOCK), { throwIfNoEntry: false })
      if (lock !== undefined) return clock.now() - lock.mtimeMs >= LAST_WORK_AFTER_MS
      closeSync(openSync(join(folder, LOCK), 'a', 0o600))
    } catch {
      // The disk is full or the folder was removed. The collection ignores both faults, because the store reports them.
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
      // Random delays keep processes from collecting at the same time.
      this.#runIn((nextInMs ?? FIRST_AFTER_MS) * (1 + clock.random()))
      this.#failures = 0
      onDone()
    } catch (thrown) {
      if (this.#abort.signal.aborted) return
      // The store reports a full disk, damage or a removed folder. The next round retries.
      this.#failures++
      this.#failure = toMessage(thrown)
      this.#runIn(FIRST_AFTER_MS)
    }
  }

  /** Runs one round. Returns the time until the next round in milliseconds. */
  async #collect(database: DatabaseSync): Promise<number> {
    const { folder, clock, isWriting, isCurrent } = this.#options
    const slices = new TimeSlices(this.#abort.signal)
    const round = await runCollectionRound(database, slices, clock.now())
    await compactPacks({ folder, database, slices, round, isWriting, isCurrent })
    shrink(database)
    return round.nextInMs
  }
}

/**
 * Runs `work` and returns its result. If another process is collecting, returns `undefined` without running `work`.
 * When a process dies, the kernel releases the lock of that process.
 */
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

/**
 * Vacuums a small index when most of its pages are free. A large index reuses its free pages until `collectGarbage`
 * runs.
 */
function shrink(database: DatabaseSync): void {
  const { pages, free } = database
    .prepare(
      'SELECT (SELECT page_count FROM pragma_page_count) AS pages, (SELECT freelist_count FROM pragma_freelist_count) AS free',
    )
    .get() as { readonly pages: number; readonly free: number }
  if (free > MAX_VACUUM_PAGES / 2 && free > pages / 2 && pages - free < MAX_VACUUM_PAGES)
    vacuumIfFree(database)
}

/** Vacuums the index, unless another process is writing to the index. In that case, a later round vacuums the index. */
function vacuumIfFree(database: DatabaseSync): void {
  try {
    database.exec('VACUUM')
  } catch (thrown) {
    if (!isBusy(thrown)) throw thrown
  }
}
