/** A lock that lets one writer at a time change the skills of a source. */
export interface WriteLock {
  /** Calls `work` while no other writer runs, and returns the result of `work`. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Waits for the running work, then releases the resources of the lock. Idempotent. */
  close?(): Promise<void>
}

/**
 * A lock for sources to which only this process writes. Work that runs under the lock must not take the lock again.
 *
 * @example
 * ```ts
 * import { InProcessWriteLock } from '@skillstoke/core/source'
 *
 * const lock = new InProcessWriteLock()
 * const first = lock.run(async () => console.log('first')) // prints first
 * const second = lock.run(async () => console.log('second')) // prints second
 * await Promise.all([first, second])
 * ```
 */
export class InProcessWriteLock implements WriteLock {
  #queue: Promise<unknown> = Promise.resolve()

  async run<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#queue.then(work, work)
    this.#queue = turn.catch(() => undefined)
    return await turn
  }
}
