import { join } from 'node:path'
import { type Digest, SkillError } from '@skillstoke/core'
import { digestOf, revisionOf, sortFiles } from '@skillstoke/core/internal'
import { NodeFileSystem, nodeHasher } from '@skillstoke/core/node'
import type { SkillFile } from '@skillstoke/core/source'
import type { LockedSkill } from './lock-file.ts'

/** How the folder of a locked skill is now. */
export interface InstalledState {
  readonly kind: 'unmodified' | 'modified' | 'missing'
  /** Files that differ from the lock, sorted. */
  readonly changed: readonly string[]
  /** Of the files that are there; absent when something else is among them, such as a link. */
  readonly revision?: Digest
}

/** Compares what is on the disk with the lock, file by file; what is no file, hidden or not, is a difference, too. */
export async function inspect(
  project: string,
  locked: Pick<LockedSkill, 'path' | 'files' | 'revision'>,
  platform: NodeJS.Platform = process.platform,
): Promise<InstalledState> {
  const found = await readFolder(join(project, locked.path))
  if (found === undefined) return { kind: 'missing', changed: [] }
  const now = new Map(found.files.map(({ path, digest }) => [path, digest as string]))
  const differing = [...new Set([...now.keys(), ...Object.keys(locked.files)])].filter(
    path => now.get(path) !== locked.files[path],
  )
  const changed = [...new Set([...differing, ...found.others])].sort((a, b) => (a < b ? -1 : 1))
  if (found.others.length > 0) return { kind: 'modified', changed }
  const revision = revisionOf(sortFiles(found.files), nodeHasher)
  // Modes are part of the revision, too. Windows has none, so files alone decide there.
  const isSame = changed.length === 0 && (revision === locked.revision || platform === 'win32')
  return isSame
    ? { kind: 'unmodified', changed, revision: locked.revision as Digest }
    : { kind: 'modified', changed, revision }
}

/** What was changed, for people. */
export function describeChanged({ kind, changed }: InstalledState): string {
  return kind === 'modified' && changed.length === 0 ? 'its modes' : changed.join(', ')
}

interface Folder {
  readonly files: readonly SkillFile[]
  /** Links, pipes, and whatever else is no file. */
  readonly others: readonly string[]
}

// What running a skill, or looking at its folder, leaves there: no part of a skill for anybody.
const LITTER: ReadonlySet<string> = new Set(['__pycache__', '.DS_Store', 'Thumbs.db'])
const MAX_FILE_BYTES = 1024 * 1024 * 1024

/** Everything in a folder; `undefined` when there is none. */
async function readFolder(root: string): Promise<Folder | undefined> {
  const fileSystem = new NodeFileSystem()
  const files: SkillFile[] = []
  const others: string[] = []
  const inside = [root]
  const visit = async (folder: string): Promise<void> => {
    for (const { name, kind } of await fileSystem.list(join(root, folder))) {
      // Opened as it is called there, and known as the lock file calls it.
      const path = folder === '' ? name : `${folder}/${name}`
      const known = path.normalize('NFC')
      if (LITTER.has(name)) continue
      else if (kind === 'directory') await visit(path)
      else if (kind === 'file') {
        const { bytes, stat } = await fileSystem.read(join(root, path), { inside, maxBytes: MAX_FILE_BYTES })
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
