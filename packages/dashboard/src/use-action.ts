import { useSignal } from '@preact/signals'
import { ApiError } from 'skillstoke/client'

/** The action of a button. Shows whether the action is running, and how its last run failed. */
export interface Action {
  readonly isRunning: boolean
  readonly failure: string | undefined
  /** Error code of the failure, if the server sent one. */
  readonly code: string | undefined
  readonly run: (work: () => Promise<unknown>) => void
}

export function useAction(): Action {
  const isRunning = useSignal(false)
  const failure = useSignal<string | undefined>(undefined)
  const code = useSignal<string | undefined>(undefined)
  const run = (work: () => Promise<unknown>): void => {
    isRunning.value = true
    failure.value = undefined
    code.value = undefined
    work()
      .catch((error: unknown) => {
        code.value = error instanceof ApiError ? error.code : undefined
        failure.value = describeFailure(error)
      })
      .finally(() => {
        isRunning.value = false
      })
  }
  return { isRunning: isRunning.value, failure: failure.value, code: code.value, run }
}

/** Says why a request failed. */
export function describeFailure(error: unknown): string {
  return error instanceof ApiError ? error.message : `the dev server did not answer: ${String(error)}`
}
