import type { FileSystem } from '../fs/file-system.ts'
import type { FolderNote, FolderNotes } from '../store/folder-notes.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { ResolvedFileSourceOptions } from './file-source-options.ts'
import type { FolderReader } from './folder-reader.ts'
import type { DirectoryNode } from './mirror.ts'
import { NOTE_FORM, noteFolder, recallFolder } from './noted-folder.ts'

/**
 * The notes of a source: what an earlier process knew of each folder is taken for what the first reading compares with the disk, so
 * that a start reads only what has changed. Only on a disk, where facts are the same for every process.
 */
export class NotedFolders {
  readonly #reader: FolderReader
  readonly #fileSystem: FileSystem
  /** What a note depends on besides the folder itself. */
  readonly #key: string
  /** What the findings in a note depend on besides that. */
  readonly #wording: string
  /** How many folders were filled from a note. */
  #recalled = 0
  /** Folders that were read since they were noted; `undefined` for those that are gone. */
  readonly #changed = new Map<string, DirectoryNode | undefined>()
  #notes: FolderNotes | undefined
  #writing: Promise<void> | undefined
  /** Ends in the same step in which nothing was left to note. */
  #isWriting = false
  /** Whether the mirror is changing at the moment. */
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

  /** To be called before a mirror is filled. A store that cannot be asked has no notes: every folder is read. */
  async begin(store: SkillStore): Promise<void> {
    this.#changed.clear()
    this.#recalled = 0
    this.#notes = this.#fileSystem.identity === 'disk' ? store.notes : undefined
    await this.#notes?.open?.(this.#key).catch(() => (this.#notes = undefined))
  }

  get recalled(): number {
    return this.#recalled
  }

  /** Fills a folder of the mirror that was not looked at yet; returns the directories in it, or nothing when there is no note. */
  recall(folder: DirectoryNode): readonly DirectoryNode[] | undefined {
    const note = folder.isLink ? undefined : this.#find(folder.path)
    const recalled = note === undefined ? undefined : recallFolder(folder, note, this.#wording)
    if (recalled === undefined) return undefined
    this.#recalled++
    const { noted, added } = recalled
    folder.entry = this.#reader.recall(folder, noted)
    return added
  }

  /** A store that cannot be asked has no notes: the folder is read. */
  #find(path: string): FolderNote | undefined {
    try {
      return this.#notes?.find(this.#key, path)
    } catch {
      return undefined
    }
  }

  /** To be called when a folder was read, or is gone. */
  change(location: string, folder: DirectoryNode | undefined): void {
    if (this.#notes !== undefined) this.#changed.set(location, folder)
  }

  /** A reading begins: the mirror is no longer what was shown last. */
  pause(): void {
    this.#isReading = true
  }

  /** A reading has ended: notes what it has changed, little by little. */
  resume(): void {
    this.#isReading = false
    void this.finish()
  }

  /** Resolves when everything is noted, or a reading has begun. */
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
