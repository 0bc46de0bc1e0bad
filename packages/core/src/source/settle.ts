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

/** Tells from the hints of one burst when it is over. */
export class Settle {
  readonly #policy: SettlePolicy
  readonly #clock: Clock
  #firstHintAt: number | undefined
  #lastHintAt = 0
  #hints = 0
  #area: string | undefined
  #hasManyAreas = false
  #wasBusy = false

  constructor(policy: SettlePolicy, clock: Clock) {
    this.#policy = policy
    this.#clock = clock
  }

  hint(area: string): void {
    const now = this.#clock.monotonic()
    this.#firstHintAt ??= now
    this.#lastHintAt = now
    this.#hints++
    if (this.#area === undefined) this.#area = area
    else if (this.#area !== area) this.#hasManyAreas = true
  }

  /** Notes that the burst goes on, without knowing where. */
  prolong(): void {
    this.#lastHintAt = this.#clock.monotonic()
    this.#firstHintAt ??= this.#lastHintAt
  }

  /** Notes that a known writer works: what it does belongs together, however often it pauses within the burst. */
  noteBusy(): void {
    this.#wasBusy = true
    this.prolong()
  }

  /** Milliseconds to wait before reading; 0 when it is quiet or has taken too long. */
  remainingMs(): number {
    if (this.#firstHintAt === undefined) return 0
    const { settleMs, burstMs, maxWaitMs } = this.#policy
    const quietMs = this.#hasManyAreas || this.#hints > MANY_HINTS ? burstMs : settleMs
    const quietAt = this.#lastHintAt + quietMs
    return Math.max(0, Math.min(quietAt, this.#firstHintAt + maxWaitMs) - this.#clock.monotonic())
  }

  /** Whether the burst lasts longer than the policy waits, which is longer when a known writer was seen in it. */
  get isOverdue(): boolean {
    if (this.#firstHintAt === undefined) return false
    const limit = this.#wasBusy ? this.#policy.maxBusyMs : this.#policy.maxWaitMs
    return this.#clock.monotonic() - this.#firstHintAt >= limit
  }

  /** Starts over after a reading. */
  reset(): void {
    this.#firstHintAt = undefined
    this.#hints = 0
    this.#area = undefined
    this.#hasManyAreas = false
    this.#wasBusy = false
  }
}
