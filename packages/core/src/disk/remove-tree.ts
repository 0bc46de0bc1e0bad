import { randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { chmod, type FileHandle, open, readdir, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Linux flag for opening a folder without read permission. The descriptor only gives access to the entries of the
 * folder. Node has no constant for this flag.
 */
const O_PATH = 0o10_000_000

/**
 * Maximum number of nested folders that are open at the same time, because each open folder uses a descriptor. Folders
 * below this depth are moved to the top folder before they are removed.
 */
const MAX_LEVELS = 64
/** How many times the removal lists a folder again if another process keeps adding entries. */
const MAX_PASSES = 64
/** Each retry waits 100 ms longer than the previous retry. */
const MAX_RETRIES = 5

/**
 * Removes a file, or a folder with its content, even if permissions forbid the removal. On Linux every step uses the
 * descriptor of an open folder. If another process replaces a folder with a link, the removal does not follow the link.
 * On other systems, the removal uses paths. Does nothing if the path does not exist.
 *
 * @param path must be in a folder that only trusted processes can write to
 * @throws when a file or folder cannot be removed, for example because other processes keep adding files
 */
export async function removeTree(path: string): Promise<void> {
  if (!hasDescriptorPaths()) return await removeByPath(path)
  const parent = await orNothing(open(dirname(path), constants.O_DIRECTORY | O_PATH), ['ENOENT'])
  if (parent === undefined) return
  try {
    await new TreeRemoval(parent).remove(parent, Buffer.from(basename(path)), MAX_LEVELS)
  } finally {
    await parent.close()
  }
}

/** Returns whether the system has paths that lead through the descriptor of an open folder. */
function hasDescriptorPaths(): boolean {
  return process.platform === 'linux' && existsSync('/proc/self/fd')
}

class TreeRemoval {
  /** Top folder of the tree. Folders that are nested too deeply are moved into the top folder. */
  #top: FileHandle
  #moved = 0

  constructor(top: FileHandle) {
    this.#top = top
  }

  async remove(parent: FileHandle, name: Buffer, levels: number): Promise<void> {
    const path = pathIn(parent, name)
    if (await isUnlinked(path)) return
    const folder = await orNothing(
      open(path, constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH),
      REPLACED,
    )
    if (folder === undefined) return
    if (levels === MAX_LEVELS) this.#top = folder
    try {
      // Adds write permission, because a folder without write permission cannot be emptied or moved.
      await orNothing(chmod(pathIn(folder), 0o700), ['EPERM'])
      if (levels === 0) return await this.#moveToTop(path)
      await this.#empty(folder, levels - 1)
    } finally {
      await folder.close()
    }
    await orNothing(rmdir(path), REPLACED)
  }

  /** Uses a random name, so that no script can create a folder with the same name in advance. */
  async #moveToTop(path: Buffer): Promise<void> {
    this.#moved++
    await orNothing(rename(path, pathIn(this.#top, Buffer.from(`.deep-${randomUUID()}`))), ['ENOENT'])
  }

  async #empty(folder: FileHandle, levels: number): Promise<void> {
    for (let passes = 0; passes < MAX_PASSES; ) {
      const movedBefore = this.#moved
      const names = await readdir(pathIn(folder), { encoding: 'buffer' })
      if (names.length === 0) return
      for (const name of names) await this.remove(folder, name, levels)
      if (this.#moved === movedBefore) passes++
    }
  }
}

/** Error codes of file system calls on a folder that was removed or replaced. */
const REPLACED = ['ENOENT', 'ENOTDIR', 'ELOOP']

/** Returns a path through an open descriptor. The path stays valid even if the parent folders are renamed. */
function pathIn(folder: FileHandle, name?: Buffer): Buffer {
  const path = Buffer.from(`/proc/self/fd/${folder.fd}`)
  return name === undefined ? path : Buffer.concat([path, Buffer.from('/'), name])
}

/** Unlinks a file of any kind except a folder. For a link, removes the link and not its target. */
async function isUnlinked(path: Buffer): Promise<boolean> {
  try {
    await unlink(path)
    return true
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT') return true
    if (code === 'EISDIR') return false
    throw thrown
  }
}

async function orNothing<Value>(work: Promise<Value>, codes: readonly string[]): Promise<Value | undefined> {
  try {
    return await work
  } catch (thrown) {
    if (!codes.includes((thrown as NodeJS.ErrnoException).code ?? '')) throw thrown
    return undefined
  }
}

async function removeByPath(path: string): Promise<void> {
  await makeWritable(path)
  // Retries, because Windows does not remove an open file, and the files of a killed process stay open for a short
  // time.
  await rm(path, { recursive: true, force: true, maxRetries: MAX_RETRIES })
}

async function makeWritable(folder: string): Promise<void> {
  const entries = await orNothing(
    chmod(folder, 0o700).then(() => readdir(folder, { withFileTypes: true })),
    REPLACED,
  )
  for (const entry of entries ?? []) if (entry.isDirectory()) await makeWritable(join(folder, entry.name))
}
