import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** How many entries of a granted folder are looked at before a process starts. */
const MAX_ENTRIES = 100_000

export interface FolderFinding {
  readonly entry: Dirent
  readonly path: string
}

/**
 * Looks through a folder and everything below it, the nearest first, without following links.
 * @returns the first entry for which `isWanted` returns true; `'too-many'` when there are more than 100,000
 */
export async function lookThrough(
  folder: string,
  isWanted: (finding: FolderFinding) => boolean | Promise<boolean>,
): Promise<FolderFinding | 'too-many' | undefined> {
  const folders = [folder]
  let count = 0
  for (const each of folders) {
    for (const entry of await list(each)) {
      if (++count > MAX_ENTRIES) return 'too-many'
      const finding = { entry, path: join(each, entry.name) }
      if (await isWanted(finding)) return finding
      if (entry.isDirectory()) folders.push(finding.path)
    }
  }
  return undefined
}

/** What cannot be listed is closed to a script, too, and a file has no entries. */
async function list(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch {
    return []
  }
}
