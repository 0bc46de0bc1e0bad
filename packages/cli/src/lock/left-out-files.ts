import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import {
  findLeftOutKind,
  isInside,
  isPrivateKey,
  isRepository,
  isRepositoryEntry,
} from '@skillstoke/core/internal'
import { NodeFileSystem } from '@skillstoke/core/node'
import type { DirectoryEntry } from '@skillstoke/core/source'

/** Digests of the files that were copied, by path. */
export type CopiedFiles = Readonly<Record<string, string>>

export const MAX_FILE_BYTES: number = 1024 * 1024 * 1024

/** The entries of a folder of a copied skill. */
interface SplitEntries {
  readonly kept: readonly DirectoryEntry[]
  /** Leftovers, dependency folders, secrets and data of git, which sources leave out because of their names. */
  readonly leftOut: readonly DirectoryEntry[]
}

/**
 * Splits the entries of a folder as sources do. An entry that was copied with the skill is never left out.
 * @param within path of the listed folder in the folder of the skill; empty for the folder of the skill itself
 */
export function splitEntries(
  entries: readonly DirectoryEntry[],
  within: string,
  copied: CopiedFiles,
): SplitEntries {
  const hasLayout = isRepository(entries)
  const isLeftOut = ({ name, kind }: DirectoryEntry): boolean =>
    (findLeftOutKind(name, kind !== 'file') !== undefined || (hasLayout && isRepositoryEntry(name))) &&
    !isCopied(toPath(within, name), copied)
  const leftOut = entries.filter(isLeftOut)
  return { leftOut, kept: entries.filter(entry => !leftOut.includes(entry)) }
}

/**
 * Moves everything that sources leave out of a skill from its replaced folder to its new folder, because a person put it
 * there. If the new folder already has an entry of the same name, the earlier entry stays in the replaced folder.
 */
export async function carryLeftOut(
  { from, to, inside }: { readonly from: string; readonly to: string; readonly inside: string },
  copied: CopiedFiles,
): Promise<void> {
  const fileSystem = new NodeFileSystem()
  const carry = async (path: string): Promise<void> => {
    const target = join(to, path)
    if (lstatSync(target, { throwIfNoEntry: false }) === undefined)
      await fileSystem.move(join(from, path), target, { inside })
  }
  const visit = async (within: string): Promise<void> => {
    const { kept, leftOut } = splitEntries(await fileSystem.list(join(from, within)), within, copied)
    for (const { name } of leftOut) await carry(toPath(within, name))
    for (const { name, kind } of kept) {
      const path = toPath(within, name)
      if (kind === 'directory') await visit(path)
      else if (kind === 'file' && !isCopied(path, copied)) {
        const options = { inside: [from], maxBytes: MAX_FILE_BYTES }
        const { bytes } = await fileSystem.read(join(from, path), options)
        if (isPrivateKey(path, bytes)) await carry(path)
      }
    }
  }
  await visit('')
}

export function toPath(within: string, name: string): string {
  return within === '' ? name : `${within}/${name}`
}

/** Whether a file, or a file below a folder, was copied with the skill. The lock file contains names in NFC. */
export function isCopied(path: string, copied: CopiedFiles): boolean {
  const known = path.normalize('NFC')
  return Object.keys(copied).some(each => isInside(each, known))
}
