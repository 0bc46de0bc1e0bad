/** Lets some work go on at the same time, and the rest wait for its turn. */
export class Turns {
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(most: number) {
    this.#most = most
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#most) await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#running++
    try {
      return await work()
    } finally {
      // The turn goes to the next one as it is, so that nobody can come in between.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
