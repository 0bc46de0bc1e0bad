/** Limits how many bytes are on their way at the same time, so that a slow connection never has a long queue. */
export class ByteBudget {
  readonly #limit: number
  readonly #waiting: (() => void)[] = []
  #used = 0

  /** @param limit in bytes; a single larger item goes alone */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** How many bytes are on their way. */
  get used(): number {
    return this.#used
  }

  /** Runs work as soon as its bytes fit, in the order of the calls. */
  async run<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    // Each turn wakes the next one, which waits again if it does not fit.
    while (this.#used > 0 && this.#used + bytes > this.#limit)
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    this.#used += bytes
    this.#waiting.shift()?.()
    try {
      return await work()
    } finally {
      this.#used -= bytes
      this.#waiting.shift()?.()
    }
  }
}
