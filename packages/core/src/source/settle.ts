import { type Clock, LONGEST_TIMER_MS } from '../host.ts'
import { type KnownOptions, number } from '../options.ts'

/** Rules for the end of a burst of changes. All in milliseconds. */
export interface SettlePolicy {
  /** Quiet time after a single change. @default 20 */
  readonly settleMs: number
  /** Quiet time when several skills or many files change together. @default 80 */
  readonly burstMs: number
  /** Longest wait while changes continue. @default 2,000 */
  readonly maxWaitMs: number
  /** Longest wait while a known writer, such as git, is working. @default 30,000 */
  readonly maxBusyMs: number
}

const WINDOW = number(0, LONGEST_TIMER_MS)

export const SETTLE_OPTIONS: KnownOptions<SettlePolicy> = {
  settleMs: WINDOW,
  burstMs: WINDOW,
  maxWaitMs: WINDOW,
  maxBusyMs: WINDOW,
}

export const DEFAULT_SETTLE: SettlePolicy = Object.freeze({
  settleMs: 20,
  burstMs: 80,
  maxWaitMs: 2_000,
  maxBusyMs: 30_000,
})

/** A policy that never waits, for sources in which every change is complete. */
export const NO_SETTLE: SettlePolicy = Object.freeze({ settleMs: 0, burstMs: 0, maxWaitMs: 0, maxBusyMs: 0 })

/**
 * Returns the policy of one source. Values of the source take precedence over values of the runtime. If the longest
 * wait of the runtime is shorter than the quiet time of the source, the longest wait is raised to that quiet time.
 */
export function settleOf(own: Partial<SettlePolicy> = {}, general: SettlePolicy): SettlePolicy {
  const quietMs = Math.max(own.settleMs ?? 0, own.burstMs ?? 0)
  return Object.freeze({
    settleMs: own.settleMs ?? general.settleMs,
    burstMs: own.burstMs ?? Math.max(general.burstMs, own.settleMs ?? 0),
    maxWaitMs: own.maxWaitMs ?? Math.max(general.maxWaitMs, quietMs),
    maxBusyMs: own.maxBusyMs ?? Math.max(general.maxBusyMs, quietMs),
  })
}

// One atomic save causes up to eight events. If there are more hints than two saves can cause, many files are changing.
const MANY_HINTS = 16

/** The state of a burst at the beginning of a wait. */
export interface BurstMoment {
  /** Time of the last hint of the running burst. If no burst is running, the start of the wait. */
  readonly at: number
  /** How long hints had come without a pause when the wait began, in milliseconds. */
  readonly busyMs: number
}

/** The record of one caller that waits for a scan. */
export interface SettleWait {
  /** `Settle.order` when the wait began. The wait ignores areas of later bursts. */
  readonly order: number
  /** `Settle.moment` when the wait began. @default none: separate saves count as one batch */
  readonly since?: BurstMoment
  /** Whether the caller needs a scan of every area. If true, all areas must be quiet before the scan begins. */
  readonly isWhole: boolean
  /** Returns whether the caller needs the changes in an area. */
  readonly concerns: (area: string) => boolean
}

/** An area with a hint that came after the last scan of the area. */
interface OpenArea {
  /** Number of the burst in which the area got its first hint; 0 without a hint. */
  readonly order: number
  readonly firstAt: number
  readonly lastAt: number
  readonly hints: number
}

/** The areas that one scan includes. */
export interface TakenAreas {
  readonly areas: ReadonlyMap<string, OpenArea>
  /** Areas that this scan leaves for a later scan, because the areas may still change and no caller waits for them. */
  readonly held: ReadonlySet<string>
  readonly writer: OpenArea | undefined
  readonly wasBusy: boolean
  /** Whether an area has been changing for longer than the longest wait of the policy. */
  readonly isOverdue: boolean
}

/**
 * Decides from hints when a source is scanned. If no caller waits, all hints since the last scan form one burst. A
 * caller waits for the burst that is running when the call begins, and not for later saves:
 *
 * ```text
 *   one batch        |||||||||| |||||||||||||| ||||||||||      busy most of the time: the wait lasts until it is quiet
 *   separate saves   ||          ||          ||          ||    quiet most of the time: the wait ends in a pause
 * ```
 */
export class Settle {
  readonly #policy: SettlePolicy
  readonly #clock: Clock
  readonly #areas = new Map<string, OpenArea>()
  /** A writer that was detected although its changes have caused no hint. */
  #writer: OpenArea | undefined
  #wasBusy = false
  /** Whether the next scan must include every area. */
  #isWhole = false
  #order = 0
  #lastHintAt = Number.NEGATIVE_INFINITY
  #busyMs = 0

  constructor(policy: SettlePolicy, clock: Clock) {
    this.#policy = policy
    this.#clock = clock
  }

  hint(area: string): void {
    const now = this.#clock.monotonic()
    const sinceLastMs = now - this.#lastHintAt
    if (!this.#areas.has(area) && !this.#goesOnAfter(sinceLastMs)) this.#order++
    if (sinceLastMs < this.#policy.settleMs) this.#busyMs += sinceLastMs
    this.#lastHintAt = now
    const before = this.#areas.get(area) ?? { order: this.#order, firstAt: now, hints: 0 }
    this.#areas.set(area, { ...before, lastAt: now, hints: before.hints + 1 })
  }

  /** Number of the current burst. The number grows by one when a hint for a new area starts a new burst. */
  get order(): number {
    return this.#order
  }

  /** Returns the progress of the current burst, for a wait that begins now. */
  get moment(): BurstMoment {
    const now = this.#clock.monotonic()
    const goesOn = this.isOpen && now - this.#lastHintAt < this.#policy.burstMs
    return { at: goesOn ? this.#lastHintAt : now, busyMs: this.#busyMs }
  }

  /** Whether the burst has changes that no scan has read yet. */
  get isOpen(): boolean {
    return this.#writer !== undefined || this.#areas.size > 0
  }

  /**
   * Whether a wait still needs an area: a hint for the area came before the wait began, and no scan has read the area
   * since.
   */
  isAwaited(wait: SettleWait): boolean {
    for (const [area, { order }] of this.#areas) if (isFor(wait, area, order)) return true
    return false
  }

  /** Prolongs the burst because of a change whose area is unknown. */
  prolong(): void {
    const now = this.#clock.monotonic()
    this.#writer = { order: 0, firstAt: this.#writer?.firstAt ?? now, lastAt: now, hints: 0 }
  }

  /**
   * Queues the areas of a scan again, because their contents could not be published. The next scan includes all areas,
   * and begins when all areas are quiet.
   */
  retryWhole(taken: TakenAreas): void {
    this.#putBack(taken)
    this.#isWhole = true
    this.prolong()
  }

  /**
   * Notes that a known writer is working. All changes that this writer makes belong to one burst, even if the writer
   * pauses.
   */
  noteBusy(): void {
    this.#wasBusy = true
    this.prolong()
  }

  /** Forgets the known writer, so that no scan waits for this writer any more. */
  endBusy(): void {
    this.#writer = undefined
    this.#wasBusy = false
  }

  /**
   * Returns how many milliseconds must pass before a scan can begin. The scan is for one wait, or for all areas if no
   * wait is given. Returns 0 if the areas are quiet or overdue.
   */
  remainingMs(wait?: SettleWait): number {
    const open = this.#find(wait)
    if (open.length === 0) return 0
    const { maxWaitMs } = this.#policy
    let [hints, firstAt, lastAt] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (const each of open) {
      hints += each.hints
      firstAt = Math.min(firstAt, each.firstAt)
      lastAt = Math.max(lastAt, each.lastAt)
    }
    const areas = open.length - (this.#writer === undefined ? 0 : 1)
    const quietAt = this.#quietAt(lastAt, isMany(areas, hints), wait?.since)
    return Math.max(0, Math.min(quietAt, firstAt + maxWaitMs) - this.#clock.monotonic())
  }

  /** Whether the burst lasts longer than the policy allows. The limit is longer while a known writer works. */
  get isOverdue(): boolean {
    return this.#areOverdue(this.#find())
  }

  /**
   * Begins a scan of the areas that the given waits need, by default of all areas. A later hint for one of these areas
   * queues the area again.
   */
  take(waits?: readonly SettleWait[]): TakenAreas {
    const { settleMs, burstMs } = this.#policy
    const now = this.#clock.monotonic()
    const isAll = waits === undefined || this.#wasBusy || this.#isWhole
    const awaited = this.#awaitedBy(waits ?? [])
    const bursts = new Set(Array.from(awaited.values(), ({ order }) => order))
    const isTaken = (area: string, { order, lastAt }: OpenArea): boolean =>
      isAll ||
      awaited.has(area) ||
      // Include a quiet area even if no caller waits for the area, because a caller may soon ask for the area's skill
      // by name.
      now - lastAt >= burstMs ||
      // Areas that were saved together are published together, even if a caller asks for only one of the areas.
      (now - lastAt >= settleMs && bursts.has(order))
    const areas = new Map([...this.#areas].filter(([area, open]) => isTaken(area, open)))
    const writer = this.#writer
    const isOverdue = this.#areOverdue([...areas.values(), ...(writer === undefined ? [] : [writer])])
    for (const area of areas.keys()) this.#areas.delete(area)
    const taken = { areas, held: new Set(this.#areas.keys()), writer, wasBusy: this.#wasBusy, isOverdue }
    this.endBusy()
    this.#isWhole = false
    return taken
  }

  /** Requeues the areas that changed while a scan was reading these areas. */
  reopen(areas: readonly string[], taken: TakenAreas): void {
    for (const area of areas) if (!taken.held.has(area)) this.#reopen(area, taken.areas.get(area))
  }

  /** Discards all hints that no scan has answered yet. */
  reset(): void {
    this.take()
  }

  /** Whether a hint for another area belongs to the current burst; `sinceLastMs` is the time since the last hint. */
  #goesOnAfter(sinceLastMs: number): boolean {
    const { settleMs, burstMs } = this.#policy
    const [first] = this.#areas.values()
    if (first === undefined) return false
    // If skills are saved together, their hints come without a pause. A hint after a pause comes from a separate edit.
    return sinceLastMs < (isMany(this.#areas.size, first.hints) ? burstMs : settleMs / 2)
  }

  #quietAt(lastAt: number, isBurst: boolean, since: BurstMoment | undefined): number {
    const { settleMs, burstMs } = this.#policy
    if (!isBurst) return lastAt + settleMs
    if (since === undefined || this.#wasBusy || !this.#areSeparate(since)) return lastAt + burstMs
    return Math.max(lastAt + settleMs, since.at + burstMs)
  }

  /**
   * Whether the hints after a given moment come from separate saves and not from one batch. The writer of a batch may
   * pause, but writes most of the time.
   */
  #areSeparate({ at, busyMs }: BurstMoment): boolean {
    const ownBusyMs = this.#busyMs - busyMs
    const restedMs = this.#lastHintAt - at - ownBusyMs
    return restedMs >= Math.max(ownBusyMs, this.#policy.settleMs)
  }

  #putBack({ areas, writer, wasBusy }: TakenAreas): void {
    for (const area of areas.keys()) this.#reopen(area, areas.get(area))
    this.#writer =
      writer === undefined ? this.#writer : { ...writer, lastAt: this.#writer?.lastAt ?? writer.lastAt }
    this.#wasBusy ||= wasBusy
  }

  #reopen(area: string, before: OpenArea | undefined): void {
    const now = this.#clock.monotonic()
    const since = this.#areas.get(area)
    this.#areas.set(area, {
      order: before?.order ?? 0,
      firstAt: before?.firstAt ?? since?.firstAt ?? now,
      lastAt: since?.lastAt ?? now,
      // If an edit happens during a scan, the edits before and after the scan must not become one burst.
      hints: since?.hints ?? before?.hints ?? 0,
    })
  }

  #areOverdue(open: readonly OpenArea[]): boolean {
    const limit = this.#wasBusy ? this.#policy.maxBusyMs : this.#policy.maxWaitMs
    return open.some(({ firstAt }) => this.#clock.monotonic() - firstAt >= limit)
  }

  #awaitedBy(waits: readonly SettleWait[]): ReadonlyMap<string, OpenArea> {
    const isAwaited = (area: string, { order }: OpenArea): boolean =>
      waits.some(wait => wait.isWhole || isFor(wait, area, order))
    return new Map([...this.#areas].filter(([area, open]) => isAwaited(area, open)))
  }

  /** Returns the areas that a wait includes. If a writer was detected, the last item stands for this writer. */
  #find(wait?: SettleWait): OpenArea[] {
    const isAll = wait === undefined || wait.isWhole || this.#wasBusy || this.#isWhole
    const open: OpenArea[] = []
    for (const [area, each] of this.#areas) if (isAll || isFor(wait, area, each.order)) open.push(each)
    if (this.#writer !== undefined) open.push(this.#writer)
    return open
  }
}

function isMany(areas: number, hints: number): boolean {
  return areas > 1 || hints > MANY_HINTS
}

function isFor(wait: SettleWait, area: string, order: number): boolean {
  return order <= wait.order && wait.concerns(area)
}
