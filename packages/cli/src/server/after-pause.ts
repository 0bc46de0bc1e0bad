import { toMessage } from '@skillstoke/core/internal'

const PAUSE_MS = 500

/** Work that runs after a pause. */
export interface PausedWork {
  /** Requests the work. All requests before it begins cause one run, and a request during a run causes one more. */
  request(): void
  /** Stops the work that has not begun. */
  close(): void
}

/** Delays work by half a second, because a save and its uses cause many requests. Prints a failure as a warning. */
export function afterPause(work: () => Promise<void> | void): PausedWork {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isRequested = false
  let isClosed = false
  const run = async (): Promise<void> => {
    isRequested = false
    try {
      await work()
    } catch (thrown) {
      process.emitWarning(`skillstoke: ${toMessage(thrown)}`)
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
