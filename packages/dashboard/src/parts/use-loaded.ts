import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
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

/**
 * Calls `ask()` to send a request, and again whenever one of the inputs changes. Returns the previous result until the
 * next result arrives. Returns `undefined` if `ask` is `undefined`.
 */
export function useLoaded<T>(ask: (() => Promise<T>) | undefined, inputs: readonly unknown[]): Loaded<T> {
  const loaded = useSignal<Loaded<T>>(undefined)
  useEffect(() => {
    if (ask === undefined) {
      loaded.value = undefined
      return undefined
    }
    let isCurrent = true
    const settle = (answer: Loaded<T>): void => {
      if (isCurrent) loaded.value = answer
    }
    ask().then(
      value => settle({ value }),
      (error: unknown) => settle({ failure: describeFailure(error) }),
    )
    return () => {
      isCurrent = false
    }
  }, inputs)
  return loaded.value
}
