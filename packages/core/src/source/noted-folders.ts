import type { FileSystem } from '../fs/file-system.ts'
import type { FolderNote, FolderNotes } from '../store/folder-notes.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { ResolvedFileSourceOptions } from './file-source-options.ts'
import type { FolderReader } from './folder-reader.ts'
import type { DirectoryNode } from './mirror.ts'
import { NOTE_FORM, noteFolder, recallFolder } from './noted-folder.ts'

/**
 * The notes of a source. In a note, an earlier process recorded the state of a folder. The first scan compares the
 * notes with the disk, so a new process reads only folders that changed. Notes exist only for disks, because only a
 * disk gives every process the same file times and inodes.
 */
export class NotedFolders {
  readonly #reader: FolderReader
  readonly #fileSystem: FileSystem
  /**
   * The options that a note depends on, as text. A note is ignored if this key was different when the note was
   * written.
   */
  readonly #key: string
  /** The options that the diagnostics in a note depend on, as text. `#key` does not include these options. */
  readonly #wording: string
  /** How many folders of the mirror were filled from a note. */
  #recalled = 0
  /** Folders that were read after their note was written; `undefined` for removed folders. */
  readonly #changed = new Map<string, DirectoryNode | undefined>()
  #notes: FolderNotes | undefined
  #writing: Promise<void> | undefined
  /**
   * Whether notes are being written. Reset synchronously when the queue is empty, so that a later change starts a new
   * run.
   */
  #isWriting = false
  /** Whether a scan is changing the mirror now. */
  #isReading = false

  constructor(options: ResolvedFileSourceOptions, reader: FolderReader) {
    const {
      fileSystem,
      root,
      displayRoot,
      label,
      limits,
      reading,
      layout,
      symlinks,
      nestedSkills,
      trust,
      hasDirectories,
    } = options
    this.#fileSystem = fileSystem
    this.#reader = reader
    this.#key = JSON.stringify([
      ...[NOTE_FORM, root, limits, reading, layout.key],
      ...[symlinks, nestedSkills, trust, hasDirectories],
    ])
    this.#wording = JSON.stringify([label, displayRoot])
  }

  /** Must be called before the first scan fills a mirror. */
  begin(store: SkillStore): void {
    this.#changed.clear()
    this.#recalled = 0
    this.#notes = this.#fileSystem.identity === 'disk' ? store.notes : undefined
  }

  get recalled(): number {
    return this.#recalled
  }

  /**
   * Fills a new folder of the mirror from its note. Returns the subdirectories, or `undefined` if the folder has no
   * note.
   */
  recall(folder: DirectoryNode): readonly DirectoryNode[] | undefined {
    const note = folder.isLink ? undefined : this.#find(folder.path)
    const recalled = note === undefined ? undefined : recallFolder(folder, note, this.#wording)
    if (recalled === undefined) return undefined
    this.#recalled++
    const { noted, added } = recalled
    folder.entry = this.#reader.recall(folder, noted)
    return added
  }

  /** Finds a note. If the store fails, returns `undefined`, so the folder is read. */
  #find(path: string): FolderNote | undefined {
    try {
      return this.#notes?.find(this.#key, path)
    } catch {
      return undefined
    }
  }

  /** Must be called after a folder was read or removed. */
  change(location: string, folder: DirectoryNode | undefined): void {
    if (this.#notes !== undefined) this.#changed.set(location, folder)
  }

  /** Stops writing notes while a scan changes the mirror. */
  pause(): void {
    this.#isReading = true
  }

  /** Starts to write notes of the folders that the last scan changed, in small steps. */
  resume(): void {
    this.#isReading = false
    void this.finish()
  }

  /** Resolves when the notes of all changes are written, or when a scan begins. */
  async finish(): Promise<void> {
    if (!this.#isWriting) this.#writing = this.#write()
    await this.#writing
  }

  async #write(): Promise<void> {
    const notes = this.#notes
    if (notes === undefined) return
    this.#isWriting = true
    try {
      for (const [location, folder] of this.#changed) {
        const turn = this.#fileSystem.pace?.()
        if (turn !== undefined) await turn
        if (this.#isReading) break
        this.#changed.delete(location)
        notes.put(
          this.#key,
          location,
          folder?.isAttached === true ? noteFolder(folder, this.#wording) : undefined,
        )
      }
    } finally {
      this.#isWriting = false
    }
  }
}
