import { defined } from '../defined.ts'
import { SkillError, toMessage } from '../errors.ts'
import { type Clock, type Hasher, type Logger, untilAborted } from '../host.ts'
import { checkOptions } from '../options.ts'
import { quote } from '../quote.ts'
import type { SkillRegistry } from '../registry/skill-registry.ts'
import type { NotSkillQuery, NotSkills } from '../source/not-skill.ts'
import { SETTLE_OPTIONS, Settle, type SettlePolicy, settleOf } from '../source/settle.ts'
import type {
  SkillSource,
  SourceReadDepth,
  SourceReading,
  SourceState,
  SourceWatch,
} from '../source/skill-source.ts'
import { describeFailure, describeStoreFault } from '../source/source-failure.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { GuardedSource } from './guarded-source.ts'
import { deepest, type ReadingDemand, ReadingRequests } from './reading-requests.ts'

export interface SourceSyncOptions {
  readonly source: SkillSource
  readonly registry: SkillRegistry
  readonly store: SkillStore
  readonly hasher: Hasher
  readonly clock: Clock
  readonly logger: Logger
  /** The settle policy of the runtime. Values of the source take precedence. */
  readonly settle: SettlePolicy
  /** Interval at which all bytes are hashed again, in milliseconds. */
  readonly rehashMs: number
  /** Whether `fresh` scans a source that gets no events. */
  readonly readsOnRequest: boolean
}

/** The state of a source, for people and monitoring. */
export interface SourceStatus extends SourceState, Pick<SkillSource, 'label' | 'origin' | 'trust'> {
  /** The version that the last scan read: a commit or a digest. Absent for folders. */
  readonly version?: string
  /** Wall time of the last successful scan, in milliseconds since the epoch. */
  readonly lastReadAt?: number
  /** The error of the last scan. The contents of the last successful scan are still served. */
  readonly lastError?: string
  /**
   * Wall time of the last failed scan, in milliseconds since the epoch. A successful scan does not clear this time.
   */
  readonly lastErrorAt?: number
  /** The reason why the store cannot save files. Skills are still served from memory. */
  readonly storeFault?: string
  /** Number of failed scans since the last successful scan. */
  readonly failures: number
  /** Milliseconds until the next retry of a failing source. */
  readonly retryMs?: number
  /** Milliseconds until the next scan if no request and no hint comes. Absent if no scan is scheduled. */
  readonly nextReadMs?: number
}

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000
/** Longest retry interval of a failing remote source. */
const LAST_REMOTE_RETRY_MS = 300_000
const JITTER = 0.2
const BUSY_POLL_MS = 25

/** A sleep before the next scan. */
interface Sleep {
  readonly until: number
  readonly wake: () => void
}

/** The next sweep, with the values from which its time was calculated. */
interface PlannedSweep {
  readonly at: number
  readonly sweepMs: number
  readonly lastSweepAt: number
  readonly cancel: () => void
}

/** The scans that failed since the last successful scan. */
interface Failing {
  readonly thrown: unknown
  readonly failures: number
  readonly retryAt: number
}

/** When what happened last: two wall times, then two monotonic times. */
interface LastTimes {
  readonly readAt?: number
  readonly failedAt?: number
  readonly sweptAt: number
  readonly rehashedAt: number
}

/**
 * Keeps the registry up to date with the contents of one source. Scans the source when a burst of hints is over,
 * sweeps the source at intervals, and retries failed scans. Scans never overlap. The next scan answers all requests
 * that come during a scan. A request waits only for areas that got a hint before the request.
 *
 * ```text
 *           hint, request, sweep, retry            due                    settled
 *   idle --------------------------------> sleep ------> scan -----------------------------> idle
 *                                            ^             | changed during the scan
 *                                            +-------------+
 *                                                          | throws
 *                                                          +-------> failing, idle until the retry
 * ```
 *
 * A run (`#run`) goes from the first hint until no hint and no request is left. A source that fails keeps its last
 * contents, and each further failure doubles the delay of the retry.
 */
export class SourceSync {
  readonly label: string
  readonly source: SkillSource
  readonly #options: SourceSyncOptions
  readonly #guarded: GuardedSource
  readonly #policy: SettlePolicy
  readonly #settle: Settle
  readonly #abort = new AbortController()
  readonly #requests: ReadingRequests
  #watch: SourceWatch | undefined
  /** Absent while idle. Reset synchronously at the end of a run, so that a later request starts a new run. */
  #run: Promise<void> | undefined
  #sleeping: Sleep | undefined
  #sweep: PlannedSweep | undefined
  #cancelRetry: (() => void) | undefined
  #failing: Failing | undefined
  #last: LastTimes
  /** The last reading that the registry received. */
  #shown: SourceReading | undefined
  #closing: Promise<void> | undefined

  /** @throws {SkillError} INVALID_OPTION */
  constructor(options: SourceSyncOptions) {
    this.#options = options
    this.label = options.source.label
    this.source = options.source
    this.#guarded = new GuardedSource(options.source, options.logger)
    const path = `source ${quote(this.label)}: settle`
    checkOptions('SkillSource', options.source.settle, SETTLE_OPTIONS, { path })
    this.#policy = settleOf(options.source.settle, options.settle)
    this.#settle = new Settle(this.#policy, options.clock)
    this.#requests = new ReadingRequests(this.#settle)
    const now = options.clock.monotonic()
    this.#last = { sweptAt: now, rehashedAt: now }
  }

  /** Starts the watch and the first scan. Resolves when the first scan is visible or has failed. */
  async start(): Promise<void> {
    this.#watch = this.#guarded.watch(area => {
      this.#settle.hint(area)
      this.#start()
    })
    await this.#request({ depth: 'full' })
  }

  /** Resolves when every change that was made before the call is visible, even if no event reported the change. */
  async reload(): Promise<void> {
    await this.#watch?.drain?.()
    await this.#request({ depth: 'full', isAsked: true })
  }

  /** Does the same as `reload`, but reads almost no files while events are reliable. */
  async fresh(): Promise<void> {
    const { source } = this.#options
    if (this.scansOnRequest) {
      await this.reload()
      return
    }
    await this.#watch?.drain?.()
    const hasNews = this.#settle.isOpen || this.#hasHints || this.#guarded.state().unwatched !== undefined
    // A running scan of a remote source may take long, so `fresh` does not wait for it.
    if (source.isRemote === true ? hasNews && this.#run === undefined : hasNews || this.#run !== undefined)
      await this.#request({ depth: 'hinted' })
  }

  /** Whether `fresh` scans the whole source, because no events report its changes. */
  get scansOnRequest(): boolean {
    return this.#options.readsOnRequest && this.isBlind
  }

  /** Whether the source is on this machine and gets no events about changes. */
  get isBlind(): boolean {
    const { source } = this.#options
    const { mode, unwatched } = this.#guarded.state()
    return source.isRemote !== true && mode !== 'events' && unwatched === undefined
  }

  /** The locations of skills that kept changing, so that their newest state could not be read. */
  get restless(): readonly string[] {
    return this.#shown?.restless ?? []
  }

  /** Finds files and folders of the source that are not skills. */
  async findNotSkills(query?: NotSkillQuery): Promise<NotSkills> {
    return await this.#guarded.findNotSkills(query)
  }

  /** The error of the last scan; `undefined` if it succeeded. */
  get failure(): unknown {
    return this.#failing?.thrown
  }

  /**
   * Reads one folder again, even if no hint named the folder. For a remote source, reads only files that were already
   * fetched.
   */
  async refresh(location: string): Promise<void> {
    const { source } = this.#options
    if (source.isRemote === true) return await this.fresh()
    await this.#watch?.drain?.()
    await (this.#guarded.mark(location, 'changed')
      ? this.#request({ depth: 'hinted', location })
      : this.reload())
  }

  /** Reads a folder again because the store has lost some of its bytes. */
  async recapture(location: string): Promise<void> {
    await (this.#guarded.mark(location, 'lost')
      ? this.#request({ depth: 'hinted', location })
      : this.reload())
  }

  status(): SourceStatus {
    const { source, clock } = this.#options
    const { label, origin, trust } = source
    const { retryAt } = this.#failing ?? {}
    const nextAt = Math.min(retryAt ?? Infinity, this.#sweep?.at ?? Infinity)
    const { readAt: lastReadAt, failedAt: lastErrorAt } = this.#last
    return {
      ...{ label, origin, trust },
      ...this.#guarded.state(),
      ...defined({ storeFault: this.#options.store.fault?.message, version: this.#guarded.version() }),
      failures: this.#failing?.failures ?? 0,
      ...(this.#failing === undefined ? {} : { lastError: toMessage(this.#failing.thrown) }),
      ...defined({ lastReadAt, lastErrorAt }),
      ...(retryAt === undefined ? {} : { retryMs: remaining(retryAt, clock) }),
      ...(nextAt === Infinity ? {} : { nextReadMs: remaining(nextAt, clock) }),
    }
  }

  /** Stops the watch, the timers and the scans, and waits until all of them have ended. Idempotent. */
  async close(): Promise<void> {
    this.#abort.abort(new SkillError('CLOSED', 'the runtime is closed'))
    this.#watch?.stop()
    this.#watch = undefined
    this.#sweep?.cancel()
    this.#cancelRetry?.()
    await this.#run
    this.#closing ??= this.#options.source.close?.()
    await this.#closing
  }

  /**
   * Resolves after a scan that started after this call. If the scan fails, `status()` reports the failure, and the call
   * does not throw.
   */
  #request(demand: ReadingDemand): Promise<void> {
    if (this.#abort.signal.aborted) return Promise.resolve()
    const request = this.#requests.add(demand, this.#watch)
    const dueAt = this.#settle.remainingMs(request) + this.#options.clock.monotonic()
    if (this.#sleeping !== undefined && dueAt < this.#sleeping.until) this.#sleeping.wake()
    this.#start()
    return request.promise
  }

  #start(): void {
    if (this.#abort.signal.aborted || this.#run !== undefined) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#run = promise
    void this.#scanAll().finally(resolve)
  }

  /** Scans until no hint and no request is left. */
  async #scanAll(): Promise<void> {
    try {
      while (!this.#requests.isEmpty || this.#settle.isOpen) {
        await this.#waitUntilDue()
        if (this.#abort.signal.aborted) break
        const before = this.#requests.list()
        try {
          await this.#read()
        } catch (thrown) {
          if (!this.#abort.signal.aborted) await this.#fail(thrown)
          this.#requests.end(before)
        }
      }
    } finally {
      this.#run = undefined
    }
    if (this.#abort.signal.aborted) this.#requests.end()
    this.#scheduleSweep()
  }

  /** Scans the areas that are due, and leaves all other areas for a later scan. */
  async #read(): Promise<void> {
    const { source, store, hasher, registry } = this.#options
    while ((await this.#isBusy()) && !this.#settle.isOverdue) {
      await this.#sleep(BUSY_POLL_MS)
      if (this.#abort.signal.aborted) return
    }
    // `drain()` turns recent writes into hints. These hints show whether a writer has started again.
    await this.#watch?.drain?.()
    if (this.#requests.remainingMs() > 0) return
    const before = this.#requests.begin()
    const due = this.#requests.due()
    const isOver = this.#settle.remainingMs() <= 0 || due.length === 0
    const taken = this.#settle.take(isOver ? undefined : due)
    const answered = isOver ? before : due
    const depth = deepest(answered)
    const { signal } = this.#abort
    try {
      // Use `untilAborted()`, because `close()` must not wait for a disk or network that never answers.
      const reading = await untilAborted(
        signal,
        source.read({
          store,
          hasher,
          depth,
          isAsked: answered.some(request => request.isAsked),
          final: taken.isOverdue,
          waitsForWriters: this.#policy.maxWaitMs > 0,
          // Scan an area even if a new hint for the area has come, because a caller waits for an earlier change in the
          // area.
          isHeld: area => taken.held.has(area),
          wasServed: location => registry.wasServed({ origin: source.origin, location }),
          signal,
        }),
      )
      // A writer that started during the scan may still be working, so repeat the scan unless the scan is overdue.
      const isStillQuiet = !(await this.#isBusy()) || taken.isOverdue
      if (!reading.settled || !isStillQuiet) {
        this.#settle.retryWhole(taken)
        return
      }
      if (taken.isOverdue) this.#settle.endBusy()
      else this.#settle.reopen(reading.unsettled ?? [], taken)
      this.#noteDepth(depth)
      await this.#accept(reading, depth)
      this.#requests.answer(before, depth)
    } catch (thrown) {
      this.#noteDepth(depth)
      throw thrown
    }
  }

  #noteDepth(depth: SourceReadDepth): void {
    const now = this.#options.clock.monotonic()
    if (depth === 'rehash') this.#last = { ...this.#last, rehashedAt: now }
    if (depth !== 'hinted') this.#last = { ...this.#last, sweptAt: now }
  }

  get #hasHints(): boolean {
    return this.#watch?.hasHints?.() === true
  }

  async #isBusy(): Promise<boolean> {
    const isBusy = (await this.#watch?.isBusy?.()) ?? false
    if (isBusy) this.#settle.noteBusy()
    return isBusy
  }

  async #accept(reading: SourceReading, depth: SourceReadDepth): Promise<void> {
    const { source, registry, clock, logger } = this.#options
    // A scan of the stored copy does not show that the origin works again.
    const isStillFailing = reading.isStored === true && this.#failing !== undefined
    if (!isStillFailing) this.#failing = undefined
    if (reading.isStored !== true) this.#last = { ...this.#last, readAt: clock.now() }
    const isSame = reading.contents === this.#shown?.contents
    this.#shown = reading
    if (isStillFailing && isSame) return
    await registry.replace(source.label, reading.contents)
    if (isStillFailing) await this.#report()
    logger.debug('read', { source: source.label, depth, skills: reading.contents.entries.length })
    // Callers do not wait until the store is flushed to disk. A power loss before the flush could lose the newest
    // revision.
    void this.#flush()
    if (reading.readAgainMs !== undefined) this.#requestIn(reading.readAgainMs, 'hinted')
  }

  async #flush(): Promise<void> {
    const { store, registry, source, logger } = this.#options
    await store.flush().catch((error: unknown) => logger.error('the store could not be flushed', { error }))
    const fault = store.fault === undefined ? undefined : describeStoreFault(store.fault)
    // The report fails if the runtime is closed. Ignore this failure.
    await registry.reportStore(source.label, fault).catch(() => undefined)
  }

  async #fail(thrown: unknown): Promise<void> {
    const { source, clock, logger } = this.#options
    this.#settle.reset()
    const { failures = 0 } = this.#failing ?? {}
    const delayMs = Math.max(this.#backoffMs(failures), askedToWaitMs(thrown))
    this.#failing = { thrown, failures: failures + 1, retryAt: clock.monotonic() + delayMs }
    this.#last = { ...this.#last, failedAt: clock.now() }
    logger.warn('a source could not be read; its last contents stay', { source: source.label, error: thrown })
    await this.#report()
    this.#requestIn(delayMs, 'full')
  }

  async #report(): Promise<void> {
    const { source, registry } = this.#options
    const isEmpty = (this.#shown?.contents.entries.length ?? 0) === 0
    const rest = isEmpty ? 'no skills have been read from it yet' : undefined
    await registry.reportSource(source.label, describeFailure(source.origin, this.#failing?.thrown, rest))
  }

  /**
   * Returns the retry delay. The delay doubles with each failure. Delays for remote sources have a random part,
   * so that many processes do not contact one server at the same time.
   */
  #backoffMs(failures: number): number {
    const { source, clock } = this.#options
    const doubledMs = FIRST_RETRY_MS * 2 ** failures
    if (source.isRemote !== true) return jitter(Math.min(LAST_RETRY_MS, doubledMs), clock)
    return Math.max(FIRST_RETRY_MS, Math.min(LAST_REMOTE_RETRY_MS, doubledMs) * clock.random())
  }

  /** Requests a scan after a delay. */
  #requestIn(delayMs: number, depth: SourceReadDepth): void {
    this.#cancelRetry?.()
    const request = (): void => void this.#request({ depth })
    this.#cancelRetry = this.#options.clock.after(delayMs, request, { background: true })
  }

  #scheduleSweep(): void {
    const { clock, rehashMs } = this.#options
    const { sweepMs } = this.#guarded.state()
    const { sweptAt: lastSweepAt } = this.#last
    // Node keeps one list of timers per duration, so create no new timer if the time of the next sweep is unchanged.
    if (this.#sweep?.sweepMs === sweepMs && this.#sweep?.lastSweepAt === lastSweepAt) return
    this.#sweep?.cancel()
    this.#sweep = undefined
    if (sweepMs === undefined || this.#abort.signal.aborted) return
    const sweep = (): void => {
      this.#sweep = undefined
      const isRehashDue = clock.monotonic() - this.#last.rehashedAt >= rehashMs
      void this.#request({ depth: isRehashDue ? 'rehash' : 'full' })
    }
    // Neither a scan after a hint nor a scan of unwatched folders postpones the sweep.
    const delayMs = Math.max(0, jitter(sweepMs, clock) - (clock.monotonic() - lastSweepAt))
    const cancel = clock.after(delayMs, sweep, { background: true })
    this.#sweep = { at: clock.monotonic() + delayMs, sweepMs, lastSweepAt, cancel }
  }

  async #waitUntilDue(): Promise<void> {
    for (
      let ms = this.#requests.remainingMs();
      ms > 0 && !this.#abort.signal.aborted;
      ms = this.#requests.remainingMs()
    ) {
      await this.#sleep(ms)
      // Repeat this check often, because a writer with many pauses is only detected while it works.
      await this.#isBusy()
    }
  }

  /** Sleeps until the delay is over, `close()` is called, or a request can be answered. */
  async #sleep(delayMs: number): Promise<void> {
    const { signal } = this.#abort
    const { clock } = this.#options
    if (signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = clock.after(delayMs, resolve)
    this.#sleeping = { until: clock.monotonic() + delayMs, wake: resolve }
    signal.addEventListener('abort', resolve, { once: true })
    await promise
    cancel()
    signal.removeEventListener('abort', resolve)
    this.#sleeping = undefined
  }
}

function remaining(at: number, clock: Clock): number {
  return Math.max(0, Math.round(at - clock.monotonic()))
}

/** Returns the delay that a failing server requested, in milliseconds. */
function askedToWaitMs(thrown: unknown): number {
  const asked = SkillError.isInstance(thrown) ? thrown.data['retryAfterMs'] : undefined
  return typeof asked === 'number' && asked > 0 ? Math.min(asked, LONGEST_ASKED_MS) : 0
}

const LONGEST_ASKED_MS = 3_600_000

function jitter(delayMs: number, clock: Clock): number {
  return delayMs * (1 - JITTER + 2 * JITTER * clock.random())
}
