import { type DirectoryNode, owningSkills } from './mirror.ts'

/**
 * Why a directory is compared with the disk by the next reading: a change was announced, is only suspected, or a caller
 * wants to know.
 */
type Mark = 'announced' | 'suspected' | 'requested'

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
 *   takeMarked(): announced, suspected, requested -> unmarked
 * ```
 *
 * A request marks what has no mark as requested. That says nothing about changes, so no reading waits for it.
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
    this.#set(node, { mark: this.#moving(node) ?? 'announced' })
  }

  /** Marks a directory in which something looks unfinished, although no event said so. */
  suspect(node: DirectoryNode): void {
    this.#set(node, { mark: this.#moving(node) ?? 'suspected' })
  }

  /** Marks a directory for a caller that asks for its newest state. */
  request(node: DirectoryNode): void {
    this.#set(node, { mark: this.#get(node).mark ?? 'requested' })
  }

  /** Starts a reading: returns the marked directories, none of which is marked any longer. Those that are held stay marked. */
  takeMarked(isHeld: (node: DirectoryNode) => boolean = () => false): ReadonlySet<DirectoryNode> {
    const taken = new Set([...this.marked()].filter(node => !isHeld(node)))
    for (const node of taken) this.#set(node, { mark: undefined })
    return taken
  }

  *marked(): Generator<DirectoryNode> {
    for (const [node, { mark }] of this.#work) if (mark !== undefined) yield node
  }

  /** The marked directories in which something may change, of which a request alone says nothing. */
  *moving(): Generator<DirectoryNode> {
    for (const node of this.marked()) if (this.#moving(node) !== undefined) yield node
  }

  /** Whether something may have changed in a directory since it was taken. */
  isMoving(node: DirectoryNode): boolean {
    return this.#moving(node) !== undefined
  }

  get hasMoving(): boolean {
    return this.moving().next().done !== true
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

  /** The rejected folders that the next readings wait for. */
  *due(): Generator<DirectoryNode> {
    for (const [folder, { attempt }] of this.#work) if (attempt === 'due') yield folder
  }

  /** Whether a directory belongs to a skill that did not come to rest in time. */
  isRestless(node: DirectoryNode): boolean {
    return owningSkills(node).some(owner => this.#isOverdue(owner))
  }

  /** Whether a directory is marked that is expected to come to rest. */
  isWaiting(): boolean {
    for (const node of this.moving()) if (node.isAttached && !this.isRestless(node)) return true
    return false
  }

  /**
   * Ends a reading whose outcome is shown. When it was the final one, folders that are still rejected become restless.
   * Calming ones that hold still are normal again. `withdraw` takes back what was read of a directory that is marked again,
   * and may reject folders.
   */
  endReading(withdraw: (node: DirectoryNode) => void, isFinal = true): void {
    const moving = new Set<DirectoryNode>()
    for (const node of this.marked()) {
      if (!node.isAttached)
        this.#set(node, { mark: undefined }) // its parent's list says that it is gone, and that stays
      else if (this.#moving(node) !== undefined) {
        withdraw(node)
        for (const owner of owningSkills(node)) moving.add(owner)
      }
    }
    for (const [folder, { attempt }] of this.#work) {
      if (attempt === 'due' && isFinal) this.#set(folder, { attempt: 'restless' })
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

  #moving(node: DirectoryNode): Mark | undefined {
    const { mark } = this.#get(node)
    return mark === 'requested' ? undefined : mark
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
