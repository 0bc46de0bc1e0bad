import { applySorted, binarySearch } from '../skill/compare.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { EMPTY_CONTENTS, type SourceContents, type SourceEntry } from '../skill/source-contents.ts'

/** The contents that a source has shown last, and what it has built since and not shown yet. */
export class PublishedContents {
  /** Folders that were built while something else was still changing; `undefined` for those that are gone. */
  readonly #pending = new Map<string, SourceEntry | undefined>()
  #current: SourceContents = EMPTY_CONTENTS

  get current(): SourceContents {
    return this.#current
  }

  get hasPending(): boolean {
    return this.#pending.size > 0
  }

  /** Whether a path will come or go. */
  get hasPendingPaths(): boolean {
    for (const [path, entry] of this.#pending)
      if (entry === undefined || this.find(path) === undefined) return true
    return false
  }

  /** Whether another folder will be shown at a path. */
  get hasReplaced(): boolean {
    for (const [path, entry] of this.#pending) {
      const shown = entry === undefined ? undefined : this.find(path)
      if (shown !== undefined && shown.identity !== entry?.identity) return true
    }
    return false
  }

  /** Whether anything was ever shown. */
  get hasBegun(): boolean {
    return this.#current !== EMPTY_CONTENTS
  }

  /** Keeps what was found in the folder of a path until it is shown. */
  put(path: string, entry: SourceEntry | undefined): void {
    this.#pending.set(path.normalize('NFC'), entry)
  }

  /** Takes back what was found, so that the folder goes on as it was shown; returns whether there was anything. */
  withdraw(path: string): boolean {
    return this.#pending.delete(path.normalize('NFC'))
  }

  /** What is shown of a path. */
  find(path: string): SourceEntry | undefined {
    const index = binarySearch(this.#current.entries, path.normalize('NFC'), entry => entry.location)
    return index < 0 ? undefined : this.#current.entries[index]
  }

  /** The paths that will be shown no longer. */
  removed(): readonly string[] {
    return [...this.#pending].flatMap(([path, entry]) => (entry === undefined ? path : []))
  }

  /** Whether something else is to be shown of a path. */
  isPending(path: string): boolean {
    return this.#pending.has(path.normalize('NFC'))
  }

  /** Shows everything that was put, in one step; the same object when nothing differs. */
  publish(diagnostics: readonly Diagnostic[]): SourceContents {
    const before = this.#current
    const entries = this.#applyPending(before.entries)
    this.#pending.clear()
    if (entries !== before.entries || JSON.stringify(diagnostics) !== JSON.stringify(before.diagnostics)) {
      this.#current = Object.freeze({ entries, diagnostics })
    }
    return this.#current
  }

  /** Shows that there is nothing. */
  clear(diagnostics: readonly Diagnostic[]): SourceContents {
    this.withdrawAll()
    return this.publish(diagnostics)
  }

  /** Nothing of what is shown counts any more, unless it is put again before the next showing. */
  withdrawAll(): void {
    this.#pending.clear()
    for (const { location } of this.#current.entries) this.#pending.set(location, undefined)
  }

  #applyPending(before: readonly SourceEntry[]): readonly SourceEntry[] {
    const changes = [...this.#pending]
      .map(([key, item]) => ({ key, item }))
      .filter(({ key, item }) => {
        const index = binarySearch(before, key, entry => entry.location)
        return (index < 0 ? undefined : before[index]) !== item
      })
    return changes.length === 0 ? before : applySorted(before, changes, entry => entry.location)
  }
}
