import type {
  DirectoryEntry,
  FileReadOptions,
  FileStat,
  FileSystem,
  OpenedFile,
} from '@skillstoke/core/source'

/**
 * Reads through the file system of the newest request. Each request may have another object for the same files, and the connection of an earlier object may be closed. Supports no watching.
 */
export class NewestFileSystem implements FileSystem {
  current: FileSystem

  constructor(current: FileSystem) {
    this.current = current
  }

  async list(path: string): Promise<readonly DirectoryEntry[]> {
    return await this.current.list(path)
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
