import type { BigIntStats } from 'node:fs'
import { lstat } from 'node:fs/promises'

// If a folder changed within this time, its value is not cached, because file times have a resolution of a few
// milliseconds.
const SETTLED_MS = 100
const MAX_FOLDERS = 100_000

interface Known<Value> {
  readonly stamp: string
  readonly isSettled: boolean
  readonly value: Value
}

/** Caches a value for each folder until an entry of the folder was added, removed or replaced. */
export class FolderCache<Value> {
  readonly #read: (folder: string) => Promise<Value>
  readonly #known = new Map<string, Known<Value>>()

  /** @param read is called again when an entry of a folder was added, removed or replaced */
  constructor(read: (folder: string) => Promise<Value>) {
    this.#read = read
  }

  /** @throws what `lstat` and `read` throw */
  async get(folder: string): Promise<Value> {
    const facts = await lstat(folder, { bigint: true })
    const stamp = stampOf(facts)
    const known = this.#known.get(folder)
    if (known?.isSettled === true && known.stamp === stamp) return known.value
    const isSettled = Date.now() - Number(facts.ctimeMs) > SETTLED_MS
    const value = await this.#read(folder)
    if (this.#known.size >= MAX_FOLDERS) this.#known.clear()
    this.#known.set(folder, { stamp, isSettled, value })
    return value
  }
}

/**
 * Returns a text that changes when the entries of a folder change. Uses the change time, because a script can set the
 * modification time.
 */
function stampOf({ dev, ino, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${ctimeNs}`
}
