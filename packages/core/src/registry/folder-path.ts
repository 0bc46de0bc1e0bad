import { defined } from '../defined.ts'
import type { SourceEntry } from '../skill/source-contents.ts'
import type { FolderPlace } from './admission.ts'

/** The folder of a skill in its file system. */
export interface FolderOnDisk {
  /** Absolute path, with links resolved. */
  readonly path: string
  /** True if the folder contains links, so that some of its files are also in other folders. */
  readonly hasLinks: boolean
  /** Identity of the folder, which does not depend on its path; absent if the file system has none. */
  readonly identity?: string
}

/** Returns the folder of a skill. Without an entry, the path is the location within the origin. */
export function folderOf(
  { origin, location }: FolderPlace,
  { realPath, hasLinks = false, identity }: Pick<SourceEntry, 'realPath' | 'hasLinks' | 'identity'> = {},
): FolderOnDisk {
  const path = realPath ?? (location === '' ? origin : `${origin}/${location}`)
  return { path, hasLinks, ...defined({ identity }) }
}
