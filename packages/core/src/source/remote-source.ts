import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import type { FileTree, ListedSkill } from '../fs/file-tree.ts'
import { TreeFileSystem } from '../fs/tree-file-system.ts'
import {
  type Clock,
  type Hasher,
  LATE,
  LONGEST_TIMER_MS,
  systemClock,
  untilAborted,
  waitAtMost,
} from '../host.ts'
import { checkOptions, type KnownOptions, number, oneOf } from '../options.ts'
import { quote } from '../quote.ts'
import { compareText } from '../skill/compare.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { LIMIT_OPTIONS, type SkillLimits } from '../skill/limits.ts'
import { READING_OPTIONS, type ReadingPolicy } from '../skill/reading-policy.ts'
import type { Skill } from '../skill/skill.ts'
import { EMPTY_CONTENTS, type SourceContents, type SourceEntry } from '../skill/source-contents.ts'
import { type SourceTrust, TRUSTS } from '../skill/trust.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { type FileLayout, LAYOUT_OPTIONS } from './file-layout.ts'
import { FileSource } from './file-source.ts'
import { ListedSkills } from './listed-skills.ts'
import type { NotSkillQuery, NotSkills } from './not-skill.ts'
import { NO_SETTLE, type SettlePolicy } from './settle.ts'
import type {
  MarkReason,
  SkillSource,
  SourceChange,
  SourceHint,
  SourceReadContext,
  SourceReading,
  SourceState,
  SourceVersions,
  SourceWatch,
} from './skill-source.ts'
import { describeFailure } from './source-failure.ts'

export interface FetchContext {
  readonly store: SkillStore
  readonly hasher: Hasher
  readonly signal: AbortSignal
  /** The tree that the source serves now, with the files of listed skills that were retrieved since the fetch. */
  readonly known: FileTree | undefined
  /**
   * Whether only news of the origin caused the fetch. Otherwise the fetch must find everything that the origin had when
   * it began. @default false
   */
  readonly isNews?: boolean
}

export interface FetchResult {
  /** The newest tree. Absent if the newest tree equals the known tree, or if the newest tree must not be accepted. */
  readonly tree?: FileTree
  /** Findings about the state of the remote source, for example that its history was rewritten. */
  readonly notices?: readonly Diagnostic[]
}

/** Fetches the files of a remote source to this machine. */
export interface TreeFetcher {
  /**
   * Whether the origin is on this machine. A local origin is read first. The stored copy is used only if the origin
   * cannot be read.
   */
  readonly isLocal?: boolean
  /**
   * How long the first scan waits for a fetch although this machine has a stored copy, in milliseconds. The stored copy may
   * be outdated if the last process was killed. @default 0
   */
  readonly storedWaitMs?: number
  /** Returns the tree of the last fetch, without network access. Returns `undefined` if nothing was fetched yet. */
  restore(context: FetchContext): Promise<FileTree | undefined>
  /**
   * Fetches the tree from the origin. Rejects soon after an abort. Calls do not overlap. Throws if the origin is
   * unreachable or sends invalid data.
   */
  fetch(context: FetchContext): Promise<FetchResult>
  /**
   * Retrieves the files of a skill that a tree lists, and stores them with `storeRetrieved()`. Returns the skill with its
   * files. Throws if a file does not match its listed digest. Required if trees list skills.
   */
  retrieve?(skill: ListedSkill, context: Omit<FetchContext, 'known'>): Promise<ListedSkill>
  /**
   * Starts to report news of the origin. Each call of `onNews` requests a fetch. Returns a function that ends the
   * reports. Fetchers without this method are asked at intervals only.
   */
  watch?(onNews: () => void): () => void
  /** Returns how the fetcher learns of changes now. @default polling at the interval of the source */
  state?(): SourceState
  /** Returns the last change of a folder in a tree, with its author. */
  describeChange?(tree: FileTree, location: string): Promise<SourceChange | undefined>
  /** Whether a tree is newer than the given version. Only origins with a history have this method. */
  follows?(tree: FileTree, earlier: string): Promise<boolean>
  close?(): Promise<void>
}

/** The values of `PollingMode`. */
export const POLLING_MODES = ['auto', 'manual'] as const

/** Whether a remote source fetches at intervals, or only on `reload`. */
export type PollingMode = (typeof POLLING_MODES)[number]

export interface RemoteSourceOptions {
  /** Name of the source in digests and messages: short, and the same on every machine. */
  readonly label: string
  /** The URL of the origin in the form that people write. The URL is also the key of the persistent state. */
  readonly origin: string
  /** @default 'review': a change waits for an approval */
  readonly trust?: SourceTrust
  /** Which files and folders are skills. @default DEFAULT_LAYOUT */
  readonly layout?: Partial<FileLayout>
  /** How tolerant the parser is. @default DEFAULT_READING */
  readonly reading?: Partial<ReadingPolicy>
  readonly limits?: Partial<SkillLimits>
  /** Interval of fetches, in milliseconds, with 20 % jitter. @default 300,000 */
  readonly pollMs?: number
  /** Timeout of one fetch, in milliseconds. @default 60,000 */
  readonly timeoutMs?: number
  /**
   * How long the very first scan waits for the fetch if this machine has no stored copy, in milliseconds. Skills that
   * arrive after this time become visible as soon as they arrive.
   * @default 10,000
   */
  readonly firstWaitMs?: number
  /**
   * `auto`: the source fetches at the start and then at intervals. `manual`: the source fetches only on `reload`, and
   * at a start without a stored copy.
   * @default 'auto'
   */
  readonly polling?: PollingMode
  readonly clock?: Clock
}

const KNOWN: KnownOptions<RemoteSourceOptions> = {
  label: true,
  origin: true,
  trust: oneOf(TRUSTS),
  layout: LAYOUT_OPTIONS,
  reading: READING_OPTIONS,
  limits: LIMIT_OPTIONS,
  pollMs: number(1, LONGEST_TIMER_MS),
  timeoutMs: number(1, LONGEST_TIMER_MS),
  firstWaitMs: number(0, LONGEST_TIMER_MS),
  polling: oneOf(POLLING_MODES),
  clock: true,
}

export const DEFAULT_FETCH_POLL_MS = 300_000
export const DEFAULT_FETCH_TIMEOUT_MS = 60_000
export const DEFAULT_FIRST_WAIT_MS = 10_000

/**
 * A source whose skills come from another machine. A start serves the stored copy immediately, even without a network.
 * A failed fetch changes nothing. A newer tree replaces the known tree as a whole.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { RemoteSource, restoreTree, storeTree, type TreeFetcher } from '@skillstoke/core/source'
 *
 * const origin = 'bucket:team'
 * const bytes = new TextEncoder().encode('---\nname: greet\ndescription: Use when greeting.\n---\nSay hello.\n')
 * const file = { path: 'greet/SKILL.md', kind: 'file', bytes, isExecutable: false } as const
 * const fetcher: TreeFetcher = {
 *   restore: context => restoreTree(origin, context),
 *   fetch: async context => ({ tree: storeTree(origin, [file], context) }),
 * }
 * const source = new RemoteSource(fetcher, { label: 'team', origin, trust: 'auto' })
 * await using skills = await createSkillRuntime({ sources: [source] })
 * console.log(skills.current.list().map(skill => skill.name)) // prints [ 'greet' ]
 * ```
 */
export class RemoteSource implements SkillSource {
  readonly label: string
  readonly origin: string
  readonly trust: SourceTrust
  readonly reading: Partial<ReadingPolicy>
  readonly isRemote = true
  /** Every fetched tree is complete, so nothing has to settle. */
  readonly settle: SettlePolicy = NO_SETTLE
  readonly versions: SourceVersions = {
    current: () => this.#tree?.version,
    follows: async earlier =>
      this.#tree === undefined || ((await this.#fetcher.follows?.(this.#tree, earlier)) ?? true),
    describeChange: async location =>
      this.#tree === undefined ? undefined : await this.#fetcher.describeChange?.(this.#tree, location),
  }
  readonly #fetcher: TreeFetcher
  readonly #options: RemoteSourceOptions
  readonly #clock: Clock
  readonly #files = new TreeFileSystem()
  readonly #source: FileSource
  readonly #listed: ListedSkills
  #merged:
    | {
        readonly from: SourceContents
        readonly listed: readonly SourceEntry[]
        readonly contents: SourceContents
      }
    | undefined
  #closing = new AbortController()
  #onHint: ((hint: SourceHint) => void) | undefined
  /** The store and the hasher of the last scan. */
  #context: SourceReadContext | undefined
  #stopNews: (() => void) | undefined
  /** Whether news came during a fetch, so that another fetch must follow. */
  #hasMoreNews = false
  /** Whether a scan waits for the end of a fetch to start its own fetch. */
  #isRequested = false
  #hasBegun = false
  #tree: FileTree | undefined
  /** A tree that was fetched and that the next scan publishes. */
  #arrived: FileTree | undefined
  /** Whether the tree was replaced since the last scan. */
  #isNew = false
  #refused: readonly Diagnostic[] = []
  #notices: readonly Diagnostic[] = []
  /** The reason why a local origin could not be read at the start. Later failures are thrown. */
  #firstFault: Diagnostic | undefined
  #running: Promise<void> | undefined
  /** The failure of a background fetch; the next scan throws it. */
  #failure: { readonly thrown: unknown } | undefined
  /** Whether the last fetch failed. */
  #isUnreachable = false
  #isAwaited = false
  /** Whether a fetch has ended since the last scan. */
  #hasNews = false
  #shown: SourceContents = EMPTY_CONTENTS
  #shownFrom: SourceContents | undefined

  /** @throws {SkillError} INVALID_OPTION */
  constructor(fetcher: TreeFetcher, options: RemoteSourceOptions) {
    checkOptions('RemoteSource', options, KNOWN)
    const { label, origin, layout, reading, limits } = options
    this.#fetcher = fetcher
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.label = label
    this.origin = origin
    this.trust = options.trust ?? 'review'
    this.reading = reading ?? {}
    this.#source = new FileSource({
      fileSystem: this.#files,
      root: '/',
      label,
      displayRoot: origin,
      trust: this.trust,
      symlinks: 'deny',
      watching: 'off',
      ...defined({ layout, reading, limits }),
      clock: this.#clock,
    })
    this.#listed = new ListedSkills({
      label,
      ...defined({ limits, reading }),
    })
  }

  watch(onHint: (hint: SourceHint) => void): SourceWatch {
    this.#onHint = onHint
    return { stop: () => (this.#onHint = undefined), hasHints: () => this.#hasNews }
  }

  state(): SourceState {
    if (this.#options.polling === 'manual') return { mode: 'manual' }
    const sweepMs = this.#options.pollMs ?? DEFAULT_FETCH_POLL_MS
    return this.#fetcher.state?.() ?? { mode: 'polling', sweepMs }
  }

  async read(context: SourceReadContext): Promise<SourceReading> {
    const isFirst = !this.#hasBegun
    this.#context = context
    if (this.#options.polling !== 'manual') this.#stopNews ??= this.#fetcher.watch?.(() => this.#hear())
    if (isFirst) {
      await this.#restore(context)
      this.#hasBegun = true
      if (this.#tree !== undefined && this.#options.polling === 'manual') {
        if (this.#fetcher.isLocal === true) await this.#askFirst(context)
        return await this.#show(context, true)
      }
      const fetching = this.#start(context)
      const isStored = this.#tree !== undefined
      const waitMs = isStored
        ? (this.#fetcher.storedWaitMs ?? 0)
        : (this.#options.firstWaitMs ?? DEFAULT_FIRST_WAIT_MS)
      const isLate = waitMs === 0 || (await this.#wait(waitAtMost(this.#clock, waitMs, fetching))) === LATE
      const isFailed = isStored && this.#failure !== undefined
      if (isFailed) this.#onHint?.({ area: '' }) // the next scan reports the failure
      if (isLate || isFailed) return await this.#show(context, true)
    } else if (context.depth !== 'hinted') {
      await this.#fetchAnew(context)
    }
    if (this.#arrived !== undefined) this.#take(this.#arrived)
    // An approved revision is served only from its files, because its list could show another frontmatter.
    if (this.trust === 'review')
      this.#listed.wantMissing(location => context.wasServed?.(location) === true, context.store)
    if (this.#listed.isWanted) await this.#retrieve(context)
    this.#hasNews = false
    const failure = this.#failure
    this.#failure = undefined
    if (failure !== undefined) throw failure.thrown
    return await this.#show(context, this.#isUnreachable)
  }

  mark(location: string, why: MarkReason): void {
    if (!this.#listed.has(location)) this.#source.mark(location, why)
    else if (why === 'lost') this.#listed.want(location)
  }

  async findNotSkills(query: NotSkillQuery = {}): Promise<NotSkills> {
    return await this.#source.findNotSkills(query)
  }

  async findLeftOut(skill: Skill): Promise<readonly string[]> {
    return await this.#source.findLeftOut(skill)
  }

  async close(): Promise<void> {
    this.#closing.abort(new SkillError('CLOSED', 'the source is closed'))
    this.#stopNews?.()
    this.#stopNews = undefined
    await this.#running
    await this.#fetcher.close?.()
    this.#failure = undefined
    this.#closing = new AbortController()
  }

  async #restore({ store, hasher, signal }: SourceReadContext): Promise<void> {
    try {
      const tree = await this.#fetcher.restore({ store, hasher, signal, known: undefined })
      if (tree !== undefined) this.#take(tree)
    } catch (thrown) {
      // An unreadable stored copy must not prevent a fetch.
      if (signal.aborted) throw thrown
    }
  }

  /** Reads a local origin at the start. If the origin cannot be read, the stored copy is served with a diagnostic. */
  async #askFirst(context: SourceReadContext): Promise<void> {
    await this.#wait(this.#start(context))
    this.#hasNews = false
    if (this.#failure === undefined) return
    this.#firstFault = describeFailure(this.origin, this.#failure.thrown)
    this.#failure = undefined
  }

  /** Waits for a fetch. If a scan waits for a fetch, the end of the fetch sends no hint. */
  async #wait<T>(work: Promise<T>): Promise<T> {
    this.#isAwaited = true
    try {
      return await work
    } finally {
      this.#isAwaited = false
    }
  }

  /**
   * Retrieves the requested skills. If a skill cannot be retrieved, its list may be outdated, so the list is fetched again
   * before a second and last attempt.
   */
  async #retrieve(context: SourceReadContext): Promise<void> {
    const failed = await this.#tryRetrieve(this.#listed.takeWanted(), context)
    if (failed.length === 0) return
    await this.#fetchAnew(context)
    if (this.#failure === undefined) await this.#tryRetrieve(failed, context)
  }

  async #tryRetrieve(
    locations: readonly string[],
    { store, hasher }: SourceReadContext,
  ): Promise<readonly string[]> {
    if (this.#arrived !== undefined) this.#take(this.#arrived)
    return await this.#listed.retrieve(
      locations,
      async skill =>
        await this.#withinTime(async signal => {
          const retrieved = this.#fetcher.retrieve?.(skill, { store, hasher, signal })
          return await untilAborted(signal, retrieved ?? Promise.resolve(skill))
        }),
      this.#closing.signal,
    )
  }

  /** Waits for a fetch that begins after this call. A running fetch may have begun before the request. */
  async #fetchAnew(context: SourceReadContext): Promise<void> {
    this.#isRequested = true
    try {
      if (this.#running !== undefined) await this.#wait(this.#running)
    } finally {
      this.#isRequested = false
    }
    await this.#wait(this.#start(context))
  }

  /**
   * Starts a fetch. The next scan uses the result of the fetch. If no scan waits for the fetch, a hint requests
   * one.
   */
  #start(context: SourceReadContext, isNews: boolean = false): Promise<void> {
    this.#firstFault = undefined
    this.#hasMoreNews = false
    const fetching = this.#withinTime(async signal => await this.#fetch(context, isNews, signal))
    this.#running = fetching.finally(() => {
      this.#running = undefined
      this.#hasNews = true
      if (!this.#isAwaited) this.#onHint?.({ area: '' })
      if (this.#hasMoreNews) this.#hear()
    })
    return this.#running
  }

  /** Fetches after news of the origin. A fetch that is about to begin anyway contains the news. */
  #hear(): void {
    this.#hasMoreNews = this.#running !== undefined
    const isAwaited = !this.#hasBegun || this.#isRequested || this.#running !== undefined
    if (isAwaited || this.#context === undefined || this.#stopNews === undefined) return
    void this.#start(this.#context, true)
  }

  /** Runs work on the network. The signal aborts after the timeout, and when the source is closed. */
  async #withinTime<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const abort = new AbortController()
    const { signal: closing } = this.#closing
    const onClose = (): void => abort.abort(closing.reason)
    closing.addEventListener('abort', onClose, { once: true })
    const timeoutMs = this.#options.timeoutMs ?? DEFAULT_FETCH_TIMEOUT_MS
    const cancelTimeout = this.#clock.after(timeoutMs, () =>
      abort.abort(new SkillError('IO_FAILED', `${this.origin} did not answer within ${timeoutMs} ms`)),
    )
    try {
      return await work(abort.signal)
    } finally {
      cancelTimeout()
      closing.removeEventListener('abort', onClose)
    }
  }

  async #fetch({ store, hasher }: SourceReadContext, isNews: boolean, signal: AbortSignal): Promise<void> {
    try {
      const known = this.#arrived ?? this.#withRetrieved(this.#tree)
      const result = await untilAborted(signal, this.#fetcher.fetch({ store, hasher, signal, known, isNews }))
      this.#arrived = result.tree ?? this.#arrived
      this.#notices = result.notices ?? []
      this.#listed.forgetFaults()
      this.#failure = undefined
      this.#isUnreachable = false
    } catch (thrown) {
      this.#isUnreachable = true
      this.#failure = { thrown: signal.aborted ? signal.reason : thrown }
    }
  }

  #withRetrieved(tree: FileTree | undefined): FileTree | undefined {
    return tree?.listed === undefined ? tree : { ...tree, listed: this.#listed.list() }
  }

  #take(tree: FileTree): void {
    this.#arrived = undefined
    this.#isNew = true
    this.#tree = tree
    this.#listed.replace(tree.listed ?? [])
    this.#refused = this.#files.replace(tree).map(path => ({
      code: 'FILE_SKIPPED',
      severity: 'warning',
      message: `the path ${quote(path)} leads outside its folder or collides with another; the file was left out`,
      path: this.origin,
      fix: 'remove or rename the file at its origin',
    }))
  }

  async #show(context: SourceReadContext, isStored: boolean): Promise<SourceReading> {
    if (this.#arrived !== undefined) this.#take(this.#arrived)
    const isNew = this.#isNew || this.#shownFrom === undefined
    this.#isNew = false
    if (this.#tree === undefined) return { contents: this.#combine(EMPTY_CONTENTS), settled: true, isStored }
    const depth = isNew ? 'full' : 'hinted'
    const { contents } = await this.#source.read({ ...context, depth, final: true })
    const entries = await this.#listed.read(context)
    return { contents: this.#combine(this.#merge(contents, entries)), settled: true, isStored }
  }

  /** Adds listed skills to the contents. If nothing changed since the last call, returns the same object. */
  #merge(contents: SourceContents, listed: readonly SourceEntry[]): SourceContents {
    if (listed.length === 0) return contents
    const before = this.#merged
    if (before?.from === contents && before.listed === listed) return before.contents
    const entries = [...contents.entries, ...listed].sort((a, b) => compareText(a.location, b.location))
    this.#merged = { from: contents, listed, contents: { entries, diagnostics: contents.diagnostics } }
    return this.#merged.contents
  }

  /**
   * Adds the diagnostics of the origin to the contents. If nothing changed since the last call, returns the same
   * object.
   */
  #combine(contents: SourceContents): SourceContents {
    const awaited: Diagnostic[] =
      this.#tree === undefined && this.#notices.length === 0
        ? [{ code: 'SOURCE_AWAITED', severity: 'info', message: `${this.origin} is being fetched` }]
        : []
    const fault = this.#firstFault === undefined ? [] : [this.#firstFault]
    const diagnostics = [...contents.diagnostics, ...this.#refused, ...this.#notices, ...fault, ...awaited]
    const isSame =
      contents === this.#shownFrom && JSON.stringify(diagnostics) === JSON.stringify(this.#shown.diagnostics)
    if (!isSame) this.#shown = Object.freeze({ entries: contents.entries, diagnostics })
    this.#shownFrom = contents
    return this.#shown
  }
}
