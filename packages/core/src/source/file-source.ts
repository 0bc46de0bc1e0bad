import { SkillError, toMessage } from '../errors.ts'
import type { DirectoryEntry } from '../fs/file-system.ts'
import { mapConcurrently } from '../fs/walk.ts'
import { checkOptions } from '../options.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { Skill } from '../skill/skill.ts'
import type { SourceTrust } from '../skill/trust.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { EventTrust, hasUnannounced } from './event-trust.ts'
import {
  type FileSourceOptions,
  type ResolvedFileSourceOptions,
  resolveFileSourceOptions,
} from './file-source-options.ts'
import { findLeftOut } from './find-left-out.ts'
import { findNotSkills, type SearchedFolders } from './find-not-skills.ts'
import { type FolderContext, FolderReader, UNSTABLE } from './folder-reader.ts'
import { findMovedLinks } from './followed-links.ts'
import {
  absolutePathOf,
  createDirectoryNode,
  type DirectoryNode,
  findNearest,
  joinPath,
  listingOf,
  owningSkills,
  type ScanPass,
  subtree,
  unwatch,
} from './mirror.ts'
import { MirrorScanner, SKILL_FILE_GRACE_MS } from './mirror-scanner.ts'
import { MovedFolders } from './moved-folders.ts'
import { KNOWN_QUERY, type NotSkillQuery, type NotSkills } from './not-skill.ts'
import { NotedFolders } from './noted-folders.ts'
import { PublishedContents } from './published-contents.ts'
import { RootGuard } from './root-guard.ts'
import { createScanPass, isFolderAt, isFolderThere, type PassOptions } from './scan-pass.ts'
import { findMoved, type ReadFile } from './second-fingerprint.ts'
import type { SettlePolicy } from './settle.ts'
import { SharedFiles } from './shared-files.ts'
import { shareRuns } from './shared-run.ts'
import type {
  MarkReason,
  SkillSource,
  SourceReadContext,
  SourceReading,
  SourceState,
  SourceWatch,
  WritableFolder,
} from './skill-source.ts'
import { describeMissing, describeRestless, missingFolder } from './source-failure.ts'
import { findNews, findUnwatchedNews } from './unwatched-folders.ts'
import { WorkList } from './work-list.ts'

/** How long a source keeps its skills after its root vanished, in milliseconds. */
export const ROOT_GRACE_MS = 5_000

const RETRY_UNSTABLE_MS = 500
/**
 * If at least this many folders have notes, the watches are set by a sweep after the first scan. For fewer folders,
 * setting the watches takes no noticeable time.
 */
const MANY_NOTES = 500
const CONCURRENCY = 16
const BUSY_PROBES = 32

/**
 * The skills below one folder of a file system. The source keeps a mirror of all directories and file stats. The cost
 * of a scan therefore depends on the number of changes and not on the number of files. An event only marks a directory.
 * The next scan compares the entries and stats of marked directories with the mirror.
 *
 * ```text
 *             found                   gone                          found
 *   unknown ---------> mirrored ----------------> vanished ---------------------> mirrored
 *      | gone             ^     (skills stay)         | gone for ROOT_GRACE_MS
 *      |                  | found                     v
 *      +-----------> empty (the mirror is forgotten) <+
 * ```
 *
 * The `WorkList` contains the pending work of a mirrored root.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { FileSource, MemoryFileSystem } from '@skillstoke/core/source'
 *
 * const text = '---\nname: greet\ndescription: Use when greeting.\n---\nSay hello.\n'
 * const fileSystem = new MemoryFileSystem({ '/skills/greet/SKILL.md': text })
 * const source = new FileSource({ fileSystem, root: '/skills', label: 'memory' })
 * await using skills = await createSkillRuntime({ sources: [source] })
 * fileSystem.write('/skills/greet/SKILL.md', text.replace('hello', 'good morning'))
 * console.log((await skills.load('greet')).body) // prints Say good morning.
 * ```
 */
export class FileSource implements SkillSource {
  readonly label: string
  readonly origin: string
  readonly trust: SourceTrust
  readonly reading: Partial<ReadingPolicy>
  readonly settle?: Partial<SettlePolicy>
  readonly writable?: WritableFolder
  readonly #options: ResolvedFileSourceOptions
  readonly #pathOf = (node: DirectoryNode): string => absolutePathOf(node, this.origin)
  readonly #scanner: MirrorScanner
  readonly #reader: FolderReader
  readonly #notes: NotedFolders
  readonly #guard: RootGuard
  readonly #trust: EventTrust
  readonly #look = shareRuns(async () => await this.#announceNews())
  readonly #work = new WorkList()
  readonly #published = new PublishedContents()
  readonly #shared = new SharedFiles()
  readonly #moved = new MovedFolders()

  #store: SkillStore | undefined
  #onHint: ((area: string) => void) | undefined
  /** Absent while the root is unknown or empty. */
  #root: DirectoryNode | undefined
  #missingSince: number | undefined
  /**
   * Folders that may have changed before a request, and the skills that contain them. The next scan includes these
   * folders even if a late event has put their area into a later burst.
   */
  #doubtful = new Set<DirectoryNode>()
  #needsSweep = false

  /** @throws {SkillError} INVALID_OPTION */
  constructor(options: FileSourceOptions) {
    const resolved = resolveFileSourceOptions(options)
    const { fileSystem, root, label, trust, reading, settle, writable } = resolved
    this.#options = resolved
    this.label = label
    this.origin = root
    this.trust = trust
    this.reading = reading
    if (settle !== undefined) this.settle = settle
    if (writable !== undefined) this.writable = writable
    this.#trust = new EventTrust({
      ...resolved,
      canWatch: fileSystem.watch !== undefined,
      findFault: () => fileSystem.findWatchFault?.(root),
      findUnwatched: () => this.#scanner.describeUnwatched(),
    })
    this.#scanner = new MirrorScanner({
      ...resolved,
      pathOf: this.#pathOf,
      onEvent: node => this.#onEvent(node),
      onWatchError: error => this.#onWatchError(error),
      isWatching: () => this.#isWatching() && !this.#leavesWatches(),
      recall: node => this.#recall(node),
    })
    this.#reader = new FolderReader({
      ...resolved,
      pathOf: this.#pathOf,
      refusesHardLinks: trust === 'review',
    })
    this.#notes = new NotedFolders(resolved, this.#reader)
    this.#guard = new RootGuard(fileSystem, root, () => this.#onRootChange())
  }

  watch(onHint: (area: string) => void): SourceWatch {
    this.#onHint = onHint
    if (this.#trust.usesEvents) this.#guard.start()
    return {
      stop: () => this.#unwatch(),
      hasHints: () => this.#hasHints(),
      drain: async () => {
        await this.#drain()
        if (!this.#hasPromptEvents && this.#isWatching()) await this.#look()
      },
      isBusy: async () => await this.#isBusy(),
      concerns: (area, location) => this.#concerns(area, location),
    }
  }

  state(): SourceState {
    const isMissing = this.#root === undefined && this.#missingSince !== undefined
    return { ...this.#trust.state(), ...(isMissing ? { isMissing } : {}) }
  }

  async findNotSkills(query: NotSkillQuery = {}): Promise<NotSkills> {
    checkOptions('findNotSkills()', query, KNOWN_QUERY)
    const pass = this.#root === undefined ? undefined : await createScanPass(this.#options)
    if (pass === undefined) return { found: [], isComplete: true }
    const { fileSystem, root } = this.#options
    const { insideFolders: inside } = pass
    const toPath = (path: string): string => joinPath(root, path)
    const folders: SearchedFolders = {
      ...this.#options,
      list: async path => await this.#list(toPath(path)),
      read: async (path, maxBytes) => (await fileSystem.read(toPath(path), { inside, maxBytes })).bytes,
      isFolder: async path => await isFolderAt(fileSystem, toPath(path)),
    }
    return await findNotSkills(folders, this.#published.current, query)
  }

  async findLeftOut(skill: Skill): Promise<readonly string[]> {
    if (this.#root === undefined) return []
    const { node, isExact } = findNearest(this.#root, skill.location)
    const folder = this.#pathOf(node)
    return isExact ? await findLeftOut(skill, async path => await this.#list(joinPath(folder, path))) : []
  }

  async #list(path: string): Promise<readonly DirectoryEntry[]> {
    const { fileSystem } = this.#options
    await fileSystem.pace?.()
    return await fileSystem.list(path)
  }

  /**
   * Marks the folder of a skill and all its subfolders. If the mirror does not contain the folder, marks the deepest
   * known folder above it.
   */
  mark(location: string, why: MarkReason): void {
    if (this.#root === undefined) return
    const { node, isExact } = findNearest(this.#root, location)
    if (why === 'changed')
      for (const each of isExact ? subtree(listingOf(node)) : [node]) this.#work.request(each)
    else if (isExact && node.skillFile !== undefined) this.#work.reject(node)
  }

  async read(context: SourceReadContext): Promise<SourceReading> {
    this.#useStore(context.store)
    this.#notes.pause()
    if (this.#root === undefined) this.#notes.begin(context.store)
    const root = await this.#openRoot()
    const pass =
      root === undefined ? undefined : await createScanPass(this.#options, this.#toPassOptions(context))
    if (root === undefined || pass === undefined) return this.#readMissing()
    root.realPath = pass.rootRealPath === this.origin ? undefined : pass.rootRealPath
    this.#missingSince = undefined
    const wasOverflow = this.#needsSweep
    const unwatched = [...this.#scanner.unwatched()]
    const depth = this.#needsSweep && context.depth === 'hinted' ? 'full' : context.depth
    this.#needsSweep = false
    if (wasOverflow || context.depth !== 'hinted') this.#trust.forgetFault()
    if (depth === 'hinted') {
      const looked = { nodes: unwatched, fileSystem: this.#options.fileSystem, pathOf: this.#pathOf }
      for (const node of await findUnwatchedNews({ ...looked, signal: context.signal }))
        this.#work.request(node)
      for (const node of this.#scanner.lost()) this.#work.request(node)
    }
    const asked = this.#doubtful
    this.#doubtful = new Set()
    const isHeld = (node: DirectoryNode): boolean =>
      !context.final &&
      this.#published.hasBegun &&
      !asked.has(node) &&
      context.isHeld?.(areaOf(node)) === true
    const announced = this.#work.takeMarked(isHeld)
    const read: ReadFile[] = []
    const others = new Set<DirectoryNode>()
    try {
      if (depth === 'hinted') await this.#scanner.scan([...announced], 'look', pass, context.signal)
      else await this.#scanner.scan([root], depth === 'rehash' ? 'rehash' : 'sweep', pass, context.signal)
      await this.#build(pass, read, { ...context, isHeldFolder: isHeld, others })
    } catch (thrown) {
      this.#takeBack(pass, announced)
      if (SkillError.isInstance(thrown, 'NOT_FOUND')) return this.#readMissing()
      throw thrown
    }
    await this.#drain()
    // Bytes that were read during a write may be half of a text, even if the size and times belong to the whole text.
    for (const { directory, file, before } of read)
      if (this.#work.isMoving(listingOf(directory))) file.believed = before
    // Events never report changes in an unwatched folder.
    if (depth === 'full' && !wasOverflow) this.#judgeEvents(pass, new Set([...announced, ...unwatched]))
    if (!context.final && !this.#isSettled(context))
      return { contents: this.#published.current, settled: false }
    this.#work.endReading(node => this.#withdraw(node), context.final)
    const due = [...this.#work.due()]
    const rejected = [...this.#work.rejected()]
    this.#moved.hold(rejected, this.#published)
    const findings = [
      ...this.#scanner.sourceFindings(),
      ...rejected.flatMap(node =>
        due.includes(node) ? [] : describeRestless(node.path, this.#options.displayPath(node.path)),
      ),
    ]
    const hasLeftWatches = this.#isWatching() && this.#leavesWatches()
    const contents = this.#published.publish(findings)
    this.#notes.resume()
    return {
      contents,
      settled: true,
      unsettled: [...new Set([...due, ...others].map(areaOf))],
      restless: rejected.filter(node => !due.includes(node)).map(({ path }) => path.normalize('NFC')),
      ...this.#whenToReadAgain(hasLeftWatches),
    }
  }

  async close(): Promise<void> {
    await this.#notes.finish()
  }

  #isWatching(): boolean {
    return this.#onHint !== undefined && this.#trust.usesEvents
  }

  /**
   * Whether the first scan sets no watches because many folders have notes. A sweep right after the scan then sets the
   * watches.
   */
  #leavesWatches(): boolean {
    return !this.#published.hasBegun && this.#notes.recalled >= MANY_NOTES
  }

  /**
   * Fills a folder from its note. The entry in the note is published unless the folder on disk differs from the note.
   */
  #recall(node: DirectoryNode): readonly DirectoryNode[] | undefined {
    const added = this.#notes.recall(node)
    if (added !== undefined) this.#published.put(node.path, node.entry)
    return added
  }

  /** Whether the result of a scan can be published, if necessary without the skills that changed during the scan. */
  #isSettled({ isHeld }: SourceReadContext): boolean {
    if (this.#needsSweep) return false
    if (!this.#work.isWaiting()) return true
    if (isHeld === undefined || !this.#published.hasBegun) return false
    // The folder that was replaced at this path may have moved to another path that is still changing.
    if (this.#published.hasReplaced) return false
    // While folders are added and removed, a missing folder may have moved to another path.
    if (!this.#published.hasPendingPaths) return true
    for (const node of this.#work.moving())
      if (node.isAttached && owningSkills(node).length === 0) return false
    return true
  }

  /**
   * A lost skill file ends its skill if a person asked for the scan, if the source gets no events, or at a start: no
   * program removes a file before the start and writes it again after it.
   */
  #toPassOptions({ depth, isAsked, wasServed }: SourceReadContext): PassOptions {
    const isKept = depth === 'hinted' || (isAsked !== true && this.#isWatching())
    return { wasServed, keepsLost: this.#published.hasBegun && isKept }
  }

  #whenToReadAgain(hasLeftWatches: boolean): Pick<SourceReading, 'readAgainMs'> {
    if (hasLeftWatches) {
      this.#needsSweep = true
      return { readAgainMs: 0 }
    }
    if (this.#work.hasMoving) return { readAgainMs: RETRY_UNSTABLE_MS }
    if (this.#scanner.lost().next().done !== true) return { readAgainMs: SKILL_FILE_GRACE_MS }
    return this.state().unwatched === undefined ? {} : { readAgainMs: this.#options.pollMs }
  }

  /** Forgets all files if this scan uses a different store than the previous scan. */
  #useStore(store: SkillStore): void {
    if (this.#store !== undefined && this.#store !== store) {
      this.#forgetMirror()
      this.#published.withdrawAll()
    }
    this.#store = store
  }

  async #openRoot(): Promise<DirectoryNode | undefined> {
    await this.#guard.settled // otherwise guard and stat could both miss a root that is created now
    if (!(await isFolderThere(this.#options.fileSystem, this.#options.root))) return undefined
    if (this.#root === undefined) {
      this.#root = createDirectoryNode({ name: '', parent: undefined, isLink: false, isDiscoverable: true })
      this.#work.mark(this.#root)
    }
    return this.#root
  }

  #readMissing(): SourceReading {
    const { displayRoot: path, onMissing, clock } = this.#options
    if (onMissing === 'throw') throw missingFolder(path)
    const now = clock.monotonic()
    const wasNeverThere = this.#root === undefined && this.#missingSince === undefined
    if (wasNeverThere && onMissing === 'wait') this.#options.onMissingRoot?.(describeMissing(path).message)
    this.#missingSince ??= this.#root === undefined ? Number.NEGATIVE_INFINITY : now
    const remainingMs = this.#missingSince + ROOT_GRACE_MS - now
    if (remainingMs > 0 && onMissing === 'wait')
      return { contents: this.#published.current, settled: true, readAgainMs: remainingMs }
    this.#forgetMirror()
    return { contents: this.#published.clear([describeMissing(path)]), settled: true }
  }

  #forgetMirror(): void {
    if (this.#root !== undefined) {
      this.#scanner.reset(this.#root)
      this.#root = undefined
      this.#shared.clear()
      this.#moved.clear()
    }
    this.#work.clear()
    this.#needsSweep = false
  }

  /**
   * Reads the folders that changed, and the folders whose last read was rejected. Then finds directories that changed
   * during the scan.
   */
  async #build(
    pass: ScanPass,
    read: ReadFile[],
    context: SourceReadContext & {
      readonly isHeldFolder: (node: DirectoryNode) => boolean
      /**
       * Receives each folder that contains another hard link to a changed file. No event reports the change in such a
       * folder.
       */
      readonly others: Set<DirectoryNode>
    },
  ): Promise<void> {
    for (const folder of this.#work.rejected()) {
      if (folder.isAttached && folder.skillFile !== undefined) pass.affected.add(folder)
      else this.#work.accept(folder)
    }
    for (const folder of pass.affected) {
      // A change of the folder above may be older than the burst in the folder, and a caller may wait for it.
      const isOther = pass.replaced.has(folder) || pass.created.has(folder)
      if (isOther || !context.isHeldFolder(folder)) continue
      pass.affected.delete(folder)
      this.#work.mark(listingOf(folder))
      this.#work.reject(folder)
    }
    for (const location of pass.removed) {
      this.#published.put(location, undefined)
      this.#notes.change(location, undefined)
    }
    const folderContext: FolderContext = {
      store: context.store,
      hasher: context.hasher,
      insideFolders: pass.insideFolders,
      signal: context.signal,
      doubts: context.waitsForWriters === true,
      // The first scan accepts files that look half-written, because these files were written before this process
      // started.
      doubtsNew: this.#published.hasBegun,
      read,
    }
    const build = async (folder: DirectoryNode): Promise<void> => {
      const entry = await this.#reader.read(folder, folderContext)
      if (entry === UNSTABLE) {
        this.#work.suspect(listingOf(folder))
        this.#work.reject(folder)
        return
      }
      folder.entry = entry
      this.#work.accept(folder)
      this.#published.put(folder.path, entry)
      // A note of a folder without its skill file would be wrong for the next process.
      if (folder.skillFileLostAt === undefined) this.#notes.change(folder.path, folder)
    }
    try {
      await mapConcurrently([...pass.affected], build, CONCURRENCY, context.signal)
    } finally {
      for (const file of read)
        for (const other of this.#shared.note(file)) {
          this.#work.mark(listingOf(other))
          context.others.add(listingOf(other))
        }
    }
    const looked = {
      ...{ read, listed: pass.listed, pathOf: this.#pathOf },
      hasPromptEvents: this.#hasPromptEvents,
    }
    for (const node of await findMoved(this.#options.fileSystem, looked, context.signal)) {
      if (!node.isAttached) continue
      this.#work.mark(listingOf(node))
      this.#withdraw(node)
    }
  }

  /**
   * Marks the directories of a failed pass again. The mirror already contains the changes of that pass, so the next
   * scan would see no difference without the marks.
   */
  #takeBack(pass: ScanPass, announced: Iterable<DirectoryNode>): void {
    for (const path of pass.removed) this.#published.put(path, undefined)
    for (const folder of pass.affected) this.#work.reject(folder)
    for (const node of announced) this.#work.mark(node)
    this.#needsSweep = true
  }

  /** Discards the unpublished result for a folder that changed while a scan read the folder. */
  #withdraw(node: DirectoryNode): void {
    for (const owner of owningSkills(node)) if (this.#published.withdraw(owner.path)) this.#work.reject(owner)
  }

  #unwatch(): void {
    this.#onHint = undefined
    this.#guard.stop()
    if (this.#root !== undefined) for (const node of subtree(this.#root)) unwatch(node)
  }

  async #drain(): Promise<void> {
    await this.#options.fileSystem.drain?.()
    await this.#guard.settled
    const links = this.#scanner.links()
    await findMovedLinks(links, this.#options.fileSystem, this.#pathOf, node => this.#announce(node))
  }

  #hasHints(): boolean {
    return this.#needsSweep || this.#published.hasPending || this.#work.isWaiting() || this.#work.hasRequested
  }

  /** Whether `drain()` of the file system waits for the events of all earlier changes. */
  get #hasPromptEvents(): boolean {
    return this.#options.fileSystem.drain !== undefined
  }

  /** Announces the changes whose events have not come yet. */
  async #announceNews(): Promise<void> {
    await this.#guard.look()
    if (this.#root === undefined || !this.#isWatching()) return
    const { changed, doubtful } = await findNews({
      nodes: [...subtree(this.#root)].filter(node => !node.isStandalone),
      fileSystem: this.#options.fileSystem,
      pathOf: this.#pathOf,
      signal: new AbortController().signal,
    })
    // Do not announce a change twice, because a second hint would prolong the burst. The next look may find the same
    // change again.
    for (const node of changed) if (!this.#work.isMoving(node)) this.#announce(node)
    for (const node of doubtful) {
      this.#work.request(node)
      this.#doubtful.add(node)
      for (const owner of owningSkills(node)) this.#doubtful.add(owner)
    }
  }

  async #isBusy(): Promise<boolean> {
    const nodes = [...this.#work.marked()].slice(0, BUSY_PROBES)
    const paths = nodes.length === 0 ? [this.#options.root] : nodes.map(this.#pathOf)
    return (await this.#options.isBusy?.(paths)) ?? false
  }

  #onEvent(node: DirectoryNode): void {
    if (this.#trust.noteEvent()) this.#needsSweep = true
    this.#announce(node)
  }

  #onRootChange(): void {
    if (this.#root === undefined) this.#needsSweep = true
    else this.#work.mark(this.#root)
    this.#onHint?.('')
  }

  #onWatchError(error: Error): void {
    this.#trust.noteFault(toMessage(error))
    this.#needsSweep = true
    this.#onHint?.('')
  }

  #announce(node: DirectoryNode): void {
    if (!node.isAttached) return
    this.#work.announce(node)
    if (this.#work.isRestless(node)) return // read again later, without delaying other folders
    this.#onHint?.(areaOf(node))
  }

  /**
   * After an event in a folder without a skill, a new skill may be anywhere. A removed skill may reappear at any
   * location.
   */
  #concerns(area: string, location: string): boolean {
    if (this.#root === undefined) return true
    const asked = findNearest(this.#root, location)
    if (!asked.isExact || area === areaOf(asked.node)) return true
    const { node, isExact } = findNearest(this.#root, area)
    return !isExact || node.skillFile === undefined
  }

  /** If a sweep finds a change that no event reported, this file system loses events. */
  #judgeEvents(pass: ScanPass, announced: ReadonlySet<DirectoryNode>): void {
    if (!this.#isWatching() || !this.#hasPromptEvents || !this.#published.hasBegun) return
    if (hasUnannounced(pass, node => announced.has(node) || this.#work.isAnnounced(node)))
      this.#trust.noteUnannounced()
    else this.#trust.noteAnnounced()
  }
}

/**
 * Returns the area to which a directory belongs. The area is the outermost skill folder that contains the directory, or
 * the directory itself if no skill contains the directory.
 */
function areaOf(node: DirectoryNode): string {
  return owningSkills(node).at(-1)?.path ?? node.path
}
