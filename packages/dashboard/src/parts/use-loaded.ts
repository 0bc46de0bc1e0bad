import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError } from 'skillstoke/client'
import { connection } from '../store.ts'
import { describeFailure } from './describe-failure.ts'

/** Result of a request. `undefined` while the request is pending. */
export type Loaded<T> = { readonly value: T } | { readonly failure: string } | undefined

/** Returns the value of a request; `undefined` while it is pending, and after it failed. */
export function loadedValue<T>(loaded: Loaded<T>): T | undefined {
  return loaded !== undefined && 'value' in loaded ? loaded.value : undefined
}

/** Does the same as `useLoaded()`, for a part that shows nothing while it waits. */
export function useValue<T>(ask: (() => Promise<T>) | undefined, inputs: readonly unknown[]): T | undefined {
  return loadedValue(useLoaded(ask, inputs))
}

const RETRY_MS = 2_000

/**
 * Calls `ask()` to send a request, and again whenever one of the inputs changes. Returns the previous result until the
 * next result arrives. If the server does not answer, asks again; an earlier result for the same first input stays.
 * Returns `undefined` if `ask` is `undefined`.
 */
export function useLoaded<T>(ask: (() => Promise<T>) | undefined, inputs: readonly unknown[]): Loaded<T> {
  const loaded = useSignal<Loaded<T>>(undefined)
  const about = useRef<unknown>(undefined)
  const attempt = useSignal(0)
  useEffect(() => {
    if (ask === undefined) {
      loaded.value = undefined
      return undefined
    }
    let isCurrent = true
    let timer: ReturnType<typeof setTimeout> | undefined
    ask().then(
      value => {
        if (!isCurrent) return
        loaded.value = { value }
        about.current = inputs[0]
      },
      (error: unknown) => {
        if (!isCurrent) return
        const isLost = !(error instanceof ApiError)
        const isKnown = loadedValue(loaded.value) !== undefined && about.current === inputs[0]
        if (!isLost || !isKnown) loaded.value = { failure: describeFailure(error) }
        if (isLost && connection.value === 'live') timer = setTimeout(() => attempt.value++, RETRY_MS)
      },
    )
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
    // A server that comes back is asked again.
  }, [...inputs, attempt.value, connection.value === 'live'])
  return loaded.value
}
