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
