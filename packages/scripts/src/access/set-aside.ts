import { constants } from 'node:fs'
import { chmod, cp, lstat, mkdtemp, open, readlink, rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { removeTree } from '@skillstoke/core/internal/node'
import type { FolderLooks, OddEntry } from './folder-looks.ts'
import { findReal, isInside } from './granted-path.ts'
import type { ScriptAccess } from './script-access.ts'

const MAX_NAMED = 10
/** How many levels of folders that a script closed are opened. */
const MAX_PASSES = 64
/** Linux flag for opening a folder without permission to list it. */
const O_PATH = 0o10_000_000

export interface GuardedCall {
  /** Resolves when a cancelled call has stopped. */
  readonly stopped: () => Promise<void>
  /** Ends the process of the call, because a running process could write again. */
  readonly end: () => Promise<void>
}

/**
 * Finds entries that a call left in its granted folders against the rules, and moves them into a folder of the host. An
 * entry that was there before the call stays.
 */
export class SetAside {
  readonly #looks: FolderLooks
  readonly #findParent: () => Promise<string>

  /** @param findParent returns the folder into which entries are moved */
  constructor(looks: FolderLooks, findParent: () => Promise<string>) {
    this.#looks = looks
    this.#findParent = findParent
  }

  /**
   * Waits for a call, and moves what the call left. If the call timed out, its error also names what was moved.
   * @param access what was checked before the call
   * @throws {SkillError} SCRIPT_REFUSED when a successful call left such entries; names the entries and their new folder
   */
  async guard<T>(access: ScriptAccess, call: Promise<T>, { stopped, end }: GuardedCall): Promise<T> {
    if (access.writable.length === 0) return await call
    const [outcome] = await Promise.allSettled([call])
    await stopped()
    const left = await this.#move(access, end)
    if (outcome.status === 'rejected') throw withReason(outcome.reason, left)
    if (left !== undefined) throw new SkillError('SCRIPT_REFUSED', left)
    return outcome.value
  }

  /** Returns a description of what was moved, or `undefined` if there was nothing to move. */
  async #move(access: ScriptAccess, end: () => Promise<void>): Promise<string | undefined> {
    if ((await this.#find(access)).length === 0) return undefined
    await end()
    const left = await this.#find(access)
    const folder = await mkdtemp(join(await this.#findParent(), 'set-aside-'))
    const named: string[] = []
    for (const [index, { path }] of left.entries()) {
      const fault = await moveAside(path, join(folder, `${index + 1}-${basename(path)}`))
      named.push(fault === undefined ? path : `${path} (not moved: ${fault})`)
    }
    const more = named.length > MAX_NAMED ? `, and ${named.length - MAX_NAMED} more` : ''
    const shown = named.slice(0, MAX_NAMED).join(', ')
    return `the script left what no script may leave in a granted folder: ${shown}${more}; it was moved to ${folder}`
  }

  async #find({ writable, readable, present }: ScriptAccess): Promise<readonly OddEntry[]> {
    const found: OddEntry[] = []
    for (const { real } of writable)
      for (const each of await this.#look(real)) {
        if (present.has(each.identity) || found.some(({ path }) => isInside(each.path, path))) continue
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
  if (process.platform !== 'linux') return await chmod(path, 0o700)
  const folder = await open(path, constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH)
  try {
    await chmod(`/proc/self/fd/${folder.fd}`, 0o700)
  } finally {
    await folder.close()
  }
}

function withReason(thrown: unknown, left: string | undefined): unknown {
  // Other errors, such as the reason of an abort, belong to the caller.
  if (left === undefined || !SkillError.isInstance(thrown, 'TIMED_OUT')) return thrown
  return new SkillError('TIMED_OUT', `${thrown.message}; ${left}`)
}

async function leadsInto(link: string, granted: ScriptAccess['readable']): Promise<boolean> {
  const target = await findReal(link)
  return target !== link && granted.some(({ real }) => isInside(target, real))
}

/** Moves an entry, even between disks. Returns the reason if the entry could not be moved. */
async function moveAside(path: string, target: string): Promise<string | undefined> {
  const parent = process.platform === 'linux' ? await open(dirname(path), constants.O_DIRECTORY) : undefined
  try {
    // Move through the open folder, because another process could replace a parent folder with a link.
    const opened = parent === undefined ? dirname(path) : `/proc/self/fd/${parent.fd}`
    if (parent !== undefined && (await readlink(opened)) !== dirname(path)) return 'its folder was replaced'
    const source = join(opened, basename(path))
    const facts = await lstat(source)
    // A folder without write permission cannot be moved into another folder.
    if (facts.isDirectory()) await makeUsable(source)
    await rename(source, target).catch(async (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EXDEV') throw thrown
      await copyAside(source, target)
    })
    if (facts.isFile()) await chmod(target, facts.mode & 0o777)
    return undefined
  } catch (thrown) {
    return toMessage(thrown)
  } finally {
    await parent?.close()
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
