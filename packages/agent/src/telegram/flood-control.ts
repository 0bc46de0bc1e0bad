import { systemClock } from '@skillstoke/core/source'

/** When to stop waiting for Telegram. */
export interface FloodPatience {
  readonly signal: AbortSignal
  /** The longest wait after `signal` has aborted, in milliseconds. */
  readonly graceMs: number
}

/** How often a call is repeated after a network failure or a failure of the server. */
const MAX_REPEATS = 3
const FIRST_PAUSE_MS = 1_000

/** The fields of grammY's `GrammyError` and `HttpError` that decide whether a call is repeated. */
interface ApiFailure {
  readonly name?: unknown
  readonly error_code?: unknown
  readonly description?: unknown
  readonly parameters?: { readonly retry_after?: unknown }
}

/**
 * Calls the Bot API, and repeats the call after the time that Telegram demands in `retry_after`. Repeats a call that the
 * network or the server failed up to three times, so that an answer is not lost. Telegram may then show it twice.
 */
export async function withFloodControl<T>(call: () => Promise<T>, patience: FloodPatience): Promise<T> {
  for (let repeats = 0; ; ) {
    try {
      return await call()
    } catch (thrown) {
      const demandedMs = readRetryAfter(thrown)
      if (demandedMs === undefined && (!isTransient(thrown) || repeats === MAX_REPEATS)) throw thrown
      const pauseMs = demandedMs ?? FIRST_PAUSE_MS * 2 ** repeats++
      if (!(await pause(pauseMs, patience))) throw thrown
    }
  }
}

/** Returns the time that Telegram demands before the next call, in milliseconds; `undefined` for any other failure. */
export function readRetryAfter(thrown: unknown): number | undefined {
  const { error_code: code, parameters } = toFailure(thrown)
  if (code !== 429) return undefined
  const seconds = parameters?.retry_after
  return typeof seconds === 'number' ? seconds * 1000 : FIRST_PAUSE_MS
}

/** Returns true if Telegram refused a call with this description, for example `BOT_COMMANDS_TOO_MUCH`. */
export function isRefusal(thrown: unknown, text: string): boolean {
  const { description } = toFailure(thrown)
  return typeof description === 'string' && description.includes(text)
}

function isTransient(thrown: unknown): boolean {
  const { name, error_code: code } = toFailure(thrown)
  return name === 'HttpError' || (typeof code === 'number' && code >= 500)
}

function toFailure(thrown: unknown): ApiFailure {
  return typeof thrown === 'object' && thrown !== null ? thrown : {}
}

/** Waits. Returns false if the wait would last longer than `graceMs` after `signal` has aborted. */
async function pause(pauseMs: number, { signal, graceMs }: FloodPatience): Promise<boolean> {
  const end = systemClock.monotonic() + pauseMs
  await waitFor(pauseMs, signal)
  if (!signal.aborted) return true
  const leftMs = end - systemClock.monotonic()
  if (leftMs > graceMs) return false
  await waitFor(leftMs)
  return true
}

/** Waits until the time is over or the signal aborts. */
async function waitFor(delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const onAbort = (): void => resolve()
  const cancel = systemClock.after(delayMs, resolve)
  signal?.addEventListener('abort', onAbort, { once: true })
  await promise
  cancel()
  signal?.removeEventListener('abort', onAbort)
}
