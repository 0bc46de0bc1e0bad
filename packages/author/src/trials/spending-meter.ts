import type { TrialRun } from './trial.ts'

/** Price of a model, in dollars for a million tokens. */
export interface TokenPrice {
  readonly input: number
  readonly output: number
}

export interface Spent {
  readonly calls: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** In dollars. Absent without a price. */
  readonly cost?: number
}

/** What may be spent. */
export interface SpendingCaps {
  /** Largest number of model calls. @default unlimited */
  readonly maxCalls?: number
  /** Largest amount in dollars, which the last call may go beyond. Needs a price. @default unlimited */
  readonly maxCost?: number
  readonly price?: TokenPrice
}

/** Thrown instead of a call that is not allowed. */
export class CapReached extends Error {
  readonly cap: 'calls' | 'cost'

  constructor(cap: 'calls' | 'cost') {
    super(`the cap of ${cap} is reached`)
    this.cap = cap
  }
}

/** More calls than one conversation with a message usually takes. */
const CALLS_PER_JOB = 8

/** Counts the model calls of all jobs of one run. */
export class SpendingMeter {
  readonly #caps: SpendingCaps
  #calls = 0
  #inputTokens = 0
  #outputTokens = 0
  /** Infinite until a price is known. */
  #dearestCall = Number.POSITIVE_INFINITY

  constructor(caps: SpendingCaps) {
    this.#caps = caps
  }

  get spent(): Spent {
    const spent = { calls: this.#calls, inputTokens: this.#inputTokens, outputTokens: this.#outputTokens }
    return withCost(spent, this.#caps.price)
  }

  /**
   * Counts a call that is about to be made.
   * @throws {CapReached} when the call is not allowed
   */
  takeCall(): void {
    const { maxCalls = Number.POSITIVE_INFINITY, maxCost = Number.POSITIVE_INFINITY } = this.#caps
    if (this.#calls >= maxCalls) throw new CapReached('calls')
    if ((this.spent.cost ?? 0) >= maxCost) throw new CapReached('cost')
    this.#calls++
  }

  /** @throws {Error} when the model reports no tokens, so that a cap of dollars cannot be kept */
  addUsage({ inputTokens, outputTokens }: Pick<TrialRun, 'inputTokens' | 'outputTokens'>): void {
    if (this.#caps.maxCost !== undefined && inputTokens + outputTokens === 0)
      throw new Error('the model reports no tokens, so its cost is unknown; use a largest number of calls')
    this.#inputTokens += inputTokens
    this.#outputTokens += outputTokens
    const { cost = 0 } = withCost({ calls: 1, inputTokens, outputTokens }, this.#caps.price)
    this.#dearestCall = Math.max(cost, Number.isFinite(this.#dearestCall) ? this.#dearestCall : 0)
  }

  /** Whether so many jobs at the same time could reach a cap. Then each job needs what is left for itself. */
  isScarce(jobs: number): boolean {
    const { maxCalls = Number.POSITIVE_INFINITY, maxCost } = this.#caps
    const calls = jobs * CALLS_PER_JOB
    const isDear = maxCost !== undefined && maxCost - (this.spent.cost ?? 0) < calls * this.#dearestCall
    return isDear || maxCalls - this.#calls < calls
  }
}

/** Adds the price in dollars, if the price of a token is known. */
export function withCost(spent: Omit<Spent, 'cost'>, price: TokenPrice | undefined): Spent {
  if (price === undefined) return spent
  return { ...spent, cost: (spent.inputTokens * price.input + spent.outputTokens * price.output) / 1_000_000 }
}
