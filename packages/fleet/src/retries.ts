import { setTimeout as sleep } from 'node:timers/promises'
import { SkillError } from '@skillstoke/core'

/** A signal for work that ends by itself. */
export const NEVER: AbortSignal = new AbortController().signal
/** How long a publisher or an administrator waits for a new leader. A crashed leader is replaced after 4 to 9 seconds. */
const RETRY_MS = 20_000
const PAUSE_MS = 250

/**
 * Repeats work that fails because the servers do not answer. The work must be idempotent, because an answer may be lost
 * after the server has stored a message.
 */
export async function retrying<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const end = performance.now() + RETRY_MS
  for (;;) {
    signal.throwIfAborted()
    try {
      return await work()
    } catch (thrown) {
      const isPassing = SkillError.isInstance(thrown, 'IO_FAILED') && thrown.data['isPermanent'] !== true
      if (!isPassing || performance.now() > end) throw thrown
      await sleep(PAUSE_MS, undefined, { signal })
    }
  }
}

const FIRST_MS = 1_000
// With the jitter, every pause is over 25 s after the last failure, so a fleet converges within 30 s.
const LAST_MS = 20_000

/** Returns a time that differs by up to 25 %, so that many machines do not ask at the same moment. */
export function jitter(ms: number): number {
  return ms * (0.75 + Math.random() / 2)
}

/** Returns the pause after a number of earlier failures in a row. It doubles from 1 s to 20 s. */
function retryDelayMs(failures: number): number {
  return jitter(Math.min(LAST_MS, FIRST_MS * 2 ** failures))
}

/** Repeats something after failures, at intervals that double from 1 s to 20 s. */
export class RetryTimer {
  readonly #work: () => void
  #timer: NodeJS.Timeout | undefined
  #failures = 0

  constructor(work: () => void) {
    this.#work = work
  }

  /** Whether the timer runs. */
  get isWaiting(): boolean {
    return this.#timer !== undefined
  }

  /** Starts the timer, unless it runs. */
  noteFailure(): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        this.#work()
      },
      retryDelayMs(this.#failures++),
    ).unref()
  }

  /** Stops the timer. The next failure begins with the shortest interval. */
  cancel(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#failures = 0
  }
}
