import { join } from 'node:path'
import { type Digest, SkillError } from '@skillstoke/core'
import { digestOf, isPrivateKey, revisionOf, sortFiles, splitParts } from '@skillstoke/core/internal'
import { NodeFileSystem, nodeHasher } from '@skillstoke/core/node'
import type { SkillFile } from '@skillstoke/core/source'
import type { LockedSkill } from './lock-file.ts'

const MAX_FILE_BYTES = 1024 * 1024 * 1024

/** Present state of the folder of a locked skill. */
export interface InstalledState {
  readonly kind: 'unmodified' | 'modified' | 'missing'
  /** Files that differ from the lock file, sorted. */
  readonly changed: readonly string[]
  /** Revision of the present files. Absent if the folder contains entries that are not files, such as links. */
  readonly revision?: Digest
}

/**
 * Compares a folder with the lock file, file by file. Every entry that is not a file, such as a link, counts as a
 * difference. Entries that sources leave out of a skill do not count.
 */
export async function inspect(
  project: string,
  locked: Pick<LockedSkill, 'path' | 'files' | 'revision'>,
  platform: NodeJS.Platform = process.platform,
): Promise<InstalledState> {
  const parts = { paths: Object.keys(locked.files), areAll: false }
  const found = await readFolder(join(project, locked.path), parts)
  if (found === undefined) return { kind: 'missing', changed: [] }
  const now = new Map(found.files.map(({ path, digest }) => [path, digest as string]))
  const differing = [...new Set([...now.keys(), ...Object.keys(locked.files)])].filter(
    path => now.get(path) !== locked.files[path],
  )
  const changed = [...new Set([...differing, ...found.others])].sort((a, b) => (a < b ? -1 : 1))
  if (found.others.length > 0) return { kind: 'modified', changed }
  const revision = revisionOf(sortFiles(found.files), nodeHasher)
  // Also compares the revisions, because a revision includes the executable bits. On Windows, which has no executable
  // bits, compares only the content.
  const isSame = changed.length === 0 && (revision === locked.revision || platform === 'win32')
  return isSame
    ? { kind: 'unmodified', changed, revision: locked.revision as Digest }
    : { kind: 'modified', changed, revision }
}

/** Describes the changed files as text. */
export function describeChanged({ kind, changed }: InstalledState): string {
  return kind === 'modified' && changed.length === 0 ? 'file modes' : changed.join(', ')
}

interface Folder {
  readonly files: readonly SkillFile[]
  /** Links, pipes and other entries that are not files. */
  readonly others: readonly string[]
}

/** Reads the entries of a folder that can be part of a skill. Returns `undefined` if the folder does not exist. */
async function readFolder(
  root: string,
  parts: Parameters<typeof splitParts>[2],
): Promise<Folder | undefined> {
  const fileSystem = new NodeFileSystem()
  const files: SkillFile[] = []
  const others: string[] = []
  const inside = [root]
  const visit = async (folder: string): Promise<void> => {
    const { kept } = splitParts(await fileSystem.list(join(root, folder)), folder, parts)
    for (const { name, kind } of kept) {
      // Reads the file by its name on disk. Compares the NFC form of this name, because the lock file contains NFC
      // names.
      const path = folder === '' ? name : `${folder}/${name}`
      const known = path.normalize('NFC')
      if (kind === 'directory') await visit(path)
      else if (kind === 'file') {
        const { bytes, stat } = await fileSystem.read(join(root, path), { inside, maxBytes: MAX_FILE_BYTES })
        if (isPrivateKey(known, bytes) && !parts.paths.includes(known)) continue
        const digest = digestOf(bytes, nodeHasher)
        files.push({ path: known, digest, size: bytes.length, isExecutable: stat.isExecutable })
      } else others.push(known)
    }
  }
  try {
    inside[0] = await fileSystem.resolve(root)
    await visit('')
  } catch (thrown) {
    if (SkillError.isInstance(thrown, 'NOT_FOUND')) return undefined
    throw thrown
  }
  return { files, others }
}
