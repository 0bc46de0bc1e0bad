import type { Digest } from '../skill/digest.ts'

/**
 * A note that a source makes about one folder. A process that starts later can use this note instead of reading the
 * folder.
 */
export interface FolderNote {
  /** Revision of the skill in the folder. The store has the files of that revision. */
  readonly revision: Digest
  /** Size, times and inode of each directory and file. */
  readonly facts: Float64Array<ArrayBuffer>
  /** All other data of the note, as one text. */
  readonly text: string
}

/**
 * Notes of folders. With these notes, a new process need not read unchanged folders. If no note matches, the source
 * reads the folder.
 */
export interface FolderNotes {
  /**
   * Returns the note of a folder. Returns `undefined` if the note is damaged, was written by another version of the
   * library, or names a revision that is no longer stored.
   */
  find(source: string, location: string): FolderNote | undefined
  /** Replaces the note of a folder; `undefined` removes the note. The next flush writes the change. */
  put(source: string, location: string, note: FolderNote | undefined): void
}
