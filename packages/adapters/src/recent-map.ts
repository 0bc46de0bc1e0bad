/** A map that keeps the entries that were used last, at most `limit` of them. */
export class RecentMap<Value> {
  readonly #limit: number
  readonly #onDrop: (value: Value) => void
  readonly #values = new Map<string, Value>()

  constructor(limit: number, onDrop: (value: Value) => void = () => undefined) {
    this.#limit = limit
    this.#onDrop = onDrop
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  /** Adds an entry, or moves it to the end. If there are too many entries, drops the first one. */
  use(key: string, value: Value): void {
    this.#values.delete(key)
    this.#values.set(key, value)
    const [oldest] = this.#values.keys()
    if (oldest !== undefined && this.#values.size > this.#limit) this.drop(oldest)
  }

  drop(key: string): void {
    const value = this.#values.get(key)
    this.#values.delete(key)
    if (value !== undefined) this.#onDrop(value)
  }
}
