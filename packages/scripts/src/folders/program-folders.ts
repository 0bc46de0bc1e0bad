import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Digest } from '@skillstoke/core'
import { isAlive, removeTree } from '@skillstoke/core/internal/node'
import type { ScriptProgram } from '@skillstoke/core/source'
import type { ContainedProcess } from '../process/contained-process.ts'
import { killLeftSandboxes } from '../process/left-sandboxes.ts'
import { readStatus } from '../process/process-status.ts'
import type { ScriptUser } from '../process/script-user.ts'
import { writeFiles } from './program-folder.ts'

interface Entry {
  readonly folder: Promise<string>
  users: number
}

/**
 * The folders of this host: folders with revisions that processes read, and folders that processes write to. Each
 * revision is written once, and removed when no process uses the revision any more. All folders are inside one folder
 * that only the current user can read.
 */
export class ProgramFolders {
  readonly #parent: string | undefined
  readonly #entries = new Map<Digest, Entry>()
  /** Folders whose removal failed. */
  readonly #left = new Set<string>()
  /** Folders that a process may still write to, because the host does not know whether the process has ended. */
  readonly #held = new Set<string>()
  #root: Promise<string> | undefined
  #sweeping: Promise<void> | undefined
  #count = 0

  /**
   * @param parent folder in which the folder of this process is created; the default is a temporary folder of the
   * current user
   */
  constructor(parent: string | undefined) {
    this.#parent = parent
  }

  /** Returns the folder of this host process. The first call creates the folder. */
  async root(): Promise<string> {
    this.sweep()
    // Node's permissions refuse paths that contain links. On macOS, the path of the folder for temporary files contains a link.
    this.#root ??= createOwnFolder(this.#parent)
      .then(async path => await realpath(path))
      .catch((thrown: unknown) => {
        // The next call tries to create the folder again.
        this.#root = undefined
        throw thrown
      })
    return await this.#root
  }

  /** Returns a folder that stays after this host has ended. */
  async lastingFolder(): Promise<string> {
    const shared = await findParent(this.#parent).catch(() => undefined)
    return shared ?? tmpdir()
  }

  /** Starts to remove the folders of killed hosts in the background. Only the first call has an effect. Never fails. */
  sweep(): void {
    this.#sweeping ??= findParent(this.#parent)
      .then(parent => (parent === undefined ? undefined : sweep(parent)))
      // A folder that was not removed does no harm, and the next host tries again to remove it.
      .catch(() => undefined)
  }

  /** Whether a revision is on disk, or is currently being written to disk. */
  has(revision: Digest): boolean {
    return this.#entries.has(revision)
  }

  /**
   * Creates an empty folder for one revision, so that a process can start before the files are written into the folder.
   * Pass the folder to `take()` or `discard()` later. Scripts of a superuser read the folder as another user, so all
   * users may read it. The parent folder keeps other users out.
   */
  async create(): Promise<string> {
    const folder = join(await this.root(), `program-${++this.#count}`)
    mkdirSync(folder)
    chmodSync(folder, 0o755)
    return folder
  }

  /**
   * Returns the folder of a revision. The folder stays on disk until `giveBack()` is called.
   * @param prepared an empty folder to use if the revision is not on disk yet
   */
  async take(program: ScriptProgram, prepared?: string): Promise<string> {
    const known = this.#entries.get(program.revision)
    const entry = known ?? { folder: this.#write(program, prepared), users: 0 }
    this.#entries.set(program.revision, entry)
    entry.users++
    try {
      return await entry.folder
    } catch (thrown) {
      if (this.#entries.get(program.revision) === entry) this.#entries.delete(program.revision)
      throw thrown
    }
  }

  async giveBack(revision: Digest): Promise<void> {
    const entry = this.#entries.get(revision)
    if (entry === undefined || --entry.users > 0) return
    this.#entries.delete(revision)
    await this.discard(await entry.folder)
  }

  /**
   * Removes a folder after the process that could write to it has ended. Never fails: the next call of `discard()`
   * or `close()` retries a failed removal.
   */
  async discard(path: string, writer?: ContainedProcess): Promise<void> {
    if (writer?.isGone === false) {
      this.#held.add(path)
      void writer.gone.then(async () => {
        this.#held.delete(path)
        await this.discard(path)
      })
      return
    }
    this.#left.add(path)
    for (const each of [...this.#left]) {
      this.#left.delete(each)
      await removeTree(each).catch(() => this.#left.add(each))
    }
  }

  /** Creates an empty folder for one process, which runs as `user` or as the user of the host. Pass the folder to `discard()` after the process has ended. */
  async createScratch(user?: ScriptUser): Promise<string> {
    const scratch = join(await this.root(), `scratch-${++this.#count}`)
    mkdirSync(scratch, { mode: 0o700 })
    if (user !== undefined) chownSync(scratch, user.uid, user.gid)
    return scratch
  }

  /** Removes everything. If a process may still write to a folder, the folder stays, and the next host removes it. */
  async close(): Promise<void> {
    await this.#sweeping
    const root = await this.#root?.catch(() => undefined)
    if (root !== undefined && this.#held.size === 0) await removeTree(root)
  }

  async #write(program: ScriptProgram, prepared?: string): Promise<string> {
    const folder = prepared ?? (await this.create())
    try {
      await writeFiles(folder, program)
      return folder
    } catch (thrown) {
      // Remove the incomplete folder, because the next attempt creates a new folder.
      await this.discard(folder)
      throw thrown
    }
  }
}

async function createOwnFolder(parent: string | undefined): Promise<string> {
  if (parent !== undefined) await mkdir(parent, { recursive: true, mode: 0o700 })
  else
    await mkdir(temporaryParent(), { mode: 0o700 }).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EEXIST') throw thrown
    })
  const shared = await findParent(parent)
  if (shared === undefined) return await mkdtemp(join(tmpdir(), 'skillstoke-scripts-'))
  return await mkdtemp(join(shared, `${process.pid}-${startOf(process.pid) ?? ''}-`))
}

/** Returns the folder of the current user for temporary files. Later hosts look there for folders of killed hosts. */
function temporaryParent(): string {
  return join(tmpdir(), `skillstoke-scripts-${process.getuid?.() ?? 'user'}`)
}

/** Returns the folder that contains the folders of all hosts, or `undefined` if other users can access that folder. */
async function findParent(parent: string | undefined): Promise<string | undefined> {
  if (parent !== undefined) return parent
  const path = temporaryParent()
  const uid = process.getuid?.()
  // Check the owner, because another user may have created this path in the shared folder for temporary files.
  const facts = await lstat(path)
  const isOurs =
    facts.isDirectory() && (uid === undefined || (facts.uid === uid && (facts.mode & 0o077) === 0))
  return isOurs ? path : undefined
}

/** Removes the folders of hosts that were killed, and ends what their sandboxes left. */
async function sweep(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, pid, startedAt = ''] = /^([1-9]\d*)-(?:(\d*)-)?/.exec(name) ?? []
    if (pid === undefined || isOwnerAlive(Number(pid), startedAt)) continue
    const folder = join(parent, name)
    killLeftSandboxes(folder)
    // Ignore the failure: another process may be removing the same folder, and a folder that stays does no harm.
    await removeTree(folder).catch(() => undefined)
  }
}

/**
 * Whether the process that created a folder still runs. Also compares the start time, because process IDs are reused,
 * especially in containers.
 */
function isOwnerAlive(pid: number, startedAt: string): boolean {
  if (!isAlive(pid)) return false
  const start = startOf(pid)
  return startedAt === '' || start === undefined || start === startedAt
}

/** Returns the start time of a process, if the system reports it. The start time distinguishes processes that had the same ID one after the other. */
function startOf(pid: number): string | undefined {
  const status = readStatus(pid)
  return status === 'unknown' || status === undefined ? undefined : status.startedAt
}
