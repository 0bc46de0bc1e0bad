import type { FileSystem } from './file-system.ts'

export interface FileWriteOptions {
  /** Absolute folder that must contain the file after links are resolved. */
  readonly inside: string
  /** Whether the file gets the executable bit. @default false */
  readonly isExecutable?: boolean
}

/** A file system that supports writing. Writing throws `SkillError`, as reading does. */
export interface WritableFileSystem extends FileSystem {
  /**
   * Writes a whole file and creates the missing folders above it. Readers see the old content or all of the new
   * content, even after a loss of power.
   */
  write(path: string, content: Uint8Array, options: FileWriteOptions): void | Promise<void>
  /** Removes a file, or a folder with its content, without following links. Does nothing if the path does not exist. */
  remove(path: string, options: Pick<FileWriteOptions, 'inside'>): void | Promise<void>
  /** Moves a file or folder to a path that does not exist yet. Both paths are inside the folder. */
  move(from: string, to: string, options: Pick<FileWriteOptions, 'inside'>): void | Promise<void>
}
