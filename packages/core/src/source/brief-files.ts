import { type FileSystem, statIfThere } from '../fs/file-system.ts'
import type { Clock } from '../host.ts'
import { isBriefName } from '../skill/left-out-names.ts'
import type { DirectoryNode, FileNode } from './mirror.ts'

/** How long after its creation a new file with a brief name delays the reading of its folder, in milliseconds. */
const BRIEF_MS = 10_000

interface Surroundings {
  readonly fileSystem: FileSystem
  readonly clock: Clock
  readonly pathOf: (node: DirectoryNode) => string
}

/**
 * Whether a tool may soon rename or remove one of the files of a folder, so that the file must not cause a revision of its
 * own. A file that was read before is never brief. However many such files follow each other, they delay the folder for ten
 * seconds only.
 */
export async function hasBriefFile(
  folder: DirectoryNode,
  files: readonly { readonly directory: DirectoryNode; readonly file: FileNode }[],
  { fileSystem, clock, pathOf }: Surroundings,
): Promise<boolean> {
  let isYoung = false
  let isNew = false
  for (const { directory, file } of files) {
    const isRead = file.digest !== undefined
    // A file that was read continues an earlier delay, but begins none.
    if (!isBriefName(file.name) || (isRead && folder.briefSince === undefined)) continue
    const stat = await statIfThere(fileSystem, `${pathOf(directory)}/${file.name}`)
    const ageMs = stat === undefined ? BRIEF_MS : clock.now() - stat.birthtimeMs
    if (ageMs < 0 || ageMs >= BRIEF_MS) continue
    isYoung = true
    isNew ||= !isRead
  }
  const now = clock.monotonic()
  folder.briefSince = isYoung ? (folder.briefSince ?? now) : undefined
  return isNew && now - (folder.briefSince ?? now) < BRIEF_MS
}
