/** Limits how many tasks run at the same time. All further tasks wait for their turn. */
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
      // Gives the turn directly to the next waiting task, so that no new task can take it first.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
