import type { Clock } from '../host.ts'

/** A long task yields to the event loop every `SLICE_MS` milliseconds, and checks the time after every `SLICE` items. */
const SLICE_MS = 4
const SLICE = 100

/** Divides a long task into slices, between which other tasks run. */
export class Slices {
  readonly #clock: Clock
  #beganAt: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#beganAt = clock.monotonic()
  }

  /** Calls a function for each item. */
  async each<T>(items: readonly T[], work: (item: T) => void): Promise<void> {
    for (let i = 0; i < items.length; i += SLICE) {
      await this.pauseIfDue()
      for (const item of items.slice(i, i + SLICE)) work(item)
    }
  }

  async pauseIfDue(): Promise<void> {
    if (this.#clock.monotonic() - this.#beganAt < SLICE_MS) return
    await new Promise<void>(resolve => void this.#clock.after(0, resolve))
    this.#beganAt = this.#clock.monotonic()
  }
}
