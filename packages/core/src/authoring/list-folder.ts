import { unlessFailed } from '../errors.ts'
import type { DirectoryEntry } from '../fs/file-system.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'

/** Lists the entries of a folder. Returns `undefined` if there is no folder at the path. */
export async function listFolder(
  fileSystem: WritableFileSystem,
  path: string,
): Promise<readonly DirectoryEntry[] | undefined> {
  return await unlessFailed(() => fileSystem.list(path), 'NOT_FOUND', 'WRONG_KIND')
}
