import type { Clock } from '../source-entry.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/**
 * A clock whose time passes only when a test advances it.
 *
 * @example
 * ```ts
 * import { FakeClock } from '@skillstoke/core/testing'
 *
 * const clock = new FakeClock()
 * clock.after(60_000, () => console.log('one minute later')) // prints one minute later
 * await clock.advance(60_000)
 * console.log(clock.pendingTimers) // prints 0
 * ```
 */
export class FakeClock implements Clock {
  #now = 0
  readonly #startedAt: number
  readonly #timers = new Set<Timer>()

  /** `startedAt` is the initial wall time, in milliseconds since the epoch. */
  constructor(startedAt: number = Date.UTC(2026, 0, 1)) {
    this.#startedAt = startedAt
  }

  now(): number {
    return this.#startedAt + this.#now
  }

  monotonic(): number {
    return this.#now
  }

  /** Always returns 0.5, so that delays have no jitter. */
  random(): number {
    return 0.5
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer: Timer = { at: this.#now + delayMs, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Number of timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size
  }

  /** Advances the time. Fires the timers in order, and runs pending promise callbacks between two timers. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      await settleMicrotasks()
      const next = [...this.#timers].filter(timer => timer.at <= end).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.callback()
    }
    this.#now = end
    await settleMicrotasks()
  }
}

/** Runs many microtasks, enough for long chains of promises. */
async function settleMicrotasks(): Promise<void> {
  for (let i = 0; i < 200; i++) await Promise.resolve()
}
