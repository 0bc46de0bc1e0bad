/** Lets one writer at a time work on the skills of a source. */
export interface WriteLock {
  /** Runs the work when nobody else is at it, and gives back what it gives. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Frees what the lock holds open, after the work under way. Idempotent. */
  close?(): Promise<void>
}

/** For sources that only this process writes to. Work under it must not take it again. */
export class InProcessWriteLock implements WriteLock {
  #queue: Promise<unknown> = Promise.resolve()

  async run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work, work)
    this.#queue = turn.catch(() => undefined)
    return await turn
  }
}
