import { setImmediate, setTimeout } from 'node:timers/promises'

const SLICE_MS = 4

/** Divides long work into slices of a few milliseconds and yields to the event loop between these slices. */
export class TimeSlices {
  readonly #signal: AbortSignal
  #startedAt = performance.now()

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  /** @throws the reason of the signal when it has aborted */
  async pause(): Promise<void> {
    if (performance.now() - this.#startedAt > SLICE_MS) {
      await setImmediate()
      this.#startedAt = performance.now()
    }
    this.#signal.throwIfAborted()
  }

  /** @throws the reason of the signal when it has aborted */
  async wait(delayMs: number): Promise<void> {
    this.#signal.throwIfAborted()
    await setTimeout(delayMs, undefined, { signal: this.#signal })
    this.#startedAt = performance.now()
  }
}
