/**
 * The listeners of one event. With `onError`, a listener that throws or rejects affects neither the caller nor the other
 * listeners.
 */
export class Listeners<Args extends readonly unknown[] = []> {
  readonly #onError: ((error: unknown) => void) | undefined
  readonly #listeners = new Set<(...args: Args) => unknown>()

  constructor(onError?: (error: unknown) => void) {
    this.#onError = onError
  }

  /** Adds a listener. Returns a function that removes it. */
  subscribe(listener: (...args: Args) => unknown): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  tell(...args: Args): void {
    for (const listener of this.#listeners)
      if (this.#onError === undefined) listener(...args)
      else callSafely(this.#onError, () => listener(...args))
  }

  clear(): void {
    this.#listeners.clear()
  }
}

/** Calls a function of the host. If it throws or rejects, calls `onError`. */
export function callSafely(onError: (error: unknown) => void, work: () => unknown): void {
  try {
    const result = work()
    if (result instanceof Promise) result.catch(onError)
  } catch (thrown) {
    onError(thrown)
  }
}
