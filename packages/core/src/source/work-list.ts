import { type DirectoryNode, owningSkills } from './mirror.ts'

/** The reason why the next scan compares a directory with the disk: an event, a suspicion, or a caller's request. */
type Mark = 'announced' | 'suspected' | 'requested'

/** The state of a skill's folder whose last read was not accepted. */
type Attempt = 'due' | 'restless' | 'calming'

interface Work {
  readonly mark: Mark | undefined
  readonly attempt: Attempt | undefined
}

const NO_WORK: Work = { mark: undefined, attempt: undefined }

/**
 * The pending work below the root: the state of each directory that a scan must compare with the disk or read again. A
 * directory stays marked until a scan compares it with the disk.
 *
 * ```text
 *                event, request, changed during a scan
 *   unmarked ----------------------------------------------> announced
 *       |     half-written, vanished              event          ^
 *       +---------------------------> suspected -----------------+
 *
 *   takeMarked(): announced, suspected, requested -> unmarked
 * ```
 *
 * A request marks an unmarked directory as requested. A request does not mean that the directory changed, so scans
 * never wait for a requested directory.
 *
 * The folder of a skill also has a second state, which shows whether its last read was accepted. A source waits until
 * no directory is announced or suspected, but does not wait for restless and calming folders.
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

  /** Marks a directory after an event in it. */
  announce(node: DirectoryNode): void {
    this.#set(node, { mark: 'announced' })
  }

  /** Marks a directory that may have changed without an event. A suspected directory stays suspected. */
  mark(node: DirectoryNode): void {
    this.#set(node, { mark: this.#moving(node) ?? 'announced' })
  }

  /** Marks a directory that looks half-written although no event reported a write. */
  suspect(node: DirectoryNode): void {
    this.#set(node, { mark: this.#moving(node) ?? 'suspected' })
  }

  /** Marks a directory because a caller asks for its newest state. */
  request(node: DirectoryNode): void {
    this.#set(node, { mark: this.#get(node).mark ?? 'requested' })
  }

  /**
   * Starts a scan: returns the marked directories and removes their marks. Directories for which `isHeld` returns true
   * stay marked.
   */
  takeMarked(isHeld: (node: DirectoryNode) => boolean = () => false): ReadonlySet<DirectoryNode> {
    const taken = new Set([...this.marked()].filter(node => !isHeld(node)))
    for (const node of taken) this.#set(node, { mark: undefined })
    return taken
  }

  *marked(): Generator<DirectoryNode> {
    for (const [node, { mark }] of this.#work) if (mark !== undefined) yield node
  }

  /** The marked directories that may be changing. Directories that are only marked by a request are not included. */
  *moving(): Generator<DirectoryNode> {
    for (const node of this.marked()) if (this.#moving(node) !== undefined) yield node
  }

  /** Whether a directory may have changed since `takeMarked()` returned it. */
  isMoving(node: DirectoryNode): boolean {
    return this.#moving(node) !== undefined
  }

  get hasMoving(): boolean {
    return this.moving().next().done !== true
  }

  get hasRequested(): boolean {
    for (const { mark } of this.#work.values()) if (mark === 'requested') return true
    return false
  }

  isAnnounced(node: DirectoryNode): boolean {
    return this.#get(node).mark === 'announced'
  }

  /**
   * Discards the result of the last read of a skill's folder. The next scan reads the folder again, even if the size,
   * times and inodes of its files are unchanged.
   */
  reject(folder: DirectoryNode): void {
    this.#set(folder, { attempt: this.#isOverdue(folder) ? 'restless' : 'due' })
  }

  /** Accepts the result of the last read of a folder, or notes that the folder is no longer a skill. */
  accept(folder: DirectoryNode): void {
    this.#set(folder, { attempt: this.#isOverdue(folder) ? 'calming' : undefined })
  }

  /** The folders of skills whose last read was rejected. */
  *rejected(): Generator<DirectoryNode> {
    for (const [folder, { attempt }] of this.#work)
      if (attempt === 'due' || attempt === 'restless') yield folder
  }

  /** The rejected folders that must settle before a scan is published. */
  *due(): Generator<DirectoryNode> {
    for (const [folder, { attempt }] of this.#work) if (attempt === 'due') yield folder
  }

  /** Whether a directory belongs to the folder of a skill that did not settle in time. */
  isRestless(node: DirectoryNode): boolean {
    return owningSkills(node).some(owner => this.#isOverdue(owner))
  }

  /** Whether the source waits for at least one marked directory to settle. */
  isWaiting(): boolean {
    for (const node of this.moving()) if (node.isAttached && !this.isRestless(node)) return true
    return false
  }

  /**
   * Ends a scan whose result is published. After the final scan, folders that are still rejected become restless.
   * Calming folders without new marks become normal again. Calls `withdraw` for each directory that was marked again
   * during the scan, to discard its result. `withdraw` may reject folders.
   */
  endReading(withdraw: (node: DirectoryNode) => void, isFinal = true): void {
    const moving = new Set<DirectoryNode>()
    for (const node of this.marked()) {
      if (!node.isAttached)
        this.#set(node, { mark: undefined }) // the list of the parent no longer has it
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
