import { mkdir, mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Digest, ScriptProgram } from '../../index.ts'
import type { PlainJavaScript } from './plain-javascript.ts'
import { type ProgramFolder, removeFolder, writeProgramFolder } from './program-folder.ts'

interface Entry {
  readonly folder: Promise<ProgramFolder>
  users: number
}

/**
 * The revisions that processes read, each written once and taken away after its last user; and folders that processes
 * write to. All of them are in one folder of this process, readable by its user alone.
 */
export class ProgramFolders {
  readonly #parent: string | undefined
  readonly #entries = new Map<Digest, Entry>()
  #root: Promise<string> | undefined
  #count = 0

  /** @param parent where the folder of this process is made; that of the system for temporary files without it */
  constructor(parent: string | undefined) {
    this.#parent = parent
  }

  /** A revision on the disk, until it is given back. */
  async take(program: ScriptProgram, plain: PlainJavaScript): Promise<ProgramFolder> {
    const known = this.#entries.get(program.revision)
    const entry = known ?? { folder: this.#write(program, plain), users: 0 }
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
    await removeFolder((await entry.folder).root)
  }

  /** An empty folder for one process; to be removed by whoever asked for it. */
  async createScratch(): Promise<string> {
    const scratch = join(await this.#open(), `scratch-${++this.#count}`)
    await mkdir(scratch, { mode: 0o700 })
    return scratch
  }

  async close(): Promise<void> {
    const root = await this.#root
    if (root !== undefined) await removeFolder(root)
  }

  async #write(program: ScriptProgram, plain: PlainJavaScript): Promise<ProgramFolder> {
    const root = join(await this.#open(), `program-${++this.#count}`)
    return await writeProgramFolder(root, program, plain)
  }

  #open(): Promise<string> {
    this.#root ??= createOwnFolder(this.#parent)
    return this.#root
  }
}

async function createOwnFolder(parent: string | undefined): Promise<string> {
  if (parent === undefined) return await mkdtemp(join(tmpdir(), 'skillstoke-scripts-'))
  await mkdir(parent, { recursive: true, mode: 0o700 })
  await sweep(parent)
  return await mkdtemp(join(parent, `${process.pid}-`))
}

/** Takes away what processes left that were killed. */
async function sweep(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(/^(\d+)-/.exec(name)?.[1])
    if (!(pid > 0) || isAlive(pid)) continue
    await removeFolder(join(parent, name))
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'
  }
}
