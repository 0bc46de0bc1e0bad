import { applySorted, binarySearch } from '../skill/compare.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { EMPTY_CONTENTS, type SourceContents, type SourceEntry } from '../skill/source-contents.ts'

/** The contents that a source published last, and the results that the source has not published yet. */
export class PublishedContents {
  /**
   * Entries that were built but not published yet, because other folders are still changing. The value for a removed
   * folder is `undefined`.
   */
  readonly #pending = new Map<string, SourceEntry | undefined>()
  #current: SourceContents = EMPTY_CONTENTS

  get current(): SourceContents {
    return this.#current
  }

  get hasPending(): boolean {
    return this.#pending.size > 0
  }

  /** Whether the next publication adds or removes a path. */
  get hasPendingPaths(): boolean {
    for (const [path, entry] of this.#pending)
      if (entry === undefined || this.find(path) === undefined) return true
    return false
  }

  /** Whether the next publication replaces the folder at a known path with another folder. */
  get hasReplaced(): boolean {
    for (const [path, entry] of this.#pending) {
      const shown = entry === undefined ? undefined : this.find(path)
      if (shown !== undefined && shown.identity !== entry?.identity) return true
    }
    return false
  }

  /** Whether contents were ever published. */
  get hasBegun(): boolean {
    return this.#current !== EMPTY_CONTENTS
  }

  /** Keeps the result for a path until the next publication. */
  put(path: string, entry: SourceEntry | undefined): void {
    this.#pending.set(path.normalize('NFC'), entry)
  }

  /**
   * Discards the unpublished result for a path, so that the published state of the path stays. Returns true if the path
   * had an unpublished result.
   */
  withdraw(path: string): boolean {
    return this.#pending.delete(path.normalize('NFC'))
  }

  /** Returns the published entry of a path. */
  find(path: string): SourceEntry | undefined {
    const index = binarySearch(this.#current.entries, path.normalize('NFC'), entry => entry.location)
    return index < 0 ? undefined : this.#current.entries[index]
  }

  /** Returns the paths that the next publication removes. */
  removed(): readonly string[] {
    return [...this.#pending].flatMap(([path, entry]) => (entry === undefined ? path : []))
  }

  /** Whether a path has an unpublished result. */
  isPending(path: string): boolean {
    return this.#pending.has(path.normalize('NFC'))
  }

  /** Publishes all results in one step. Returns the same object if nothing changed. */
  publish(diagnostics: readonly Diagnostic[]): SourceContents {
    const before = this.#current
    const entries = this.#applyPending(before.entries)
    this.#pending.clear()
    if (entries !== before.entries || JSON.stringify(diagnostics) !== JSON.stringify(before.diagnostics)) {
      this.#current = Object.freeze({ entries, diagnostics })
    }
    return this.#current
  }

  /** Publishes empty contents. */
  clear(diagnostics: readonly Diagnostic[]): SourceContents {
    this.withdrawAll()
    return this.publish(diagnostics)
  }

  /** At the next publication, removes every published path for which `put()` adds no new result. */
  withdrawAll(): void {
    this.#pending.clear()
    for (const { location } of this.#current.entries) this.#pending.set(location, undefined)
  }

  #applyPending(before: readonly SourceEntry[]): readonly SourceEntry[] {
    const changes = [...this.#pending]
      .filter(([path, entry]) => this.find(path) !== entry)
      .map(([key, item]) => ({ key, item }))
    return changes.length === 0 ? before : applySorted(before, changes, entry => entry.location)
  }
}
