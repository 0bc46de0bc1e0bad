/** Runs tasks one after the other, in the order of the calls. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()

  async run<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(task)
    this.#last = result.catch(() => undefined)
    return await result
  }
}
