import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { FolderCache } from '../folders/folder-cache.ts'
import { isGuardedName } from './guarded-names.ts'

/** Maximum number of entries that are checked in a granted folder. */
const MAX_ENTRIES = 100_000
const AT_ONCE = 32

/** Result of checking a granted folder and everything in it. */
export interface FolderLook {
  /** The first entry with a guarded name. */
  readonly guarded?: string
  readonly links: readonly string[]
  /** The first folder that the host is not allowed to list. */
  readonly closed?: string
  /** Whether the folder has more than 100,000 entries. The check ended after 100,000 entries. */
  readonly isTooLarge: boolean
}

interface Listing {
  readonly count: number
  readonly folders: readonly string[]
  readonly links: readonly string[]
  readonly guarded: string | undefined
}

/** Checks granted folders before and after calls of scripts. Lists a folder again only if its entries changed. */
export class FolderLooks {
  readonly #listings = new FolderCache(list)

  /**
   * Checks everything in a folder and its subfolders, and follows no links. If the path is a file or does not exist,
   * finds nothing.
   */
  async look(folder: string): Promise<FolderLook> {
    const links: string[] = []
    let guarded: string | undefined
    let closed: string | undefined
    let count = 0
    for (let level: readonly string[] = [folder]; level.length > 0 && count <= MAX_ENTRIES; ) {
      const next: string[] = []
      for (let at = 0; at < level.length && count <= MAX_ENTRIES; at += AT_ONCE) {
        const found = await Promise.all(level.slice(at, at + AT_ONCE).map(each => this.#get(each)))
        for (const each of found) {
          if (typeof each === 'string') closed ??= each
          else if (each !== undefined) {
            count += each.count
            guarded ??= each.guarded
            links.push(...each.links)
            next.push(...each.folders)
          }
        }
      }
      level = next
    }
    return {
      links,
      isTooLarge: count > MAX_ENTRIES,
      ...(guarded === undefined ? {} : { guarded }),
      ...(closed === undefined ? {} : { closed }),
    }
  }

  /**
   * Returns the listing of a folder, or the path of the folder if the host is not allowed to list it. Returns `undefined` if the folder no longer exists.
   */
  async #get(folder: string): Promise<Listing | string | undefined> {
    try {
      return await this.#listings.get(folder)
    } catch (thrown) {
      const { code = '' } = thrown as NodeJS.ErrnoException
      if (['EACCES', 'EPERM'].includes(code)) return folder
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(code)) return undefined
      throw thrown
    }
  }
}

async function list(folder: string): Promise<Listing> {
  const entries = await readdir(folder, { withFileTypes: true })
  const guarded = entries.find(({ name }) => isGuardedName(name))
  const pathOf = ({ name }: { readonly name: string }): string => join(folder, name)
  return {
    count: entries.length,
    folders: entries.filter(entry => entry.isDirectory()).map(pathOf),
    links: entries.filter(entry => entry.isSymbolicLink()).map(pathOf),
    guarded: guarded === undefined ? undefined : pathOf(guarded),
  }
}
