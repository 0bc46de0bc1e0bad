import { setImmediate } from 'node:timers/promises'
import type { FolderNote, FolderNotes } from '../source-entry.ts'
import { nodeHasher } from './node-hasher.ts'
import type { PackIndex } from './pack-index.ts'

/** A note to write; `undefined` removes the stored note. */
export interface NoteChange {
  readonly source: string
  readonly location: string
  readonly note: FolderNote | undefined
}

const ROWS_PER_SLICE = 50

/** The functions of the pack store that the notes need. */
export interface PackedNotesOptions {
  readonly ask: <Answer>(question: (index: PackIndex) => Answer) => Answer
  /** Returns whether the packs contain all bytes that the index refers to. */
  readonly hasPacks: () => Promise<boolean>
  readonly onPut: () => void
}

/**
 * The notes in the index of a pack store. The next flush writes new notes. If bytes are missing, all notes are removed,
 * so that the start reads every folder and stores the lost bytes again.
 */
export class PackedNotes implements FolderNotes {
  readonly #options: PackedNotesOptions
  #isChecked = false
  readonly #waiting = new Map<string, NoteChange>()
  /** Sources whose notes this process uses. The next `write` records this use in the index. */
  readonly #opened = new Set<string>()
  readonly #ids = new Map<string, string>()

  constructor(options: PackedNotesOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#waiting.size + this.#opened.size
  }

  async open(source: string): Promise<void> {
    const { ask, hasPacks, onPut } = this.#options
    if (!this.#isChecked && !(await hasPacks())) ask(index => index.removeNotes())
    this.#isChecked = true
    this.#opened.add(this.#idOf(source))
    onPut()
  }

  find(source: string, location: string): FolderNote | undefined {
    const id = this.#idOf(source)
    const waiting = this.#waiting.get(keyOf(id, location))
    if (waiting !== undefined) return waiting.note
    return this.#isChecked ? this.#options.ask(index => index.findNote(id, location)) : undefined
  }

  put(source: string, location: string, note: FolderNote | undefined): void {
    const id = this.#idOf(source)
    this.#waiting.set(keyOf(id, location), { source: id, location, note })
    this.#options.onPut()
  }

  /**
   * Returns the changed notes for the next `write`. Notes that change after this call are written by a later flush,
   * because the index may not have their revisions yet.
   */
  list(): readonly (readonly [key: string, change: NoteChange])[] {
    return [...this.#waiting]
  }

  /** Writes the result of `list` in slices. If a change cannot be written, the next flush retries it. */
  async write(listed: ReturnType<PackedNotes['list']>): Promise<void> {
    const { ask } = this.#options
    for (const source of this.#opened) {
      ask(index => index.useNotes(source))
      this.#opened.delete(source)
    }
    for (let i = 0; i < listed.length; i += ROWS_PER_SLICE) {
      const batch = listed.slice(i, i + ROWS_PER_SLICE)
      ask(index => index.setNotes(batch.map(([, change]) => change)))
      for (const [key, change] of batch) if (this.#waiting.get(key) === change) this.#waiting.delete(key)
      await setImmediate()
    }
  }

  /** Returns a short identifier for a source. */
  #idOf(source: string): string {
    const known = this.#ids.get(source)
    if (known !== undefined) return known
    const id = nodeHasher.sha256(source).slice(0, 32)
    this.#ids.set(source, id)
    return id
  }
}

function keyOf(id: string, location: string): string {
  return `${id}/${location}`
}
