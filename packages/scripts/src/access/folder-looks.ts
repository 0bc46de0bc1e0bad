import { type BigIntStats, type Dirent, lstatSync, readlinkSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isRepository, isRepositoryEntry } from '@skillstoke/core/internal'
import { FolderCache } from '../folders/folder-cache.ts'
import { identityOf } from './file-identity.ts'
import { isGuardedName } from './guarded-names.ts'

/** Maximum number of entries that are checked in a granted folder. */
const MAX_ENTRIES = 100_000
const AT_ONCE = 32
const SET_ID_BITS = 0o6000

/** An entry that a script must not leave in a folder that it may write to. */
export interface OddEntry {
  readonly path: string
  readonly kind: 'guarded' | 'repository' | 'link' | 'special' | 'set-id' | 'closed'
  /** Identifies the file or folder, so that it is not confused with a later one at the same path. */
  readonly identity: string
}

/** Result of checking a granted folder and everything in it. */
export interface FolderLook {
  /** Entries that a script must not leave there. */
  readonly odd: readonly OddEntry[]
  /** Entries that may become parts of a git repository when a script adds further entries. */
  readonly parts: readonly OddEntry[]
  /** Whether the folder has more than 100,000 entries. The check ended after 100,000 entries. */
  readonly isTooLarge: boolean
}

interface Listing extends Pick<FolderLook, 'odd' | 'parts'> {
  readonly count: number
  readonly folders: readonly string[]
  readonly files: readonly string[]
}

/** Returns the paths of the entries of some kinds. */
export function pathsOf({ odd }: FolderLook, ...kinds: readonly OddEntry['kind'][]): readonly string[] {
  return odd.flatMap(({ kind, path }) => (kinds.includes(kind) ? path : []))
}

/** Checks granted folders before and after calls of scripts. Lists a folder again only if its entries changed. */
export class FolderLooks {
  readonly #listings = new FolderCache(list)

  /**
   * Checks everything in a folder and its subfolders, and follows no links. If the path is a file or does not exist,
   * finds nothing.
   * @param options.readsModes also finds files whose mode gives their user or group to everyone who runs them
   */
  async look(
    folder: string,
    { readsModes = false }: { readonly readsModes?: boolean } = {},
  ): Promise<FolderLook> {
    const odd: OddEntry[] = []
    const parts: OddEntry[] = []
    let count = 0
    for (let level: readonly string[] = [folder]; level.length > 0 && count <= MAX_ENTRIES; ) {
      const next: string[] = []
      for (let at = 0; at < level.length && count <= MAX_ENTRIES; at += AT_ONCE) {
        const found = await Promise.all(level.slice(at, at + AT_ONCE).map(each => this.#get(each)))
        for (const each of found) {
          count += each.count
          odd.push(...each.odd)
          parts.push(...each.parts)
          if (readsModes) odd.push(...each.files.flatMap(findSetId))
          next.push(...each.folders)
        }
      }
      level = next
    }
    return { odd, parts, isTooLarge: count > MAX_ENTRIES }
  }

  /** Returns the listing of a folder; an empty listing if the folder no longer exists or the host may not list it. */
  async #get(folder: string): Promise<Listing> {
    try {
      return await this.#listings.get(folder)
    } catch (thrown) {
      const { code = '' } = thrown as NodeJS.ErrnoException
      if (['EACCES', 'EPERM'].includes(code)) return { ...NOTHING, odd: toOdd(folder, 'closed') }
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code)) return NOTHING
      throw thrown
    }
  }
}

const NOTHING: Listing = { count: 0, folders: [], files: [], odd: [], parts: [] }

async function list(folder: string): Promise<Listing> {
  const entries = await readdir(folder, { withFileTypes: true })
  const pathOf = ({ name }: Dirent): string => join(folder, name)
  const parts = entries
    .filter(({ name }) => isRepositoryEntry(name))
    .flatMap(entry => toOdd(pathOf(entry), 'repository'))
  return {
    count: entries.length,
    folders: entries.filter(entry => entry.isDirectory()).map(pathOf),
    files: entries.filter(entry => entry.isFile()).map(pathOf),
    odd: [
      ...(isRepository(entries.map(toNamedEntry)) ? parts : []),
      ...entries.flatMap(entry => {
        const kind = kindOf(entry)
        return kind === undefined ? [] : toOdd(pathOf(entry), kind)
      }),
    ],
    parts,
  }
}

function toNamedEntry(entry: Dirent): Parameters<typeof isRepository>[0][number] {
  const kind = entry.isFile() ? 'file' : entry.isDirectory() ? 'directory' : 'other'
  return { name: entry.name, kind }
}

function kindOf(entry: Dirent): OddEntry['kind'] | undefined {
  if (isGuardedName(entry.name)) return 'guarded'
  if (entry.isSymbolicLink()) return 'link'
  return entry.isFIFO() || entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice()
    ? 'special'
    : undefined
}

/** A change of a mode does not change the folder, so modes are read each time. */
function findSetId(path: string): readonly OddEntry[] {
  const mode = lstatSync(path, { throwIfNoEntry: false })?.mode ?? 0
  return (mode & SET_ID_BITS) === 0 ? [] : toOdd(path, 'set-id')
}

function toOdd(path: string, kind: OddEntry['kind']): readonly OddEntry[] {
  const facts = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  if (facts === undefined) return []
  return [{ path, kind, identity: [kind, identityOf(facts), describeContent(path, kind, facts)].join(' ') }]
}

/**
 * Returns the part of an identity that says what an entry is now. A script may rename a folder that contains links and
 * pipes: a link stays the same entry as long as it leads to the same place, a pipe everywhere. A set-id file is another
 * one after each change.
 */
function describeContent(path: string, kind: OddEntry['kind'], facts: BigIntStats): string {
  if (kind === 'special') return ''
  if (kind === 'set-id') return `${facts.ctimeNs} ${path}`
  if (kind !== 'link') return path
  try {
    return resolve(dirname(path), readlinkSync(path))
  } catch {
    return path // replaced meanwhile
  }
}
