import { isSameStat } from '../fs/file-system.ts'
import type { DirectoryNode, FileNode } from './mirror.ts'
import type { ReadFile } from './second-fingerprint.ts'

/**
 * The files in one mirror that have several hard links. The kernel reports an edit only for the path that the writer
 * used, although the bytes change under all paths.
 */
export class SharedFiles {
  readonly #byInode = new Map<string, Set<ReadFile>>()

  /**
   * Notes a file whose bytes were read. If the file changed, returns the directories that contain its other hard
   * links.
   */
  note({ directory, file }: ReadFile): readonly DirectoryNode[] {
    const { stat } = file
    if (file.isShared !== true || stat === undefined) return []
    const key = `${stat.dev}:${stat.ino}`
    const names = this.#byInode.get(key) ?? new Set()
    this.#byInode.set(key, names)
    const outdated: DirectoryNode[] = []
    let isKnown = false
    for (const each of names) {
      if (!isCurrent(each)) names.delete(each)
      else if (each.file === file) isKnown = true
      else if (each.file.stat === undefined || !isSameStat(each.file.stat, stat))
        outdated.push(each.directory)
    }
    if (!isKnown) names.add({ directory, file })
    return outdated
  }

  clear(): void {
    this.#byInode.clear()
  }
}

function isCurrent({ directory, file }: ReadFile): boolean {
  return directory.isAttached && directory.files.get(file.name) === file
}

/** Whether any file in a directory may change without an event in that directory. */
export function hasSilentFiles({ files }: DirectoryNode): boolean {
  return [...files.values()].some(({ isLink, isShared }: FileNode) => isLink || isShared === true)
}
