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
 * Keeps the most recently used items open, by key, and closes all other items. More than `limit` items stay open only
 * while more than `limit` items are in use.
 */
export class OpenRuntimes<Item extends Closable> {
  readonly #limit: number
  /** Entries by key, least recently used first. */
  readonly #entries = new Map<string, Entry<Item>>()

  constructor(limit: number) {
    this.#limit = limit
  }

  get size(): number {
    return this.#entries.size
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
    // `open` may cause another call, so it begins after the entry was registered.
    const entry = known ?? { opening: Promise.resolve().then(open), uses: new Set() }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    const use = entry.opening.then(item => work(item, known === undefined))
    entry.uses.add(use)
    try {
      return await use
    } finally {
      entry.uses.delete(use)
      // If the item could not be opened, the next call tries again.
      await entry.opening.catch(() => this.#entries.get(key) === entry && this.#entries.delete(key))
      await this.#closeUnused()
    }
  }

  /** Closes all items after the calls that use them have ended. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()]
    this.#entries.clear()
    for (const entry of entries) await end(entry)
  }

  async #closeUnused(): Promise<void> {
    for (const [key, entry] of this.#entries) {
      if (this.#entries.size <= this.#limit) return
      if (entry.uses.size > 0) continue
      this.#entries.delete(key)
      await end(entry)
    }
  }
}

async function end<Item extends Closable>({ opening, uses }: Entry<Item>): Promise<void> {
  await Promise.allSettled(uses)
  const item = await opening.catch(() => undefined)
  await item?.close()
}
