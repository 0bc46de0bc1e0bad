import type { FileSystem } from './file-system.ts'

export interface FileWriteOptions {
  /** Absolute folder that must contain the file after links are resolved. */
  readonly inside: string
  /** Whether the written file is executable. @default false */
  readonly isExecutable?: boolean
}

/** A file system that supports writing. Failed writes throw a `SkillError`, like failed reads. */
export interface WritableFileSystem extends FileSystem {
  /**
   * Writes a whole file and creates the missing folders above it. Readers see either the complete previous content or
   * the complete new content, even after a power loss.
   */
  write(path: string, content: Uint8Array, options: FileWriteOptions): void | Promise<void>
  /** Removes a file, or a folder with its content, without following links. Does nothing if the path does not exist. */
  remove(path: string, options: Pick<FileWriteOptions, 'inside'>): void | Promise<void>
  /** Moves a file or folder to a path that does not exist yet. Both paths must be inside the folder `inside`. */
  move(from: string, to: string, options: Pick<FileWriteOptions, 'inside'>): void | Promise<void>
}
