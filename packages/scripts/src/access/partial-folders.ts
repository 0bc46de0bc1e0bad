import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { identityOf } from './file-identity.ts'
import { isInsideFolder } from './granted-path.ts'

/** Bubblewrap accepts 9,000 arguments. */
const MAX_ENTRIES = 1_000

/** Error codes for entries that were removed during the listing, or that neither the host nor its scripts may read. */
const CLOSED = ['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR']

/** A granted folder that contains hidden paths, with the list of entries that scripts in a sandbox may see. */
export interface PartialFolder {
  readonly path: string
  /** Subfolders that also contain hidden paths. Outer folders come before inner folders. */
  readonly folders: readonly string[]
  /** Entries that are not hidden and contain no hidden paths. */
  readonly entries: readonly ShownEntry[]
}

export interface ShownEntry {
  readonly path: string
  readonly identity: string
  /** Target of the entry if it is a link. */
  readonly target?: string
}

interface Entry extends ShownEntry {
  readonly isFolder: boolean
}

/**
 * Lists the visible entries of granted folders that contain hidden paths. The sandbox mounts each visible entry
 * separately. To mount an empty folder over each hidden path would not be enough. Such a mount fails if the path does
 * not exist yet, and vanishes if a program replaces the path.
 */
export async function findPartialFolder(
  folder: string,
  hidden: readonly string[],
): Promise<PartialFolder | 'too-many'> {
  const folders: string[] = []
  const entries: ShownEntry[] = []
  const open = [folder]
  for (const each of open)
    for (const { isFolder, ...entry } of await list(each)) {
      if (hidden.includes(entry.path)) continue
      if (isFolder && hidden.some(path => isInsideFolder(path, entry.path))) {
        folders.push(entry.path)
        open.push(entry.path)
      } else if (entries.push(entry) > MAX_ENTRIES) return 'too-many'
    }
  return { path: folder, folders, entries }
}

async function list(folder: string): Promise<readonly Entry[]> {
  const names = (await unlessClosed(readdir(folder))) ?? []
  // Read at most 2,000 entries, because a folder with more than 1,000 entries is refused anyway.
  const found = names.slice(0, 2 * MAX_ENTRIES).map(name => unlessClosed(look(join(folder, name))))
  return (await Promise.all(found)).filter(each => each !== undefined)
}

async function look(path: string): Promise<Entry> {
  const facts = await lstat(path, { bigint: true })
  return {
    path,
    identity: identityOf(facts),
    isFolder: facts.isDirectory(),
    ...(facts.isSymbolicLink() ? { target: await readlink(path) } : {}),
  }
}

async function unlessClosed<Value>(work: Promise<Value>): Promise<Value | undefined> {
  try {
    return await work
  } catch (thrown) {
    if (CLOSED.includes((thrown as NodeJS.ErrnoException).code ?? '')) return undefined
    throw thrown
  }
}
