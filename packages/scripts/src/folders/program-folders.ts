import { mkdirSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, readdir, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Diagnostic, Digest } from '@skillstoke/core'
import { isAlive, removeTree } from '@skillstoke/core/internal/node'
import type { ScriptProgram } from '@skillstoke/core/source'
import type { ContainedProcess } from '../process/contained-process.ts'
import { readStatus } from '../process/process-status.ts'
import {
  createProgramFolder,
  type PlainCode,
  type ProgramFolder,
  writeCode,
  writeFiles,
} from './program-folder.ts'

interface Entry {
  readonly folder: Promise<ProgramFolder>
  /** What could not be made plain, once that was tried to the end. */
  code: Promise<PlainCode> | undefined
  users: number
}

/**
 * The revisions that processes read, each written once and taken away after its last user; and folders that processes
 * write to. All of them are in one folder of this process, readable by its user alone.
 */
export class ProgramFolders {
  readonly #parent: string | undefined
  readonly #entries = new Map<Digest, Entry>()
  /** Folders whose removal failed. */
  readonly #left = new Set<string>()
  /** Folders that a process which cannot be ended may still write. */
  readonly #held = new Set<string>()
  #root: Promise<string> | undefined
  #sweeping: Promise<void> | undefined
  #count = 0

  /** @param parent where the folder of this process is made; without it one of this user's for temporary files */
  constructor(parent: string | undefined) {
    this.#parent = parent
  }

  /** The folder of this process, with everything in it. */
  async root(): Promise<string> {
    this.sweep()
    // Node's permissions refuse paths through links, and the folder for temporary files is behind one on macOS.
    this.#root ??= createOwnFolder(this.#parent)
      .then(async path => await realpath(path))
      .catch((thrown: unknown) => {
        // The next one who needs it tries again.
        this.#root = undefined
        throw thrown
      })
    return await this.#root
  }

  /** Removes what other processes left that were killed, once and in the background; never fails. */
  sweep(): void {
    this.#sweeping ??= findParent(this.#parent)
      .then(parent => (parent === undefined ? undefined : sweep(parent)))
      // What cannot be removed is in nobody's way, and the next host tries again.
      .catch(() => undefined)
  }

  /** Whether a revision is on the disk, or on its way there. */
  has(revision: Digest): boolean {
    return this.#entries.has(revision)
  }

  /** Creates an empty folder for one revision, to be given to `take` or to `discard`. */
  async create(): Promise<ProgramFolder> {
    return await createProgramFolder(join(await this.root(), `program-${++this.#count}`))
  }

  /**
   * A revision on the disk, until it is given back.
   * @param prepared an empty folder that is used if the revision is in none yet
   */
  async take(program: ScriptProgram, prepared?: ProgramFolder): Promise<ProgramFolder> {
    const known = this.#entries.get(program.revision)
    const entry = known ?? { folder: this.#write(program, prepared), code: undefined, users: 0 }
    this.#entries.set(program.revision, entry)
    entry.users++
    try {
      return await entry.folder
    } catch (thrown) {
      if (this.#entries.get(program.revision) === entry) this.#entries.delete(program.revision)
      throw thrown
    }
  }

  /** Writes plain JavaScript into what was taken, for those who import it; resolves with what cannot be made plain. */
  async addCode({ revision }: ScriptProgram, plain: Promise<PlainCode>): Promise<readonly Diagnostic[]> {
    const entry = this.#entries.get(revision)
    if (entry === undefined) return []
    entry.code ??= writePlain(entry.folder, plain)
    const { code } = entry
    const forget = (): void => {
      if (entry.code === code) entry.code = undefined
    }
    try {
      const { diagnostics, isComplete } = await code
      if (!isComplete) forget()
      return diagnostics
    } catch (thrown) {
      forget()
      throw thrown
    }
  }

  async giveBack(revision: Digest): Promise<void> {
    const entry = this.#entries.get(revision)
    if (entry === undefined || --entry.users > 0) return
    this.#entries.delete(revision)
    await this.discard((await entry.folder).root)
  }

  /**
   * Removes a folder, once the process that could write it has ended. Never fails: a removal that does is tried again with the
   * next one, and by `close`.
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

  /** Creates an empty folder for one process, to be given to `discard` afterwards. */
  async createScratch(): Promise<string> {
    const scratch = join(await this.root(), `scratch-${++this.#count}`)
    mkdirSync(scratch, { mode: 0o700 })
    return scratch
  }

  /** Removes everything, unless a process may still write there: then the next host that starts sweeps it away. */
  async close(): Promise<void> {
    await this.#sweeping
    const root = await this.#root?.catch(() => undefined)
    if (root !== undefined && this.#held.size === 0) await removeTree(root)
  }

  async #write(program: ScriptProgram, prepared?: ProgramFolder): Promise<ProgramFolder> {
    const folder = prepared ?? (await this.create())
    try {
      await writeFiles(folder, program)
      return folder
    } catch (thrown) {
      // Half of it is of no use, and another attempt writes another one.
      await this.discard(folder.root)
      throw thrown
    }
  }
}

async function writePlain(folder: Promise<ProgramFolder>, plain: Promise<PlainCode>): Promise<PlainCode> {
  const [target, code] = await Promise.all([folder, plain])
  await writeCode(target, code)
  return code
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

/** A folder for temporary files that is this user's alone, so that what is left in it can be found again. */
function temporaryParent(): string {
  return join(tmpdir(), `skillstoke-scripts-${process.getuid?.() ?? 'user'}`)
}

/** The folder in which every process has its own, if it is there and safe to use. */
async function findParent(parent: string | undefined): Promise<string | undefined> {
  if (parent !== undefined) return parent
  const path = temporaryParent()
  const uid = process.getuid?.()
  // Anybody may have made it before us, in a folder that all users share.
  const facts = await lstat(path)
  const isOurs =
    facts.isDirectory() && (uid === undefined || (facts.uid === uid && (facts.mode & 0o077) === 0))
  return isOurs ? path : undefined
}

/** Removes what processes left that were killed. */
async function sweep(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, pid, startedAt = ''] = /^([1-9]\d*)-(?:(\d*)-)?/.exec(name) ?? []
    if (pid === undefined || isOwnerAlive(Number(pid), startedAt)) continue
    // Another process may be at it; what cannot be removed is in nobody's way.
    await removeTree(join(parent, name)).catch(() => undefined)
  }
}

/** Whether the process that made a folder still runs; another one may have its number by now, and in a container often has. */
function isOwnerAlive(pid: number, startedAt: string): boolean {
  if (!isAlive(pid)) return false
  const start = startOf(pid)
  return startedAt === '' || start === undefined || start === startedAt
}

/** Tells a process from a later one with the same number, where the system says when it was started. */
function startOf(pid: number): string | undefined {
  const status = readStatus(pid)
  return status === 'unknown' || status === undefined ? undefined : status.startedAt
}
