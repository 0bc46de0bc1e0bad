import { unlessFailed } from '../errors.ts'
import type { DirectoryEntry } from '../fs/file-system.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import { isInside } from '../is-inside.ts'
import { compareText } from '../skill/compare.ts'
import { isRepository, isRepositoryEntry } from '../skill/git-layout.ts'
import { findLeftOutKind, isPrivateKey } from '../skill/left-out-names.ts'

/** The files of a folder that are known to be part of its skill, in NFC. */
export interface PartFiles {
  readonly paths: readonly string[]
  /** Whether these are all files of the skill. If false, the names of the other entries decide. */
  readonly areAll: boolean
}

const MAX_FILE_BYTES = 1024 * 1024 * 1024

/** The entries of a folder of a skill. */
interface SplitParts {
  readonly kept: readonly DirectoryEntry[]
  /** For example leftovers, dependency folders, secrets and data of git, which sources leave out because of their names. */
  readonly leftOut: readonly DirectoryEntry[]
}

/**
 * Splits the entries of a folder as sources do. A known part is never left out.
 * @param within path of the listed folder in the folder of the skill; empty for the folder of the skill itself
 */
export function splitParts(entries: readonly DirectoryEntry[], within: string, parts: PartFiles): SplitParts {
  const hasLayout = isRepository(entries)
  const isNamed = ({ name, kind }: DirectoryEntry): boolean =>
    findLeftOutKind(name, kind !== 'file') !== undefined || (hasLayout && isRepositoryEntry(name))
  const leftOut = entries.filter(
    entry => (parts.areAll || isNamed(entry)) && !isPart(toPath(within, entry.name), parts),
  )
  return { leftOut, kept: entries.filter(entry => !leftOut.includes(entry)) }
}

/**
 * Moves everything that is no part of a skill from its replaced folder to its new folder, because a person put it there. If
 * the new folder has an entry in its place, the earlier entry stays in the replaced folder.
 */
export async function carryLeftOut(
  fileSystem: WritableFileSystem,
  { from, to, root }: { readonly from: string; readonly to: string; readonly root: string },
  parts: PartFiles,
): Promise<void> {
  const carry = async (path: string): Promise<void> =>
    await unlessFailed(() => fileSystem.move(`${from}/${path}`, `${to}/${path}`, { inside: root }))
  const visit = async (within: string): Promise<void> => {
    const entries = await fileSystem.list(within === '' ? from : `${from}/${within}`)
    const { kept, leftOut } = splitParts(entries, within, parts)
    // The rules of a .skillignore come before what they exclude.
    for (const name of leftOut.map(each => each.name).sort(compareText)) await carry(toPath(within, name))
    for (const { name, kind } of kept) {
      const path = toPath(within, name)
      if (kind === 'directory') await visit(path)
      else if (kind === 'file' && !isPart(path, parts)) {
        const options = { inside: [from], maxBytes: MAX_FILE_BYTES }
        const { bytes } = await fileSystem.read(`${from}/${path}`, options)
        if (isPrivateKey(path, bytes)) await carry(path)
      }
    }
  }
  await visit('')
}

function toPath(within: string, name: string): string {
  return within === '' ? name : `${within}/${name}`
}

/** Whether a file is a part of the skill, or a folder contains a part. */
function isPart(path: string, { paths }: PartFiles): boolean {
  const known = path.normalize('NFC')
  return paths.some(each => isInside(each, known))
}
