import type {
  DirectoryEntry,
  FileReadOptions,
  FileStat,
  FileSystem,
  OpenedFile,
} from '@skillstoke/core/source'

/** The names of the file that makes a folder a skill, best name first. */
export const SKILL_FILE_NAMES: readonly string[] = ['SKILL.md', 'skill.md']

/**
 * Reads through the file system of the newest request. Each request may have another object for the same files, and the connection of an earlier object may be closed. Supports no watching.
 *
 * Shows only the `SKILL.md` of each skill, because pai reads no other file. A file system without times is read again at
 * each request, so each request would read all files of all skills.
 */
export class NewestFileSystem implements FileSystem {
  current: FileSystem
  /** The folders that contain the skills. */
  roots: ReadonlySet<string> = new Set()

  constructor(current: FileSystem) {
    this.current = current
  }

  async list(path: string): Promise<readonly DirectoryEntry[]> {
    const entries = await this.current.list(path)
    const isRoot = this.roots.has(path)
    return entries.filter(
      ({ name, kind }) =>
        SKILL_FILE_NAMES.includes(name) || (isRoot && (kind !== 'file' || name === '.skillignore')),
    )
  }

  async stat(path: string): Promise<FileStat> {
    return await this.current.stat(path)
  }

  async read(path: string, options: FileReadOptions): Promise<OpenedFile> {
    return await this.current.read(path, options)
  }

  async resolve(path: string): Promise<string> {
    return await this.current.resolve(path)
  }

  toNativePath(path: string): string {
    return this.current.toNativePath?.(path) ?? path
  }

  pace(): Promise<void> | undefined {
    return this.current.pace?.()
  }
}
