import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

/** Time and timers. Tests pass their own clock, so that they do not have to wait. */
export interface Clock {
  /**
   * Returns the wall time in milliseconds since the epoch. Use this time for display and for comparison with file
   * times, never to order events.
   */
  now(): number
  /** Returns monotonic time in milliseconds. */
  monotonic(): number
  /**
   * Calls `callback` once after `delayMs`; never if `delayMs` is `Infinity`. Returns a function that cancels the timer.
   * A timer with `background` or an infinite delay does not keep the process alive.
   */
  after(delayMs: number, callback: () => void, options?: { readonly background?: boolean }): () => void
  /** Returns a number from 0 (inclusive) to 1 (exclusive), for jitter. */
  random(): number
}

/**
 * The longest delay that `setTimeout` and `setInterval` support, in milliseconds: 24.8 days. Both functions treat a
 * longer delay as 1 ms. `systemClock.after` has no such limit.
 */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1

/** Computes SHA-256 as 64 lower-case hexadecimal digits. */
export interface Hasher {
  sha256(data: Uint8Array | string): string
}

/** A receiver of log messages for people. The default logger is silent. */
export interface Logger {
  debug(message: string, data?: Readonly<Record<string, unknown>>): void
  info(message: string, data?: Readonly<Record<string, unknown>>): void
  warn(message: string, data?: Readonly<Record<string, unknown>>): void
  error(message: string, data?: Readonly<Record<string, unknown>>): void
}

const ignore = (): void => undefined

/**
 * The clock and the timers of the JavaScript runtime. For a delay longer than `LONGEST_TIMER_MS`, `after` starts
 * several timers one after the other.
 *
 * @example
 * ```ts
 * import { systemClock } from '@skillstoke/core/source'
 *
 * const startedAt = systemClock.monotonic()
 * await new Promise<void>(resolve => systemClock.after(20, resolve))
 * console.log(systemClock.monotonic() - startedAt >= 19) // prints true
 * ```
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  after(delayMs, callback, options) {
    if (delayMs === Infinity) return ignore
    let timer: unknown
    const wait = (leftMs: number): void => {
      const laterMs = leftMs - LONGEST_TIMER_MS
      timer = laterMs > 0 ? setTimeout(() => wait(laterMs), LONGEST_TIMER_MS) : setTimeout(callback, leftMs)
      if (options?.background) (timer as { unref?: () => void }).unref?.()
    }
    wait(delayMs)
    return () => clearTimeout(timer)
  },
}

const encoder = new TextEncoder()

/**
 * Computes SHA-256 in plain JavaScript, which works in every JavaScript runtime. `@skillstoke/core/node` has a faster
 * hasher.
 *
 * @example
 * ```ts
 * import { portableHasher } from '@skillstoke/core/source'
 *
 * console.log(portableHasher.sha256('Say hello.').length) // prints 64
 * ```
 */
export const portableHasher: Hasher = {
  sha256: data => bytesToHex(sha256(typeof data === 'string' ? encoder.encode(data) : data)),
}

export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/** The value that `waitAtMost` returns after a timeout. */
export const LATE: unique symbol = Symbol('late')

/**
 * Waits for a promise, but at most `timeoutMs` milliseconds. `Infinity` means no limit. A timeout does not stop the
 * work behind the promise.
 */
export async function waitAtMost<T>(
  clock: Clock,
  timeoutMs: number,
  work: Promise<T>,
): Promise<T | typeof LATE> {
  if (timeoutMs === Infinity) return await work
  let cancel = (): void => undefined
  const late = new Promise<typeof LATE>(resolve => {
    cancel = clock.after(timeoutMs, () => resolve(LATE))
  })
  return await Promise.race([work, late]).finally(() => cancel())
}

/**
 * Waits for a promise. If the signal aborts first, throws the reason of the abort. An abort does not stop the work
 * behind the promise.
 */
export async function untilAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return await work
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    if (signal.aborted) onAbort()
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Calls each of the given functions in turn, even if one fails. Then throws the first failure, and logs later failures. */
export async function closeInTurn(
  things: readonly (() => Promise<void> | void | undefined)[],
  logger: Logger,
): Promise<void> {
  const failures: unknown[] = []
  for (const close of things) {
    try {
      await close()
    } catch (thrown) {
      failures.push(thrown)
    }
  }
  for (const error of failures.slice(1)) logger.error('another part could not be closed', { error })
  if (failures.length > 0) throw failures[0]
}
