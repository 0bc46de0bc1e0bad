import { checkNumber } from '../errors.ts'
import { type Clock, LONGEST_TIMER_MS } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'

/** When a burst of changes counts as finished. All in milliseconds. */
export interface SettlePolicy {
  /** Quiet time after a lone change. @default 20 */
  readonly settleMs: number
  /** Quiet time when several skills or many files change together. @default 80 */
  readonly burstMs: number
  /** Longest wait while changes keep coming. @default 2,000 */
  readonly maxWaitMs: number
  /** Longest wait while a version control operation is known to run. @default 30,000 */
  readonly maxBusyMs: number
}

const KNOWN: KnownOptions<SettlePolicy> = {
  settleMs: true,
  burstMs: true,
  maxWaitMs: true,
  maxBusyMs: true,
}
const WINDOWS = Object.keys(KNOWN) as readonly (keyof SettlePolicy)[]

/**
 * @param path the option that holds the policy, as `tuning.settle`
 * @throws {SkillError} INVALID_OPTION with the option, its value, and what would be right
 */
export function checkSettle(owner: string, policy: Partial<SettlePolicy> | undefined, path: string): void {
  checkOptions(owner, policy, KNOWN, { path })
  for (const name of WINDOWS) checkNumber(`${path}.${name}`, policy?.[name], 0, LONGEST_TIMER_MS)
}

export const DEFAULT_SETTLE: SettlePolicy = Object.freeze({
  settleMs: 20,
  burstMs: 80,
  maxWaitMs: 2_000,
  maxBusyMs: 30_000,
})

/** No waiting at all: for sources whose every change is whole. */
export const NO_SETTLE: SettlePolicy = Object.freeze({ settleMs: 0, burstMs: 0, maxWaitMs: 0, maxBusyMs: 0 })

/**
 * Returns the policy of one source: its own values first, then those of the runtime. A quiet time that a source asks for is
 * never cut short by a longest wait that only the runtime has.
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

// One atomic save makes up to eight events; more than two saves' worth is many.
const MANY_HINTS = 16

/** How far a burst had come when a wait began. */
export interface BurstMoment {
  /** Time of the last hint, or of the moment itself if no burst was under way. */
  readonly at: number
  /** Sum of all times between hints that were too short to be a pause, up to the moment. */
  readonly busyMs: number
}

/** What a caller waits for. */
export interface SettleWait {
  /** `Settle.order` when the wait began: areas of later bursts are not waited for. */
  readonly order: number
  /** `Settle.moment` when the wait began. @default separate saves are waited for as if they were one batch */
  readonly since?: BurstMoment
  /** Whether the reading takes every area with it, so that all have to be quiet. */
  readonly isWhole: boolean
  /** Whether changes in an area matter to it. */
  readonly concerns: (area: string) => boolean
}

/** An area that was hinted, and that no reading has looked at since. */
interface OpenArea {
  /** The number of the burst that opened it; 0 without a hint. */
  readonly order: number
  readonly firstAt: number
  readonly lastAt: number
  readonly hints: number
}

/** What one reading looks at. */
export interface TakenAreas {
  readonly areas: ReadonlyMap<string, OpenArea>
  /** The areas that stay open, because nobody waits for them and they may still change. */
  readonly held: ReadonlySet<string>
  readonly writer: OpenArea | undefined
  readonly wasBusy: boolean
  /** Whether one of the areas has been changing for longer than the policy waits. */
  readonly isOverdue: boolean
}

/**
 * Tells from hints when to read. Without a caller, the areas that were hinted since the last reading are one burst. A caller waits
 * for the burst that its request met, and not for saves that come later:
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
  /** A writer that was noticed without a hint. */
  #writer: OpenArea | undefined
  #wasBusy = false
  /** Whether the next reading has to take everything. */
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

  /** Rises with each burst: when a hint opens an area that does not belong to the burst before. */
  get order(): number {
    return this.#order
  }

  /** Returns how far the burst has come, for a wait that begins now. */
  get moment(): BurstMoment {
    const now = this.#clock.monotonic()
    const goesOn = this.isOpen && now - this.#lastHintAt < this.#policy.burstMs
    return { at: goesOn ? this.#lastHintAt : now, busyMs: this.#busyMs }
  }

  /** Whether a burst is under way, or over and not read yet. */
  get isOpen(): boolean {
    return this.#writer !== undefined || this.#areas.size > 0
  }

  /** Whether no reading has looked yet at something that was hinted before the wait. */
  isAwaited(wait: SettleWait): boolean {
    for (const [area, { order }] of this.#areas) if (isFor(wait, area, order)) return true
    return false
  }

  /** Notes that the burst goes on, without knowing where. */
  prolong(): void {
    const now = this.#clock.monotonic()
    this.#writer = { order: 0, firstAt: this.#writer?.firstAt ?? now, lastAt: now, hints: 0 }
  }

  /** Opens again what a reading has taken and could not show in part. The next one takes everything, when all of it is quiet. */
  retryWhole(taken: TakenAreas): void {
    this.#putBack(taken)
    this.#isWhole = true
    this.prolong()
  }

  /** Notes that a known writer works: what it does belongs together, however often it pauses within the burst. */
  noteBusy(): void {
    this.#wasBusy = true
    this.prolong()
  }

  /** Forgets the writer: nobody waits for it any longer. */
  endBusy(): void {
    this.#writer = undefined
    this.#wasBusy = false
  }

  /** Milliseconds until what is waited for can be read, by default everything; 0 when it is quiet or has taken too long. */
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

  /** Whether the burst lasts longer than the policy waits, which is longer when a known writer was seen in it. */
  get isOverdue(): boolean {
    return this.#areOverdue(this.#find())
  }

  /** Begins a reading of what is waited for, by default of everything. A hint from now on opens its area again. */
  take(waits?: readonly SettleWait[]): TakenAreas {
    const { settleMs, burstMs } = this.#policy
    const now = this.#clock.monotonic()
    const isAll = waits === undefined || this.#wasBusy || this.#isWhole
    const awaited = this.#awaitedBy(waits ?? [])
    const bursts = new Set(Array.from(awaited.values(), ({ order }) => order))
    const isTaken = (area: string, { order, lastAt }: OpenArea): boolean =>
      isAll ||
      awaited.has(area) ||
      // Nobody waits for it, and it may be what somebody asks for by name.
      now - lastAt >= burstMs ||
      // What was saved together is shown together, also to a caller that asks for a part of it.
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

  /** Opens areas again that changed while a reading looked at them. */
  reopen(areas: readonly string[], taken: TakenAreas): void {
    for (const area of areas) if (!taken.held.has(area)) this.#reopen(area, taken.areas.get(area))
  }

  /** Starts over. */
  reset(): void {
    this.take()
  }

  /** Whether the next area belongs to the burst that is under way, after a time without a hint. */
  #goesOnAfter(sinceLastMs: number): boolean {
    const { settleMs, burstMs } = this.#policy
    const [first] = this.#areas.values()
    if (first === undefined) return false
    // Skills that are saved together follow each other at once; a save that comes later than that is an edit of its own.
    return sinceLastMs < (isMany(this.#areas.size, first.hints) ? burstMs : settleMs / 2)
  }

  #quietAt(lastAt: number, isBurst: boolean, since: BurstMoment | undefined): number {
    const { settleMs, burstMs } = this.#policy
    if (!isBurst) return lastAt + settleMs
    if (since === undefined || this.#wasBusy || !this.#areSeparate(since)) return lastAt + burstMs
    return Math.max(lastAt + settleMs, since.at + burstMs)
  }

  /** Whether separate saves have come since. A batch may stall, but is busy for most of its time. */
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
      // A reading that the next edit met does not make one burst of the two.
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

  /** What is waited for, the writer last. */
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
