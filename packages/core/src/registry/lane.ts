import { type Clock, LATE, waitAtMost } from '../host.ts'

export interface LaneOptions<Item> {
  /** What the receiver is, for messages. */
  readonly what: string
  readonly receive: (item: Item) => void | Promise<void>
  /** Adds an item to those that wait while the receiver is busy. */
  readonly enqueue: (waiting: readonly Item[], item: Item) => readonly Item[]
  readonly clock: Clock
  /** Maximum time in milliseconds for which `push` waits for the receiver. `Infinity` means no limit. */
  readonly deadlineMs: number
  /** Called if the receiver throws, rejects or misses its deadline. */
  readonly onError: (error: unknown) => void
}

/**
 * Passes items to one receiver, in order and one at a time. A receiver that misses its deadline no longer delays the
 * sender, and gets the items that waited later.
 */
export class Lane<Item> {
  readonly #options: LaneOptions<Item>
  #waiting: readonly Item[] = []
  #isBusy = false
  #isClosed = false

  constructor(options: LaneOptions<Item>) {
    this.#options = options
  }

  /** Drops all items that wait, and all later items. */
  close(): void {
    this.#isClosed = true
    this.#waiting = []
  }

  /** Resolves when the receiver is done with the item, is busy with an earlier one, or misses its deadline. Never rejects. */
  async push(item: Item): Promise<void> {
    const { what, enqueue, clock, deadlineMs } = this.#options
    if (this.#isClosed) return
    if (this.#isBusy) {
      this.#waiting = enqueue(this.#waiting, item)
      return
    }
    this.#waiting = [item]
    if ((await waitAtMost(clock, deadlineMs, this.#run())) !== LATE) return
    this.#tell(new Error(`a ${what} took longer than ${deadlineMs} ms; the others continue without it`))
  }

  async #run(): Promise<void> {
    this.#isBusy = true
    for (let [item, ...rest] = this.#waiting; item !== undefined; [item, ...rest] = this.#waiting) {
      this.#waiting = rest
      try {
        const receiving = this.#options.receive(item)
        // A synchronous receiver is never busy, so each sender calls it in its own async context.
        if (receiving !== undefined) await receiving
      } catch (thrown) {
        this.#tell(thrown)
      }
    }
    this.#isBusy = false
  }

  /** Reports an error. An error in the hook must not stop the receiver. */
  #tell(error: unknown): void {
    try {
      this.#options.onError(error)
    } catch {
      // the error hook itself failed
    }
  }
}
