import { SkillError } from '../errors.ts'
import type { DirectoryEntry } from '../fs/file-system.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'

/** Lists the entries of a folder. Returns `undefined` if there is no folder at the path. */
export async function listFolder(
  fileSystem: WritableFileSystem,
  path: string,
): Promise<readonly DirectoryEntry[] | undefined> {
  try {
    return await fileSystem.list(path)
  } catch (thrown) {
    if (SkillError.isInstance(thrown, 'NOT_FOUND') || SkillError.isInstance(thrown, 'WRONG_KIND'))
      return undefined
    throw thrown
  }
}
