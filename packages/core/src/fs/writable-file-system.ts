import type { FileSystem } from './file-system.ts'

export interface FileWriteOptions {
  /** Absolute folder in which the file has to be, links resolved. */
  readonly inside: string
  /** Whether commands may run it. @default false */
  readonly isExecutable?: boolean
}

/** A file system that can be written to. Like reading, writing throws `SkillError`. */
export interface WritableFileSystem extends FileSystem {
  /**
   * Writes a whole file, with the folders above it: readers see what was there before or all of the new content, also
   * after a loss of power.
   */
  write(path: string, content: Uint8Array, options: FileWriteOptions): void | Promise<void>
  /** Removes a file or folder with everything in it, links not followed; nothing happens when there is none. */
  remove(path: string, options: Pick<FileWriteOptions, 'inside'>): void | Promise<void>
  /** Moves a file or folder to where nothing is; both are inside the folder. */
  move(from: string, to: string, options: Pick<FileWriteOptions, 'inside'>): void | Promise<void>
}
