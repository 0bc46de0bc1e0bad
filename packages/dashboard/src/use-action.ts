import { useSignal } from '@preact/signals'
import { ApiError } from 'skillstoke/client'

/** Something that a button does: whether it is at it, and why it failed. */
export interface Action {
  readonly isRunning: boolean
  readonly failure: string | undefined
  readonly run: (work: () => Promise<unknown>) => void
}

export function useAction(): Action {
  const isRunning = useSignal(false)
  const failure = useSignal<string | undefined>(undefined)
  const run = (work: () => Promise<unknown>): void => {
    isRunning.value = true
    failure.value = undefined
    work()
      .catch((error: unknown) => {
        failure.value =
          error instanceof ApiError ? error.message : `the dev server did not answer: ${String(error)}`
      })
      .finally(() => {
        isRunning.value = false
      })
  }
  return { isRunning: isRunning.value, failure: failure.value, run }
}
