import { SkillError } from '../errors.ts'
import { type Clock, LATE, LONGEST_TIMER_MS, systemClock, untilAborted, waitAtMost } from '../host.ts'
import { checkOptions, type KnownOptions, number, oneOf } from '../options.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { LIMIT_OPTIONS, limitsOf, type SkillLimits } from '../skill/limits.ts'
import { READING_OPTIONS, type ReadingPolicy } from '../skill/reading-policy.ts'
import type { Skill } from '../skill/skill.ts'
import { type SourceTrust, TRUSTS } from '../skill/trust.ts'
import { type FileLayout, LAYOUT_OPTIONS, LayoutRules } from './file-layout.ts'
import { findLeftOut } from './find-left-out.ts'
import { findNotSkills, type SearchedFolders } from './find-not-skills.ts'
import { joinPath } from './mirror.ts'
import { KNOWN_QUERY, type NotSkillQuery, type NotSkills } from './not-skill.ts'
import { RemoteContents, type RemoteContentsOptions } from './remote-contents.ts'
import { NO_SETTLE, type SettlePolicy } from './settle.ts'
import { shareRuns } from './shared-run.ts'
import type {
  MarkReason,
  SkillSource,
  SourceReadContext,
  SourceReading,
  SourceState,
  SourceVersions,
  SourceWatch,
} from './skill-source.ts'
import { describeFailure } from './source-failure.ts'
import type { TreeFetcher } from './tree-fetcher.ts'
import { listFolder, readTreeFile } from './tree-skills.ts'

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

/** How the last fetch ended. `isRead`: whether a scan has shown its result or thrown its failure. */
type LastFetch =
  | { readonly outcome: 'none' }
  | { readonly outcome: 'reached'; readonly isRead: boolean }
  | { readonly outcome: 'failed'; readonly isRead: boolean; readonly thrown: unknown }
  /** The failed first fetch of a local origin. */
  | { readonly outcome: 'told'; readonly fault: Diagnostic }

/**
 * A source whose skills come from another machine. A start serves the stored copy immediately, even without a network.
 * A failed fetch changes nothing. A newer tree replaces the known tree as a whole.
 *
 * Fetches never overlap. A fetch that is requested while another one runs begins after it. `LastFetch` is how the last
 * fetch ended:
 *
 * ```text
 *            fetched                    scanned
 *   none --------------> reached, new ----------> reached, read --+
 *     |                                                           | the next fetch ends
 *     | failed                     the scan throws                v
 *     +------------> failed, new ----------> failed, read ---> reached or failed, new
 *                         |
 *                         | the first scan of a local origin with a stored copy
 *                         +----------> told, as a diagnostic
 * ```
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
    current: () => this.#contents.tree?.version,
    follows: async earlier => {
      const { tree } = this.#contents
      return tree === undefined || ((await this.#fetcher.follows?.(tree, earlier)) ?? true)
    },
    describeChange: async location => {
      const { tree } = this.#contents
      return tree === undefined ? undefined : await this.#fetcher.describeChange?.(tree, location)
    },
  }
  readonly #fetcher: TreeFetcher
  readonly #options: RemoteSourceOptions
  readonly #clock: Clock
  readonly #rules: RemoteContentsOptions
  readonly #contents: RemoteContents
  readonly #fetchNext = shareRuns(async () => await this.#fetch())
  #onHint: ((area: string) => void) | undefined
  #stopNews: (() => void) | undefined
  /** The context of the last scan; `undefined` before the stored copy is restored. */
  #context: SourceReadContext | undefined
  #last: LastFetch = { outcome: 'none' }
  #notices: readonly Diagnostic[] = []
  /** How many scans wait for the end of a fetch. If there are any, the end of a fetch sends no hint. */
  #waiting = 0
  /** Whether a scan requested the next fetch. Otherwise only news did. */
  #isAsked = false
  #closing = new AbortController()

  /** @throws {SkillError} INVALID_OPTION */
  constructor(fetcher: TreeFetcher, options: RemoteSourceOptions) {
    checkOptions('RemoteSource', options, KNOWN)
    const { label, origin, trust = 'review', reading = {} } = options
    if (label === '') throw new SkillError('INVALID_OPTION', 'label is empty; give the source a short name')
    this.#fetcher = fetcher
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.label = label
    this.origin = origin
    this.trust = trust
    this.reading = reading
    this.#rules = {
      ...{ label, origin, reading, symlinks: 'deny', nestedSkills: trust !== 'review' },
      layout: new LayoutRules(options.layout),
      limits: limitsOf(trust, options.limits),
      displayPath: path => (path === '' ? origin : `${origin}/${path}`),
    }
    this.#contents = new RemoteContents(this.#rules)
  }

  watch(onHint: (area: string) => void): SourceWatch {
    this.#onHint = onHint
    return { stop: () => (this.#onHint = undefined), hasHints: () => isUnread(this.#last) }
  }

  state(): SourceState {
    if (this.#options.polling === 'manual') return { mode: 'manual' }
    const sweepMs = this.#options.pollMs ?? DEFAULT_FETCH_POLL_MS
    return this.#fetcher.state?.() ?? { mode: 'polling', sweepMs }
  }

  async read(context: SourceReadContext): Promise<SourceReading> {
    const isFirst = this.#context === undefined
    if (this.#options.polling !== 'manual') this.#stopNews ??= this.#fetcher.watch?.(() => this.#hear())
    if (isFirst) await this.#restore(context)
    this.#context = context
    if (isFirst) {
      if (await this.#servesStored()) return await this.#show(context, true)
    } else if (context.depth !== 'hinted') await this.#fetchAnew()
    // An approved revision is served only from its files, because its list could show another frontmatter.
    if (this.trust === 'review')
      this.#contents.wantMissing(location => context.wasServed?.(location) === true, context.store)
    await this.#retrieve(context)
    const last = this.#last
    this.#last = toRead(last)
    if (last.outcome === 'failed' && !last.isRead) throw last.thrown
    return await this.#show(context, last.outcome === 'failed' || last.outcome === 'told')
  }

  mark(location: string, why: MarkReason): void {
    if (why === 'lost') this.#contents.want(location)
  }

  async findNotSkills(query: NotSkillQuery = {}): Promise<NotSkills> {
    checkOptions('findNotSkills()', query, KNOWN_QUERY)
    const { folders, shown, tree } = this.#contents
    const searched: SearchedFolders = {
      ...this.#rules,
      list: path => listFolder(folders, path),
      read: async (path, maxBytes) =>
        await readTreeFile(
          tree?.files.find(file => file.path === path),
          maxBytes,
        ),
      isFolder: () => false,
    }
    return await findNotSkills(searched, shown, query)
  }

  async findLeftOut(skill: Skill): Promise<readonly string[]> {
    const { path: folder } = this.#contents.find(skill.location) ?? {}
    if (folder === undefined) return []
    return await findLeftOut(skill, async path => listFolder(this.#contents.folders, joinPath(folder, path)))
  }

  async close(): Promise<void> {
    this.#closing.abort(new SkillError('CLOSED', 'the source is closed'))
    this.#stopNews?.()
    this.#stopNews = undefined
    await this.#fetchNext() // ends after the fetch that is running, and fetches nothing
    await this.#fetcher.close?.()
    this.#last = { outcome: 'none' }
    this.#closing = new AbortController()
  }

  async #restore({ store, hasher, signal }: SourceReadContext): Promise<void> {
    try {
      const tree = await this.#fetcher.restore({ store, hasher, signal, known: undefined })
      if (tree !== undefined) this.#contents.put(tree)
    } catch (thrown) {
      // An unreadable stored copy must not prevent a fetch.
      if (signal.aborted) throw thrown
    }
  }

  /** Starts the first fetch, if one is due. Returns whether the first scan serves the stored copy. */
  async #servesStored(): Promise<boolean> {
    const isStored = this.#contents.newest !== undefined
    const { polling, firstWaitMs = DEFAULT_FIRST_WAIT_MS } = this.#options
    if (isStored && polling === 'manual') {
      if (this.#fetcher.isLocal === true) await this.#fetchAnew()
      this.#last = toTold(this.#last, this.origin)
      return true
    }
    const fetching = this.#request()
    const waitMs = isStored ? (this.#fetcher.storedWaitMs ?? 0) : firstWaitMs
    const isLate = waitMs === 0 || (await this.#wait(waitAtMost(this.#clock, waitMs, fetching))) === LATE
    const isFailed = isStored && this.#last.outcome === 'failed'
    if (isFailed) this.#onHint?.('') // the next scan reports the failure
    return isLate || isFailed
  }

  /**
   * Retrieves the requested skills. If a skill cannot be retrieved, its list may be outdated, so the list is fetched again
   * before a second and last attempt.
   */
  async #retrieve(context: SourceReadContext): Promise<void> {
    const failed = await this.#tryRetrieve(this.#contents.takeWanted(), context)
    if (failed.length === 0) return
    await this.#fetchAnew()
    if (this.#last.outcome !== 'failed') await this.#tryRetrieve(failed, context)
  }

  async #tryRetrieve(
    locations: readonly string[],
    { store, hasher }: SourceReadContext,
  ): Promise<readonly string[]> {
    if (locations.length === 0) return []
    return await this.#contents.retrieve(
      locations,
      async skill =>
        await this.#withinTime(
          async signal => (await this.#fetcher.retrieve?.(skill, { store, hasher, signal })) ?? skill,
        ),
      this.#closing.signal,
    )
  }

  /** Requests a fetch that begins after this call. */
  async #request(): Promise<void> {
    this.#isAsked = true
    await this.#fetchNext()
  }

  async #fetchAnew(): Promise<void> {
    await this.#wait(this.#request())
  }

  async #wait<T>(work: Promise<T>): Promise<T> {
    this.#waiting++
    try {
      return await work
    } finally {
      this.#waiting--
    }
  }

  /** Fetches after news of the origin. A fetch that has not begun yet contains the news. */
  #hear(): void {
    if (this.#context !== undefined && this.#stopNews !== undefined) void this.#fetchNext()
  }

  /** Fetches once. The next scan uses the result. If no scan waits for the fetch, a hint requests one. */
  async #fetch(): Promise<void> {
    if (this.#context === undefined || this.#closing.signal.aborted) return
    const { store, hasher } = this.#context
    const isNews = !this.#isAsked
    this.#isAsked = false
    const contents = this.#contents
    try {
      const { tree, notices = [] } = await this.#withinTime(
        async signal => await this.#fetcher.fetch({ store, hasher, signal, known: contents.newest, isNews }),
      )
      if (tree !== undefined) contents.put(tree)
      contents.forgetFaults()
      this.#notices = notices
      this.#last = { outcome: 'reached', isRead: false }
    } catch (thrown) {
      this.#last = { outcome: 'failed', thrown, isRead: false }
    }
    if (this.#waiting === 0) this.#onHint?.('')
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
      return await untilAborted(abort.signal, work(abort.signal))
    } catch (thrown) {
      throw abort.signal.aborted ? abort.signal.reason : thrown
    } finally {
      cancelTimeout()
      closing.removeEventListener('abort', onClose)
    }
  }

  async #show(context: SourceReadContext, isStored: boolean): Promise<SourceReading> {
    const { newest } = this.#contents
    const notices = [...this.#notices]
    if (this.#last.outcome === 'told') notices.push(this.#last.fault)
    if (newest === undefined && this.#notices.length === 0)
      notices.push({ code: 'SOURCE_AWAITED', severity: 'info', message: `${this.origin} is being fetched` })
    return { contents: await this.#contents.read(context, notices), settled: true, isStored }
  }
}

/** Whether a fetch has ended since the last scan. */
function isUnread(last: LastFetch): last is Exclude<LastFetch, { readonly outcome: 'none' | 'told' }> {
  return (last.outcome === 'reached' || last.outcome === 'failed') && !last.isRead
}

function toRead(last: LastFetch): LastFetch {
  return isUnread(last) ? { ...last, isRead: true } : last
}

/** If a local origin cannot be read at the start, its stored copy is served with a diagnostic. */
function toTold(last: LastFetch, origin: string): LastFetch {
  if (last.outcome !== 'failed') return toRead(last)
  return { outcome: 'told', fault: describeFailure(origin, last.thrown) }
}
