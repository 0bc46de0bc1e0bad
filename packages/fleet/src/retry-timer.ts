import { jitter } from './fleet-feed.ts'

const FIRST_MS = 1_000
const LAST_MS = 60_000

/** Repeats something after failures, at intervals that double from 1 s to 60 s. */
export class RetryTimer {
  readonly #work: () => void
  #timer: NodeJS.Timeout | undefined
  #nextMs = FIRST_MS

  constructor(work: () => void) {
    this.#work = work
  }

  /** Starts the timer, unless it runs. */
  noteFailure(): void {
    if (this.#timer !== undefined) return
    const waitMs = jitter(this.#nextMs)
    this.#nextMs = Math.min(LAST_MS, this.#nextMs * 2)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#work()
    }, waitMs).unref()
  }

  /** Begins with the shortest interval after the next failure. */
  noteSuccess(): void {
    this.#nextMs = FIRST_MS
  }

  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#nextMs = FIRST_MS
  }
}
