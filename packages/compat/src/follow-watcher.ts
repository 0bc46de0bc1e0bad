import type { Logger } from '@skillstoke/core'
import { untilAborted, waitAtMost } from '@skillstoke/core/internal'
import type { Clock } from '@skillstoke/core/source'
import type { SkillChangeFields, SkillWatcherLike } from './skill-watcher.ts'

export interface FollowOptions {
  /** Handles a batch. The next batch is requested when the returned promise resolves. */
  readonly onBatch: (batch: readonly SkillChangeFields[]) => void | Promise<void>
  readonly onFailure?: () => void
  readonly clock: Clock
  readonly logger: Logger
  readonly signal: AbortSignal
}

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000
const JITTER = 0.2
/** Maximum time to wait until a watcher ends, in milliseconds. */
export const END_MS = 5_000

/**
 * Reads the batches of a watcher until `watch()` returns or the signal aborts. Retries a failing watcher after growing delays.
 * After a successful batch, the delays are short again. Never rejects.
 */
export async function followWatcher(watcher: SkillWatcherLike, options: FollowOptions): Promise<void> {
  const { signal, clock, logger } = options
  let failures = 0
  while (!signal.aborted) {
    try {
      for await (const batch of iterate(watcher.watch(), signal, clock)) {
        await options.onBatch(batch)
        failures = 0
      }
      return
    } catch (thrown) {
      if (signal.aborted) return
      options.onFailure?.()
      const steadyMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures++)
      const delayMs = Math.round(steadyMs * (1 - JITTER + 2 * JITTER * clock.random()))
      logger.warn('a watcher failed and is retried', { delayMs, error: thrown })
      await sleep(delayMs, clock, signal)
    }
  }
}

/** Iterates until the signal aborts, and then throws. A watcher that ignores `stop()` cannot delay the callers. */
async function* iterate<T>(
  items: AsyncIterable<T>,
  signal: AbortSignal,
  clock: Clock,
): AsyncGenerator<T, void, undefined> {
  const iterator = items[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await untilAborted(signal, iterator.next())
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // Wait for the iterator's cleanup, because the watcher counts as stopped only after the cleanup.
    const end = (async () => await iterator.return?.())().catch(() => undefined)
    await waitAtMost(clock, END_MS, end)
  }
}

async function sleep(delayMs: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(delayMs, resolve, { background: true })
  await untilAborted(signal, promise).catch(() => undefined)
  cancel()
}
