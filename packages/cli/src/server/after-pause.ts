import { toMessage } from '@skillstoke/core/internal'

const PAUSE_MS = 500

/**
 * Delays work by half a second, because a save and its uses cause many requests. All requests before the work begins cause
 * one run, and a request during a run causes one more. Prints a failure as a warning.
 */
export function afterPause(work: () => Promise<void> | void) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isRequested = false
  let isClosed = false
  const run = async (): Promise<void> => {
    isRequested = false
    try {
      await work()
    } catch (thrown) {
      // A process that ends may close the store during the work.
      if (!isClosed) process.emitWarning(`skillstoke: ${toMessage(thrown)}`)
    }
    timer = undefined
    if (isRequested) request()
  }
  const request = (): void => {
    isRequested = true
    if (!isClosed) timer ??= setTimeout(() => void run(), PAUSE_MS).unref()
  }
  const close = (): void => {
    isClosed = true
    clearTimeout(timer)
  }
  return { request, close }
}
