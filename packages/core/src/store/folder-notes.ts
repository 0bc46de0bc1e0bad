import type { Digest } from '../skill/digest.ts'

/** What a source knows of one folder, for a process that starts later. */
export interface FolderNote {
  /** Of the skill in the folder; the store has its bytes. */
  readonly revision: Digest
  /** What the file system said of each directory and file. */
  readonly facts: Float64Array<ArrayBuffer>
  /** Everything else. */
  readonly text: string
}

/**
 * Notes of folders, which save a start from reading what has not changed. They are no more than that: a source that finds none,
 * or one that does not fit, reads the folder.
 */
export interface FolderNotes {
  /** Called before the first note of a source is looked up; may take longer than a lookup. */
  open?(source: string): Promise<void>
  /** Nothing for one that is damaged, that another version of the library wrote, or whose revision the store no longer has. */
  find(source: string, location: string): FolderNote | undefined
  /** Keeps a note in place of an earlier one, or forgets it. The next flush writes it. */
  put(source: string, location: string, note: FolderNote | undefined): void
}
