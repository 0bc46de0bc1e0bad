import { constants, type Stats } from 'node:fs'
import { chmod, cp, lstat, mkdtemp, open, readlink, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { SkillError, type SkillErrorCode } from '@skillstoke/core'
import { Turns, toMessage } from '@skillstoke/core/internal'
import { removeTree } from '@skillstoke/core/internal/node'
import type { FolderLooks, OddEntry } from './folder-looks.ts'
import { findReal, isInsideFolder } from './granted-path.ts'
import type { ScriptAccess } from './script-access.ts'

const MAX_NAMED = 10
/** How many levels of folders that a script closed are opened. */
const MAX_PASSES = 64
/** Linux flag for opening a folder without permission to list it. */
const O_PATH = 0o10_000_000

/** Codes of errors that tell how a script ended. Other errors, such as the reason of an abort, belong to the caller. */
const RESULT_CODES: readonly SkillErrorCode[] = ['TIMED_OUT', 'SCRIPT_FAILED', 'TOO_LARGE']

/**
 * Returns or throws the outcome of a script, and names what was moved aside.
 * @param left the description that `SetAside` returned
 * @throws {SkillError} SCRIPT_REFUSED with the result as `data.result`, if a successful script left what no script may
 * leave
 */
export function withLeft<T>(outcome: PromiseSettledResult<T>, left: string | undefined): T {
  if (outcome.status === 'fulfilled') {
    if (left === undefined) return outcome.value
    throw new SkillError('SCRIPT_REFUSED', left, { data: { result: outcome.value } })
  }
  const { reason } = outcome
  if (left === undefined || !SkillError.isInstance(reason) || !RESULT_CODES.includes(reason.code))
    throw reason
  throw new SkillError(reason.code, `${reason.message}; ${left}`, { data: reason.data })
}

interface Running {
  readonly access: ScriptAccess
  /** What checks of other processes found in the folders of this process. */
  readonly told: string[]
}

/**
 * Finds entries that a process left in its granted folders against the rules, and moves them into a folder of the host.
 * An entry that was there before the process started stays. If several processes ran at the same time, nobody knows
 * which of them left an entry, so the entry is named to each process that could write there.
 */
export class SetAside {
  readonly #looks: FolderLooks
  readonly #findParent: () => Promise<string>
  /** Two checks at the same time would each move what the other check found. */
  readonly #turns = new Turns(1)
  /** The processes whose folders have not been checked yet. */
  readonly #running = new Set<Running>()

  /** @param findParent returns the folder into which entries are moved */
  constructor(looks: FolderLooks, findParent: () => Promise<string>) {
    this.#looks = looks
    this.#findParent = findParent
  }

  /**
   * Checks the folders that a process could write to, after the process has ended, because a running process could
   * write again. Call this before the process starts. Never fails.
   * @param access what was checked before the process started
   * @param exited resolves after the process has ended
   * @returns a description of what was moved or changed; `undefined` if nothing was left
   */
  async checkAfter(access: ScriptAccess, exited: Promise<unknown>): Promise<string | undefined> {
    const process: Running = { access, told: [] }
    if (access.writable.length > 0) this.#running.add(process)
    await exited.catch(() => undefined)
    if (access.writable.length === 0) return undefined
    return await this.#turns.run(async () => {
      this.#running.delete(process)
      const all = [...process.told, ...(await this.#check(access))]
      return all.length === 0 ? undefined : all.join('; ')
    })
  }

  async #check(access: ScriptAccess): Promise<readonly string[]> {
    try {
      const found = await this.#find(access)
      return found.length === 0 ? [] : await this.#move(found, access)
    } catch (thrown) {
      return [`what the script left in granted folders could not be checked: ${toMessage(thrown)}`]
    }
  }

  async #move(odd: readonly OddEntry[], { checkedAtMs }: ScriptAccess): Promise<readonly string[]> {
    const cleared: string[] = []
    const moved: string[] = []
    let folder: string | undefined
    for (const { path, kind } of odd) {
      if (kind === 'set-id' && (await clearSetId(path, checkedAtMs).catch(() => false))) cleared.push(path)
      else {
        folder ??= await mkdtemp(join(await this.#findParent(), 'set-aside-'))
        const target = join(folder, `${moved.length + 1}-${basename(path)}`)
        const fault = await moveAside(path, target).catch(toMessage)
        moved.push(fault === undefined ? path : `${path} (not moved: ${fault})`)
      }
    }
    const others = [...this.#running].filter(({ access: { writable } }) =>
      [...cleared, ...moved].some(path => writable.some(({ real }) => isInsideFolder(path, real))),
    )
    const who = others.length === 0 ? 'the script' : 'the script, or another one at the same time,'
    const told = [
      ...(cleared.length === 0
        ? []
        : [`${who} set a set-user-ID or set-group-ID bit, which was cleared: ${listPaths(cleared)}`]),
      ...(moved.length === 0
        ? []
        : [
            `${who} left what no script may leave in a granted folder: ${listPaths(moved)}; it was moved to ${folder}`,
          ]),
    ]
    for (const each of others) each.told.push(...told)
    return told
  }

  async #find({ writable, readable, present }: ScriptAccess): Promise<readonly OddEntry[]> {
    const found: OddEntry[] = []
    for (const { real } of writable)
      for (const each of await this.#look(real)) {
        if (present.has(each.identity) || found.some(({ path }) => isInsideFolder(each.path, path))) continue
        const isHarmless = each.kind === 'link' && (await leadsInto(each.path, readable))
        if (!isHarmless) found.push(each)
      }
    return found
  }

  /** Returns odd entries. First opens folders that the script closed, because the host must see what they contain. */
  async #look(folder: string): Promise<readonly OddEntry[]> {
    for (let pass = 1; ; pass++) {
      const { odd } = await this.#looks.look(folder, { readsModes: true })
      const closed = odd.filter(({ kind }) => kind === 'closed')
      if (closed.length === 0 || pass === MAX_PASSES) return odd.filter(({ kind }) => kind !== 'closed')
      for (const { path } of closed) await makeUsable(path).catch(() => undefined)
    }
  }
}

/** Lets the host list and move a folder, but not the target of a link that replaced the folder. */
async function makeUsable(path: string): Promise<void> {
  await setMode(path, constants.O_DIRECTORY, () => 0o700)
}

/**
 * Clears the set-id bits of a file that is older than the check before the call, because the file belongs to a person.
 * Returns false if the file is newer, or is no file.
 */
async function clearSetId(path: string, checkedAtMs: number): Promise<boolean> {
  return await inOpenFolder(
    path,
    async source =>
      await setMode(source, 0, facts =>
        facts.isFile() && facts.birthtimeMs < checkedAtMs ? facts.mode & 0o777 : undefined,
      ),
  )
}

/** Sets the mode of an entry, but not of the target of a link. Returns false if `toMode` returns `undefined`. */
async function setMode(
  path: string,
  flags: number,
  toMode: (facts: Stats) => number | undefined,
): Promise<boolean> {
  const isLinux = process.platform === 'linux'
  const file = isLinux ? await open(path, flags | constants.O_NOFOLLOW | O_PATH) : undefined
  try {
    const mode = toMode(file === undefined ? await lstat(path) : await file.stat())
    if (mode === undefined) return false
    await chmod(file === undefined ? path : `/proc/self/fd/${file.fd}`, mode)
    return true
  } finally {
    await file?.close()
  }
}

function listPaths(paths: readonly string[]): string {
  const more = paths.length > MAX_NAMED ? `, and ${paths.length - MAX_NAMED} more` : ''
  return `${paths.slice(0, MAX_NAMED).join(', ')}${more}`
}

async function leadsInto(link: string, granted: ScriptAccess['readable']): Promise<boolean> {
  const target = await findReal(link)
  return target !== link && granted.some(({ real }) => isInsideFolder(target, real))
}

/** Moves an entry, even between disks. @throws {Error} with the reason, if the entry could not be moved */
async function moveAside(path: string, target: string): Promise<undefined> {
  await inOpenFolder(path, async source => {
    const facts = await lstat(source)
    // A folder without write permission cannot be moved into another folder.
    if (facts.isDirectory()) await makeUsable(source)
    await rename(source, target).catch(async (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EXDEV') throw thrown
      await copyAside(source, target)
    })
    if (facts.isFile()) await chmod(target, facts.mode & 0o777)
  })
}

/** Passes a path of an entry through its open folder, because another process could replace a parent folder with a link. */
async function inOpenFolder<T>(path: string, work: (source: string) => Promise<T>): Promise<T> {
  if (process.platform !== 'linux') return await work(path)
  const parent = await open(dirname(path), constants.O_DIRECTORY)
  try {
    const opened = `/proc/self/fd/${parent.fd}`
    if ((await readlink(opened)) !== dirname(path)) throw new Error('its folder was replaced')
    return await work(join(opened, basename(path)))
  } finally {
    await parent.close()
  }
}

/** Copies files, folders and links to another disk, and removes the source. Entries of other kinds have no content. */
async function copyAside(source: string, target: string): Promise<void> {
  await cp(source, target, {
    recursive: true,
    verbatimSymlinks: true,
    filter: async path => {
      const facts = await lstat(path)
      return facts.isFile() || facts.isDirectory() || facts.isSymbolicLink()
    },
  })
  await removeTree(source)
}
