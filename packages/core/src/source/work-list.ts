import { type DirectoryNode, owningSkills } from './mirror.ts'

/** Why a directory is compared with the disk by the next reading: a change was announced, or is only suspected. */
type Mark = 'announced' | 'suspected'

/** What the last reading of a skill's folder came to, unless it was accepted. */
type Attempt = 'due' | 'restless' | 'calming'

interface Work {
  readonly mark: Mark | undefined
  readonly attempt: Attempt | undefined
}

const NO_WORK: Work = { mark: undefined, attempt: undefined }

/**
 * What is to be done below the root, and why: the state of each directory that is not at rest. A directory is marked until
 * the next reading compares it with the disk.
 *
 * ```text
 *                event, request, moved while it was read
 *   unmarked ----------------------------------------------> announced
 *       |     half-written, vanished              event          ^
 *       +---------------------------> suspected -----------------+
 *
 *   takeMarked(): announced, suspected -> unmarked
 * ```
 *
 * The folder of a skill also has an attempt, until a reading of it is accepted. A source waits for marked directories to
 * come to rest, except in restless and calming folders.
 *
 * ```text
 *               reject()          endReading()
 *   accepted ------------> due ------------------> restless
 *     ^   ^                 |                       |    ^
 *     |   +----accept()-----+              accept() |    | reject()
 *     |                                             v    |
 *     +------ endReading(), nothing is marked ---- calming
 * ```
 */
export class WorkList {
  readonly #work = new Map<DirectoryNode, Work>()

  /** Marks a directory in which an event happened. */
  announce(node: DirectoryNode): void {
    this.#set(node, { mark: 'announced' })
  }

  /** Marks a directory without an event; a suspicion stays one. */
  mark(node: DirectoryNode): void {
    this.#set(node, { mark: this.#get(node).mark ?? 'announced' })
  }

  /** Marks a directory in which something looks unfinished, although no event said so. */
  suspect(node: DirectoryNode): void {
    this.#set(node, { mark: this.#get(node).mark ?? 'suspected' })
  }

  /** Starts a reading: returns the marked directories, none of which is marked any longer. */
  takeMarked(): ReadonlySet<DirectoryNode> {
    const taken = new Set(this.marked())
    for (const node of taken) this.#set(node, { mark: undefined })
    return taken
  }

  *marked(): Generator<DirectoryNode> {
    for (const [node, { mark }] of this.#work) if (mark !== undefined) yield node
  }

  get hasMarked(): boolean {
    return this.marked().next().done !== true
  }

  isAnnounced(node: DirectoryNode): boolean {
    return this.#get(node).mark === 'announced'
  }

  /** Notes that the last reading of a skill's folder must not be shown. The next reading repeats it, whatever its facts say. */
  reject(folder: DirectoryNode): void {
    this.#set(folder, { attempt: this.#isOverdue(folder) ? 'restless' : 'due' })
  }

  /** Notes that a skill's folder was read, or is none any longer. */
  accept(folder: DirectoryNode): void {
    this.#set(folder, { attempt: this.#isOverdue(folder) ? 'calming' : undefined })
  }

  /** The folders of skills whose last reading was rejected. */
  *rejected(): Generator<DirectoryNode> {
    for (const [folder, { attempt }] of this.#work)
      if (attempt === 'due' || attempt === 'restless') yield folder
  }

  /** Whether a directory belongs to a skill that did not come to rest in time. */
  isRestless(node: DirectoryNode): boolean {
    return owningSkills(node).some(owner => this.#isOverdue(owner))
  }

  /** Whether a directory is marked that is expected to come to rest. */
  isWaiting(): boolean {
    for (const node of this.marked()) if (node.isAttached && !this.isRestless(node)) return true
    return false
  }

  /**
   * Ends a reading whose outcome is shown. Folders that are still rejected become restless, and calming ones that hold still
   * are normal again. `withdraw` takes back what was read of a directory that is marked again, and may reject folders.
   */
  endReading(withdraw: (node: DirectoryNode) => void): void {
    const moving = new Set<DirectoryNode>()
    for (const node of this.marked()) {
      if (node.isAttached) {
        withdraw(node)
        for (const owner of owningSkills(node)) moving.add(owner)
      } else this.#set(node, { mark: undefined }) // its parent's list says that it is gone, and that stays
    }
    for (const [folder, { attempt }] of this.#work) {
      if (attempt === 'due') this.#set(folder, { attempt: 'restless' })
      else if (attempt === 'calming' && !moving.has(folder)) this.#set(folder, { attempt: undefined })
    }
  }

  clear(): void {
    this.#work.clear()
  }

  #isOverdue(folder: DirectoryNode): boolean {
    const { attempt } = this.#get(folder)
    return attempt === 'restless' || attempt === 'calming'
  }

  #get(node: DirectoryNode): Work {
    return this.#work.get(node) ?? NO_WORK
  }

  #set(node: DirectoryNode, change: Partial<Work>): void {
    const work = { ...this.#get(node), ...change }
    if (work.mark === undefined && work.attempt === undefined) this.#work.delete(node)
    else this.#work.set(node, work)
  }
}
