import { lstat, mkdir, mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Diagnostic, Digest } from '@skillstoke/core'
import { isAlive, removeTree } from '@skillstoke/core/internal/node'
import type { ScriptProgram } from '@skillstoke/core/source'
import type { ContainedProcess } from '../process/contained-process.ts'
import type { PlainJavaScript } from '../scan/plain-javascript.ts'
import { type ProgramFolder, writeCode, writeProgramFolder } from './program-folder.ts'

interface Entry {
  readonly folder: Promise<ProgramFolder>
  /** What could not be made plain, once that was tried to the end. */
  code: Promise<readonly Diagnostic[]> | undefined
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
  #count = 0

  /** @param parent where the folder of this process is made; without it one of this user's for temporary files */
  constructor(parent: string | undefined) {
    this.#parent = parent
  }

  /** A revision on the disk, until it is given back. */
  async take(program: ScriptProgram): Promise<ProgramFolder> {
    const known = this.#entries.get(program.revision)
    const entry = known ?? { folder: this.#write(program), code: undefined, users: 0 }
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
  async addCode(
    program: ScriptProgram,
    plain: PlainJavaScript,
    signal?: AbortSignal,
  ): Promise<readonly Diagnostic[]> {
    const entry = this.#entries.get(program.revision)
    if (entry === undefined) return []
    entry.code ??= writeCode(await entry.folder, program, plain, signal)
    const { code } = entry
    const forget = (): void => {
      if (entry.code === code) entry.code = undefined
    }
    try {
      return await code
    } catch (thrown) {
      forget()
      throw thrown
    } finally {
      if (signal?.aborted === true) forget()
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
    const scratch = join(await this.#open(), `scratch-${++this.#count}`)
    await mkdir(scratch, { mode: 0o700 })
    return scratch
  }

  /** Removes everything, unless a process may still write there: then the next host that starts sweeps it away. */
  async close(): Promise<void> {
    const root = await this.#root?.catch(() => undefined)
    if (root !== undefined && this.#held.size === 0) await removeTree(root)
  }

  async #write(program: ScriptProgram): Promise<ProgramFolder> {
    const root = join(await this.#open(), `program-${++this.#count}`)
    try {
      return await writeProgramFolder(root, program)
    } catch (thrown) {
      // Half of it is of no use, and another attempt writes another one.
      await this.discard(root)
      throw thrown
    }
  }

  #open(): Promise<string> {
    this.#root ??= createOwnFolder(this.#parent).catch((thrown: unknown) => {
      // The next one who needs it tries again.
      this.#root = undefined
      throw thrown
    })
    return this.#root
  }
}

async function createOwnFolder(parent: string | undefined): Promise<string> {
  const shared = parent ?? (await findTemporaryParent())
  if (shared === undefined) return await mkdtemp(join(tmpdir(), 'skillstoke-scripts-'))
  await mkdir(shared, { recursive: true, mode: 0o700 })
  await sweep(shared)
  return await mkdtemp(join(shared, `${process.pid}-`))
}

/** A folder for temporary files that is this user's alone, so that what is left in it can be found again. */
async function findTemporaryParent(): Promise<string | undefined> {
  const uid = process.getuid?.()
  const path = join(tmpdir(), `skillstoke-scripts-${uid ?? 'user'}`)
  await mkdir(path, { mode: 0o700 }).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'EEXIST') throw thrown
  })
  // Anybody may have made it before us, in a folder that all users share.
  const facts = await lstat(path)
  const isOurs =
    facts.isDirectory() && (uid === undefined || (facts.uid === uid && (facts.mode & 0o077) === 0))
  return isOurs ? path : undefined
}

/** Takes away what processes left that were killed. */
async function sweep(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/^(\d+)-/.exec(name)?.[1])
    if (!(pid > 0) || isAlive(pid)) continue
    // Another process may be at it; what cannot be removed is in nobody's way.
    await removeTree(join(parent, name)).catch(() => undefined)
  }
}
