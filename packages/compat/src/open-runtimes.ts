/** An item that is expensive to open and must be closed. */
interface Closable {
  close(): Promise<void>
}

interface Entry<Item> {
  readonly opening: Promise<Item>
  /** Running calls that use the item. */
  readonly uses: Set<Promise<unknown>>
}

/**
 * Keeps the most recently used items open, by key, and closes all other items. More than `limit` items are open only while more than `limit` items are in use.
 */
export class OpenRuntimes<Item extends Closable> {
  readonly #limit: number
  /** Entries by key, least recently used first. */
  readonly #entries = new Map<string, Entry<Item>>()
  #size = 0
  /** Number of items that are being closed. */
  #ending = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Number of items that are open, including items that are being closed. */
  get size(): number {
    return this.#size
  }

  /**
   * Calls `work` with the item of a key. The item stays open until `work` has ended. `isNew` is true if the item was
   * opened for this call.
   */
  async use<Result>(
    key: string,
    open: () => Promise<Item>,
    work: (item: Item, isNew: boolean) => Promise<Result>,
  ): Promise<Result> {
    const known = this.#entries.get(key)
    const entry = known ?? { opening: this.#open(open), uses: new Set() }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    entry.opening.catch(() => this.#forget(key, entry)) // the next call tries again
    const use = entry.opening.then(item => work(item, known === undefined))
    entry.uses.add(use)
    try {
      return await use
    } finally {
      entry.uses.delete(use)
      await this.#closeOldest(this.#limit)
    }
  }

  /** Closes all items after the calls that use them have ended. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()]
    this.#entries.clear()
    for (const entry of entries) await this.#end(entry)
  }

  async #open(open: () => Promise<Item>): Promise<Item> {
    await Promise.resolve() // registers the entry before `open` can cause another call
    await this.#closeOldest(this.#limit - 1)
    const item = await open()
    this.#size++
    return item
  }

  async #closeOldest(limit: number): Promise<void> {
    while (this.#size - this.#ending > limit) {
      const oldest = [...this.#entries].find(([, { uses }]) => uses.size === 0)
      if (oldest === undefined) return
      this.#entries.delete(oldest[0])
      await this.#end(oldest[1])
    }
  }

  async #end({ opening, uses }: Entry<Item>): Promise<void> {
    this.#ending++
    try {
      await Promise.allSettled(uses)
      const item = await opening.catch(() => undefined)
      await item?.close().finally(() => this.#size--)
    } finally {
      this.#ending--
    }
  }

  #forget(key: string, entry: Entry<Item>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
  }
}
