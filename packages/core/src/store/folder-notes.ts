import type { Digest } from '../skill/digest.ts'

/** Notes of a source about one folder, for a process that starts later. */
export interface FolderNote {
  /** Revision of the skill in the folder. The store has its bytes. */
  readonly revision: Digest
  /** File system facts of each directory and file. */
  readonly facts: Float64Array<ArrayBuffer>
  /** All other data of the note. */
  readonly text: string
}

/**
 * Notes of folders, which save a start from reading unchanged folders. They are only a cache: without a matching note,
 * a source reads the folder.
 */
export interface FolderNotes {
  /** Prepares the lookups of a source. Called before the first one; may take longer than a lookup. */
  open?(source: string): Promise<void>
  /**
   * Returns the note of a folder. Returns `undefined` if the note is damaged, if another version of the library wrote
   * it, or if the store no longer has its revision.
   */
  find(source: string, location: string): FolderNote | undefined
  /** Replaces the note of a folder, or removes it with `undefined`. The next flush writes the change. */
  put(source: string, location: string, note: FolderNote | undefined): void
}
