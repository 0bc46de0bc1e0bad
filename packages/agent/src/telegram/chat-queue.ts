/** Runs the work of one chat in order, and the work of different chats at the same time. */
export class ChatQueue {
  readonly #last = new Map<string, Promise<void>>()

  /** Adds work to the end of a queue. `work` must not reject. */
  add(key: string, work: () => Promise<void>): void {
    const added = (this.#last.get(key) ?? Promise.resolve()).then(work).finally(() => {
      if (this.#last.get(key) === added) this.#last.delete(key)
    })
    this.#last.set(key, added)
  }

  /** Resolves when all queues are empty. */
  async drain(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values())
  }
}
