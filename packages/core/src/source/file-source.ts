import { SkillError, toMessage } from '../errors.ts'
import { type FileSystem, isSameInode, isSameStat } from '../fs/file-system.ts'
import { mapConcurrently } from '../fs/walk.ts'
import type { WritableFileSystem } from '../fs/writable-file-system.ts'
import { type Clock, systemClock } from '../host.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { DEFAULT_LIMITS, REVIEWED_MAX_DIRECTORIES, type SkillLimits } from '../skill/limits.ts'
import type { ReadingPolicy } from '../skill/reading-policy.ts'
import type { Trust } from '../skill/trust.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { checkFileSourceOptions, type MissingRootPolicy } from './check-file-source-options.ts'
import type { SymlinkPolicy } from './entry-classifier.ts'
import { EventTrust, type WatchingMode } from './event-trust.ts'
import { type FileLayout, LayoutRules } from './file-layout.ts'
import { FolderReader, UNSTABLE } from './folder-reader.ts'
import {
  createDirectoryNode,
  type DirectoryNode,
  type FileNode,
  listingOf,
  owningSkills,
  type ScanPass,
  subtree,
} from './mirror.ts'
import { MirrorScanner } from './mirror-scanner.ts'
import { MovedFolders } from './moved-folders.ts'
import type { NotSkillQuery, NotSkills } from './not-skill.ts'
import { NotSkillFinder, type NotSkillFinderOptions } from './not-skill-finder.ts'
import { PublishedContents } from './published-contents.ts'
import { RootGuard } from './root-guard.ts'
import { findMoved, type ReadFile } from './second-fingerprint.ts'
import { hasSilentFiles, SharedFiles } from './shared-files.ts'
import type {
  ReadContext,
  SkillSource,
  SourceHint,
  SourceReading,
  SourceState,
  WritableFolder,
} from './skill-source.ts'

export interface FileSourceOptions {
  readonly fileSystem: FileSystem
  /** Absolute path of the folder that holds the skills, without a slash at its end. */
  readonly root: string
  /** Name of the source in digests and messages: short, and the same on every machine. */
  readonly label: string
  /** How the root is shown to people. @default `root` */
  readonly displayRoot?: string
  /** @default 'auto' */
  readonly trust?: Trust
  /** Whether commands on this machine can reach the folders by their path. @default false */
  readonly hasDirectories?: boolean
  /** @default 'within-root', and 'deny' when `trust` is `review` */
  readonly symlinks?: SymlinkPolicy
  /** Absolute folders outside the root into which links may lead. @default [] */
  readonly linkRoots?: readonly string[]
  /** Whether a SKILL.md inside another skill's folder is a skill of its own. @default true unless `trust` is `review` */
  readonly nestedSkills?: boolean
  /** The same file system when skills may be written here. @default none: read-only */
  readonly writable?: WritableFileSystem
  /** Which files and folders are skills. @default DEFAULT_LAYOUT */
  readonly layout?: Partial<FileLayout>
  /** How forgiving the texts are read. @default DEFAULT_READING */
  readonly reading?: Partial<ReadingPolicy>
  /**
   * A root that is not there is `wait`: empty and awaited; when it vanishes later its skills stay for five seconds.
   * `empty`: empty at once. `throw`: a failure, like a disk that cannot be read. @default 'wait'
   */
  readonly onMissing?: MissingRootPolicy
  /** `auto`: events where they can be had, else sweeps. `off`: read on demand only. @default 'auto' */
  readonly watching?: WatchingMode
  /** How often everything is swept while events work, in milliseconds. @default 30,000 */
  readonly reconcileMs?: number
  /** How often everything is swept without events, in milliseconds. @default 2,000; 300,000 for file systems that have none */
  readonly pollMs?: number
  readonly limits?: Partial<SkillLimits>
  /** Whether a known writer works in one of these absolute folders at the moment. */
  readonly isBusy?: (directories: readonly string[]) => Promise<boolean>
  readonly clock?: Clock
}

export const DEFAULT_RECONCILE_MS = 30_000
export const DEFAULT_POLL_MS = 2_000
/** How often a file system is swept that has no events at all: it is far away, mostly, and requests look anyway. */
export const DEFAULT_REMOTE_POLL_MS = 300_000
/** How long a root that vanished keeps its skills, in milliseconds. */
export const ROOT_GRACE_MS = 5_000

const RETRY_UNSTABLE_MS = 500
const NOT_ASCII = /[^\u0020-\u007e]/
/** When more folders are unwatched, comparing the facts of everything costs less than listing all of them. */
const MAX_LISTED_UNWATCHED = 100
const CONCURRENCY = 16
const BUSY_PROBES = 32

/**
 * The skills below one folder of a file system. It keeps a mirror of directories and file facts, so a change costs
 * what changed and not what exists; events only mark directories, and lists and facts decide.
 */
export class FileSource implements SkillSource {
  readonly label: string
  readonly origin: string
  readonly trust: Trust
  readonly reading: Partial<ReadingPolicy>
  readonly writable?: WritableFolder
  readonly #fileSystem: FileSystem
  readonly #options: FileSourceOptions
  readonly #clock: Clock
  readonly #scanner: MirrorScanner
  readonly #reader: FolderReader
  readonly #guard: RootGuard
  readonly #trust: EventTrust
  readonly #finderOptions: NotSkillFinderOptions
  readonly #displayPath: (path: string) => string

  /** Folders that a failed reading had found changed. */
  readonly #owed = new Set<DirectoryNode>()
  /** Skills whose folders did not hold still for as long as was waited: nobody waits for them again until they do. */
  readonly #restless = new Set<DirectoryNode>()

  #store: SkillStore | undefined
  #onHint: ((hint: SourceHint) => void) | undefined
  #root: DirectoryNode | undefined
  #dirty = new Set<DirectoryNode>()
  #needsSweep = false
  /** Marked folders of which no event has told. */
  readonly #doubted = new Set<DirectoryNode>()
  readonly #published = new PublishedContents()
  readonly #shared = new SharedFiles()
  readonly #moved = new MovedFolders()
  /** Folders whose last reading was not taken: to be read again whatever their facts say. */
  readonly #unread = new Set<DirectoryNode>()
  #missingSince: number | undefined

  constructor(options: FileSourceOptions) {
    if (options.label === '')
      throw new SkillError('INVALID_OPTION', 'label is empty; give the source a short name')
    checkFileSourceOptions(options)
    this.#options = options
    this.label = options.label
    this.origin = options.root
    this.trust = options.trust ?? 'auto'
    this.reading = options.reading ?? {}
    this.#fileSystem = options.fileSystem
    this.#clock = options.clock ?? systemClock
    const limits: SkillLimits = {
      ...DEFAULT_LIMITS,
      ...(this.trust === 'review' ? { maxDirectories: REVIEWED_MAX_DIRECTORIES } : {}),
      ...options.limits,
    }
    const layout = new LayoutRules(options.layout)
    if (options.writable !== undefined) {
      const isSkipped = (name: string): boolean => layout.isSkipped(name, 1)
      const { fileNames } = layout
      const folder = { fileSystem: options.writable, root: options.root, fileNames, limits, isSkipped }
      this.writable = Object.freeze(folder)
    }
    const displayRoot = options.displayRoot ?? options.root
    this.#displayPath = path => (path === '' ? displayRoot : `${displayRoot}/${path}`)
    const shared = {
      fileSystem: options.fileSystem,
      clock: this.#clock,
      limits,
      pathOf: (node: DirectoryNode) => this.#pathOf(node),
      displayPath: this.#displayPath,
    }
    this.#trust = new EventTrust({
      watching: options.watching ?? 'auto',
      reconcileMs: options.reconcileMs ?? DEFAULT_RECONCILE_MS,
      pollMs:
        options.pollMs ?? (options.fileSystem.watch === undefined ? DEFAULT_REMOTE_POLL_MS : DEFAULT_POLL_MS),
      clock: this.#clock,
      canWatch: options.fileSystem.watch !== undefined,
      findFault: () => options.fileSystem.findWatchFault?.(options.root),
      findUnwatched: () => this.#scanner.describeUnwatched(),
    })
    const discovery = {
      layout,
      symlinks: options.symlinks ?? (this.trust === 'review' ? 'deny' : 'within-root'),
      nestedSkills: options.nestedSkills ?? this.trust === 'auto',
    }
    const { label, root } = options
    this.#finderOptions = { ...shared, ...discovery, label, root, reading: this.reading }
    this.#scanner = new MirrorScanner({
      ...shared,
      ...discovery,
      onEvent: node => this.#onEvent(node),
      onWatchError: error => this.#onWatchError(error),
      isWatching: () => this.#onHint !== undefined && this.#trust.usesEvents,
    })
    this.#reader = new FolderReader({
      ...shared,
      label: options.label,
      reading: options.reading ?? {},
      hasDirectories: options.hasDirectories ?? false,
      refusesHardLinks: this.trust === 'review',
    })
    this.#guard = new RootGuard(options.fileSystem, options.root, () => this.#onRootChange())
  }

  watch(onHint: (hint: SourceHint) => void): () => void {
    this.#onHint = onHint
    if (this.#trust.usesEvents) this.#guard.start()
    return () => {
      this.#onHint = undefined
      this.#guard.stop()
      if (this.#root === undefined) return
      for (const node of subtree(this.#root)) {
        node.unwatch?.()
        delete node.unwatch
      }
    }
  }

  state(): SourceState {
    return this.#trust.state()
  }

  hasHints(): boolean {
    return this.#needsSweep || this.#published.hasPending || this.#isAnyoneWaitedFor()
  }

  async drain(): Promise<void> {
    await this.#fileSystem.drain?.()
    await this.#guard.settled
    await this.#checkLinks()
  }

  async findNotSkills(query: NotSkillQuery = {}): Promise<NotSkills> {
    const pass = this.#root === undefined ? undefined : await this.#createPass()
    if (this.#root === undefined || pass === undefined) return { found: [], isComplete: true }
    const locations = this.#published.current.entries.map(entry => entry.location)
    const { insideFolders } = pass
    return await new NotSkillFinder(this.#finderOptions, { query, locations, insideFolders }).find(this.#root)
  }

  /** Marks the folder of a skill, with everything in it, or the folder in which it would be. */
  hint(location: string): void {
    if (this.#root === undefined) return
    let node: DirectoryNode = this.#root
    for (const segment of location === '' ? [] : location.split('/')) {
      const child = findChild(node, segment)
      if (child === undefined) {
        this.#dirty.add(node)
        return
      }
      node = child
    }
    for (const each of subtree(listingOf(node))) this.#dirty.add(each)
  }

  recapture(location: string): void {
    let node = this.#root
    for (const segment of location === '' ? [] : location.split('/'))
      node = node === undefined ? undefined : findChild(node, segment)
    if (node?.skillFile !== undefined) this.#unread.add(node)
  }

  async isBusy(): Promise<boolean> {
    const nodes = [...this.#dirty].slice(0, BUSY_PROBES)
    const paths = nodes.length === 0 ? [this.#options.root] : nodes.map(node => this.#pathOf(node))
    return (await this.#options.isBusy?.(paths)) ?? false
  }

  async read(context: ReadContext): Promise<SourceReading> {
    if (this.#store !== undefined && this.#store !== context.store) {
      // Another store has nothing of what was read.
      this.#forgetMirror()
      this.#published.withdrawAll()
    }
    this.#store = context.store
    const root = await this.#openRoot()
    const pass = root === undefined ? undefined : await this.#createPass()
    if (root === undefined || pass === undefined) return this.#readMissing()
    this.#missingSince = undefined
    const wasOverflow = this.#needsSweep
    const unwatched = [...this.#scanner.unwatched()]
    const isSwept = unwatched.length > MAX_LISTED_UNWATCHED
    const depth = (this.#needsSweep || isSwept) && context.depth === 'hinted' ? 'full' : context.depth
    this.#needsSweep = false
    if (wasOverflow || context.depth !== 'hinted') this.#trust.forgetFault()
    if (depth === 'hinted') for (const node of unwatched) this.#dirty.add(node)
    const announced = this.#dirty
    this.#dirty = new Set()
    this.#doubted.clear()
    try {
      await this.#scan(root, announced, depth, pass, context.signal)
      for (const waiting of [this.#unread, this.#owed]) {
        for (const folder of waiting) {
          if (folder.isAttached && folder.skillFile !== undefined) pass.affected.add(folder)
          else waiting.delete(folder)
        }
      }
      const read: ReadFile[] = []
      await this.#build(pass, context, read)
      const looked = { read, listed: pass.listed, pathOf: (node: DirectoryNode) => this.#pathOf(node) }
      for (const node of await findMoved(this.#fileSystem, looked, context.signal)) this.#markUnstable(node)
    } catch (thrown) {
      // The mirror has taken over what the pass found; what that means for the skills is owed to the next reading.
      for (const path of pass.removed) this.#published.put(path, undefined)
      for (const folder of pass.affected) this.#owed.add(folder)
      for (const node of announced) this.#dirty.add(node)
      this.#needsSweep = true
      if (SkillError.isInstance(thrown, 'NOT_FOUND')) return this.#readMissing()
      throw thrown
    }
    await this.drain()
    // No event can tell of a change in an unwatched folder.
    if (depth === 'full' && !wasOverflow) this.#noteUnannounced(pass, new Set([...announced, ...unwatched]))
    const isSettled = !this.#isAnyoneWaitedFor() && !this.#needsSweep
    if (!isSettled && !context.final) return { contents: this.#published.current, settled: false }
    this.#noteRestless()
    this.#moved.hold(this.#unread, this.#published)
    return {
      contents: this.#published.publish([...this.#scanner.sourceFindings(), ...this.#describeUnread()]),
      settled: true,
      ...this.#whenToReadAgain(),
    }
  }

  #whenToReadAgain(): Pick<SourceReading, 'readAgainMs'> {
    if (this.#dirty.size > 0) return { readAgainMs: RETRY_UNSTABLE_MS }
    if (this.state().unwatched === undefined) return {}
    return { readAgainMs: this.#options.pollMs ?? DEFAULT_POLL_MS }
  }

  async #openRoot(): Promise<DirectoryNode | undefined> {
    await this.#guard.settled // or a root that comes now would be seen by neither of the two
    try {
      const stat = await this.#fileSystem.stat(this.#options.root)
      if (stat.kind !== 'directory') {
        throw new SkillError('WRONG_KIND', `${this.#options.root} is a file; a source is a folder`)
      }
    } catch (thrown) {
      if (SkillError.isInstance(thrown, 'NOT_FOUND')) return undefined
      throw thrown
    }
    if (this.#root === undefined) {
      this.#root = createDirectoryNode({ name: '', parent: undefined, isLink: false, isDiscoverable: true })
      this.#dirty.add(this.#root)
    }
    return this.#root
  }

  /** A root that was never there is empty; one that vanished keeps its skills for a moment, then is empty too. */
  #readMissing(): SourceReading {
    const path = this.#options.displayRoot ?? this.#options.root
    const onMissing = this.#options.onMissing ?? 'wait'
    if (onMissing === 'throw') {
      throw new SkillError(
        'SOURCE_MISSING',
        `the folder ${JSON.stringify(path)} does not exist; make it, or name another`,
      )
    }
    const now = this.#clock.monotonic()
    this.#missingSince ??= this.#root === undefined ? Number.NEGATIVE_INFINITY : now
    const remainingMs = this.#missingSince + ROOT_GRACE_MS - now
    if (remainingMs > 0 && onMissing === 'wait')
      return { contents: this.#published.current, settled: true, readAgainMs: remainingMs }
    this.#forgetMirror()
    const diagnostic: Diagnostic = {
      code: 'ROOT_MISSING',
      severity: 'info',
      message: `the folder ${JSON.stringify(path)} does not exist; it is awaited`,
      path,
    }
    return { contents: this.#published.clear([diagnostic]), settled: true }
  }

  #forgetMirror(): void {
    if (this.#root !== undefined) {
      this.#scanner.reset(this.#root)
      this.#root = undefined
      this.#shared.clear()
      this.#moved.clear()
      this.#unread.clear()
      this.#owed.clear()
      this.#restless.clear()
    }
    this.#dirty.clear()
    this.#needsSweep = false
  }

  /** `undefined` when the root has gone meanwhile. */
  async #createPass(): Promise<ScanPass | undefined> {
    let rootRealPath: string
    try {
      rootRealPath = await this.#fileSystem.resolve(this.#options.root)
    } catch (thrown) {
      if (SkillError.isInstance(thrown, 'NOT_FOUND')) return undefined
      throw thrown
    }
    const insideFolders = [rootRealPath]
    if (this.#options.symlinks === 'follow') insideFolders.push('/')
    for (const folder of this.#options.linkRoots ?? []) {
      try {
        insideFolders.push(await this.#fileSystem.resolve(folder))
      } catch (thrown) {
        if (!SkillError.isInstance(thrown, 'NOT_FOUND')) throw thrown // a link root that is not there admits nothing
      }
    }
    return {
      insideFolders,
      rootRealPath,
      affected: new Set(),
      removed: new Set(),
      listed: new Set(),
      revisited: new Set(),
      changed: new Set(),
      created: new Set(),
    }
  }

  async #scan(
    root: DirectoryNode,
    dirty: ReadonlySet<DirectoryNode>,
    depth: ReadContext['depth'],
    pass: ScanPass,
    signal: AbortSignal,
  ): Promise<void> {
    if (depth === 'hinted') await this.#scanner.scan([...dirty], 'look', pass, signal)
    else await this.#scanner.scan([root], depth === 'rehash' ? 'rehash' : 'sweep', pass, signal)
  }

  async #build(pass: ScanPass, context: ReadContext, read: ReadFile[]): Promise<void> {
    for (const location of pass.removed) this.#published.put(location, undefined)
    const folderContext = {
      store: context.store,
      hasher: context.hasher,
      insideFolders: pass.insideFolders,
      signal: context.signal,
      doubts: context.waitsForWriters === true,
      // Whatever was there before this process is as whole as it will ever be.
      doubtsNew: this.#published.hasBegun,
      onRead: (directory: DirectoryNode, file: FileNode): void => {
        read.push({ directory, file })
        for (const other of this.#shared.note({ directory, file })) this.#dirty.add(listingOf(other))
      },
    }
    const build = async (folder: DirectoryNode): Promise<void> => {
      const entry = await this.#reader.read(folder, folderContext)
      if (entry === UNSTABLE) {
        if (!this.#dirty.has(listingOf(folder))) this.#doubted.add(listingOf(folder))
        this.#dirty.add(listingOf(folder))
        this.#unread.add(folder)
        return
      }
      folder.entry = entry
      this.#unread.delete(folder)
      this.#owed.delete(folder)
      this.#published.put(folder.path, entry)
    }
    await mapConcurrently([...pass.affected], build, CONCURRENCY, context.signal)
  }

  #markUnstable(node: DirectoryNode): void {
    if (!node.isAttached) return
    this.#dirty.add(listingOf(node))
    this.#withdraw(node)
  }

  /** What was built of a folder that has changed since is not shown. */
  #withdraw(node: DirectoryNode): void {
    for (const owner of owningSkills(node)) if (this.#published.withdraw(owner.path)) this.#unread.add(owner)
  }

  /** Whether a folder is marked that is expected to come to rest. */
  #isAnyoneWaitedFor(): boolean {
    for (const node of this.#dirty) if (node.isAttached && !this.#isRestless(node)) return true
    return false
  }

  #isRestless(node: DirectoryNode): boolean {
    return this.#restless.size > 0 && owningSkills(node).some(owner => this.#restless.has(owner))
  }

  /** Time is up: what still changes keeps its last state, and what came to rest is as good as any other again. */
  #noteRestless(): void {
    const moving = new Set<DirectoryNode>()
    for (const node of this.#dirty) {
      if (!node.isAttached) {
        this.#dirty.delete(node) // gone: what its folder's list said of that is not to be taken back
        continue
      }
      this.#withdraw(node)
      for (const owner of owningSkills(node)) moving.add(owner)
    }
    for (const folder of this.#restless) if (!moving.has(folder)) this.#restless.delete(folder)
    for (const folder of this.#unread) this.#restless.add(folder)
  }

  /** Folders that did not hold still for as long as they were waited for. */
  #describeUnread(): Diagnostic[] {
    return [...this.#unread].map(({ path }) => ({
      code: 'FOLDER_UNSTABLE',
      severity: 'warning',
      message: `the folder ${JSON.stringify(path)} keeps changing while it is read; its last state stays`,
      path: this.#displayPath(path),
      fix: 'keep files that are written all the time out of the folder, or name them in .skillignore',
    }))
  }

  #onEvent(node: DirectoryNode): void {
    if (this.#trust.noteEvent()) this.#needsSweep = true
    this.#mark(node)
  }

  #onRootChange(): void {
    if (this.#root === undefined) this.#needsSweep = true
    else this.#dirty.add(this.#root)
    this.#onHint?.({ area: '' })
  }

  #onWatchError(error: Error): void {
    this.#trust.noteFault(toMessage(error))
    this.#needsSweep = true
    this.#onHint?.({ area: '' })
  }

  #mark(node: DirectoryNode): void {
    if (!node.isAttached) return
    this.#dirty.add(node)
    this.#doubted.delete(node)
    if (this.#isRestless(node)) return // looked at again in a while, without holding up the others
    this.#onHint?.({ area: owningSkills(node).at(-1)?.path ?? node.path })
  }

  /** Events follow inodes, not names: what a link leads to now is asked. */
  async #checkLinks(): Promise<void> {
    for (const link of this.#scanner.links()) {
      const path = this.#pathOf(link.directory)
      const stat = await this.#fileSystem
        .stat(link.file === undefined ? path : `${path}/${link.file.name}`)
        .catch(() => undefined)
      if (link.file === undefined) {
        const before = link.directory.stat ?? link.unlistedStat
        if (link.directory.stat === undefined) link.unlistedStat = stat
        if (stat === undefined || before === undefined || !isSameInode(stat, before))
          this.#mark(link.directory.parent ?? link.directory)
      } else if (link.file.stat !== undefined && (stat === undefined || !isSameStat(link.file.stat, stat))) {
        this.#mark(link.directory)
      }
    }
  }

  /** A sweep that finds what no event told of means that events get lost here. */
  #noteUnannounced(pass: ScanPass, announced: ReadonlySet<DirectoryNode>): void {
    if (this.#onHint === undefined || !this.#trust.usesEvents || !this.#published.hasBegun) return
    const wasTold = (node: DirectoryNode | undefined): boolean =>
      node !== undefined &&
      (announced.has(node) ||
        (this.#dirty.has(node) && !this.#doubted.has(node)) ||
        pass.created.has(node) ||
        node.isLink)
    for (const node of pass.changed) {
      if (wasTold(node) || wasTold(node.parent) || hasSilentFiles(node)) continue
      this.#trust.noteUnannounced()
      return
    }
  }

  #pathOf(node: DirectoryNode): string {
    const { root } = this.#options
    const { path } = listingOf(node)
    return path === '' ? root : root === '/' ? `/${path}` : `${root}/${path}`
  }
}

/** A folder by its name in a location, which may be composed of other characters on the disk. */
function findChild(node: DirectoryNode, segment: string): DirectoryNode | undefined {
  const known = node.directories.get(segment)
  if (known !== undefined || !NOT_ASCII.test(segment)) return known
  return [...node.directories.values()].find(({ name }) => name.normalize('NFC') === segment)
}
