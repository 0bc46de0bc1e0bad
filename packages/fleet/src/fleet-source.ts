import { type Diagnostic, type Digest, SkillError } from '@skillstoke/core'
import {
  checkOptions,
  type KnownOptions,
  Listeners,
  mapConcurrently,
  oneOf,
  toMessage,
} from '@skillstoke/core/internal'
import {
  type FetchContext,
  type FetchResult,
  type FileTree,
  type ListedSkill,
  RemoteSource,
  type RemoteSourceOptions,
  refuseTreeEntry,
  type SkillLimits,
  type SkillSource,
  type SkillStore,
  type SourceChange,
  type SourceState,
  type TreeFetcher,
} from '@skillstoke/core/source'
import { downloadFile } from './blobs.ts'
import { downloadOnce } from './download-once.ts'
import { type FeedState, type Head, listHeads } from './feed-state.ts'
import { FleetConnection, type FleetConnectionOptions } from './fleet-connection.ts'
import { checkChannel, DEFAULT_CHANNEL, parseHeadSubject, toAnnouncementSubject } from './fleet-subjects.ts'
import { HeadStorage, type ReplacedHead } from './head-storage.ts'
import { warn } from './host-warning.ts'
import type { Announcement, ManifestFile } from './manifest.ts'
import { findCompanions } from './publication-groups.ts'
import { RetryTimer } from './retries.ts'
import type { WaitingHead } from './waiting-heads.ts'

/** The values of `FleetRetrieval`. */
export const FLEET_RETRIEVALS = ['ahead', 'on-load'] as const

/** When the files of a skill are retrieved. */
export type FleetRetrieval = (typeof FLEET_RETRIEVALS)[number]

export interface FleetSourceOptions
  extends Pick<RemoteSourceOptions, 'trust' | 'reading' | 'polling' | 'timeoutMs' | 'firstWaitMs' | 'clock'> {
  /** The channel to follow. @default 'stable' */
  readonly channel?: string
  /** Lower limits than the default ones. Higher ones have no effect, because they are the same in the whole fleet. */
  readonly limits?: Partial<SkillLimits>
  /** Name of the source in digests and messages; the same on every machine. @default 'fleet' */
  readonly label?: string
  /**
   * When the files of a skill are retrieved. `ahead`: before a version becomes visible, so that every visible skill can
   * be loaded without the servers. `on-load`: when a skill is first loaded; skills that were loaded once are then
   * retrieved ahead.
   * @default 'ahead'
   */
  readonly retrieval?: FleetRetrieval
}

const KNOWN: KnownOptions<FleetSourceOptions> = {
  channel: true,
  label: true,
  retrieval: oneOf(FLEET_RETRIEVALS),
  trust: true,
  reading: true,
  limits: true,
  polling: true,
  timeoutMs: true,
  firstWaitMs: true,
  clock: true,
}

/** Interval of complete reads, besides the live messages. */
const SWEEP_MS = 300_000
/** How long a start waits for the servers although this machine has stored heads, which may be minutes old after a crash. */
const STORED_WAIT_MS = 3_000
/** Limit for one fetch. A server that does not answer is noticed sooner, so this is for slow connections. */
const TIMEOUT_MS = 300_000
/** How many skills are retrieved at the same time, and how many files of each. */
const AT_ONCE = 8
/**
 * Returns a source that follows one channel of a fleet. A published version is visible a few milliseconds later. Without
 * the servers, the last versions stay, also after a restart if the runtime has a state directory.
 *
 * Changes wait for approval by default. If the connection has trusted keys, the default is `trust: 'auto'`, because only
 * signed versions are accepted.
 * @param target URL of a server, options of a connection, or a connection that this process shares
 * @throws {SkillError} INVALID_OPTION
 *
 * @example
 * ```ts no-run
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { fleetSource } from '@skillstoke/fleet'
 *
 * await using skills = await createSkillRuntime({
 *   sources: [fleetSource('nats://127.0.0.1:4222', { trust: 'auto' })],
 * })
 * console.log(skills.current.list().map(skill => skill.name))
 * ```
 */
export function fleetSource(target: FleetTarget, options: FleetSourceOptions = {}): FleetSource {
  checkOptions('fleetSource()', options, KNOWN)
  const { channel = DEFAULT_CHANNEL, label = 'fleet', retrieval = 'ahead', ...remote } = options
  checkChannel(channel)
  return new FleetSource(new FleetFetcher(target, channel, retrieval), { ...remote, label })
}

/** A source that follows one channel of a fleet. `fleetSource()` creates it. */
export class FleetSource extends RemoteSource {
  readonly channel: string
  readonly #fetcher: FleetFetcher

  constructor(fetcher: FleetFetcher, options: Omit<RemoteSourceOptions, 'origin'>) {
    super(fetcher, {
      trust: fetcher.isSigned ? 'auto' : 'review',
      timeoutMs: TIMEOUT_MS,
      ...options,
      pollMs: SWEEP_MS,
      origin: fetcher.origin,
    })
    this.channel = fetcher.channel
    this.#fetcher = fetcher
  }

  /** The connection of the source. If the source opened the connection itself, it ends with the source. */
  get connection(): FleetConnection {
    return this.#fetcher.fleet
  }

  /** Calls back after the files of a coming publication have arrived. Returns a function that ends this. */
  onPrefetched(listener: () => void): () => void {
    return this.#fetcher.onPrefetched(listener)
  }
}

/**
 * Whether a source follows a fleet.
 *
 * @example
 * ```ts
 * import { directory } from '@skillstoke/core/node'
 * import { fleetSource, isFleetSource } from '@skillstoke/fleet'
 *
 * const sources = [directory('./skills'), fleetSource('nats://127.0.0.1:4222')]
 * console.log(sources.filter(isFleetSource).map(({ channel }) => channel)) // prints [ 'stable' ]
 * ```
 */
export function isFleetSource(source: SkillSource): source is FleetSource {
  return source instanceof FleetSource
}

/** A fleet to follow: the URL of a server, options of a connection, or a shared connection. */
type FleetTarget = string | FleetConnectionOptions | FleetConnection

/** A skill of the fleet, with its head. */
interface FleetSkill extends ListedSkill {
  readonly files: readonly ManifestFile[]
  readonly head: Head
}

type DownloadContext = Pick<FetchContext, 'store' | 'signal'>

/** A skill, or a coming publication. */
interface WithFiles {
  readonly files: readonly ManifestFile[]
}

/** Why files could not be retrieved. */
type Faults = ReadonlyMap<Digest, unknown>

/** A head whose files could not be retrieved. */
interface RetrievalFailure extends ReplacedHead {
  readonly notice: Diagnostic
}

class FleetFetcher implements TreeFetcher {
  readonly origin: string
  readonly #target: FleetTarget
  readonly channel: string
  readonly #retrieval: FleetRetrieval
  fleet: FleetConnection
  readonly storedWaitMs: number = STORED_WAIT_MS
  readonly #storage: HeadStorage
  /** Listed skills by name. An unchanged head keeps its object. */
  #listed = new Map<string, FleetSkill>()
  #shown: FeedState | undefined
  /** Whether a failed download keeps the stored state from being complete. */
  #isIncomplete = false
  readonly #retry: RetryTimer = new RetryTimer(() => this.#onNews?.())
  /** Whether the feed reads for this source. What it tells then, this source sees anyway. */
  #isReading = false
  #onNews: (() => void) | undefined
  readonly #prefetches = new Listeners(warn)
  /** Ends when all prefetches have ended, which run one after the other. Never rejects. */
  #prefetching: Promise<void> = Promise.resolve()
  /** The coming publication whose files this source has tried to retrieve last. */
  #prefetched: Announcement | undefined
  #closing = new AbortController()

  constructor(target: FleetTarget, channel: string, retrieval: FleetRetrieval) {
    this.#target = target
    this.channel = channel
    this.#retrieval = retrieval
    this.fleet = this.#openFleet()
    // Two users of one server may be in two accounts, which have different fleets.
    const { user, address } = this.fleet
    this.origin = `fleet:${user === undefined ? '' : `${user}@`}${address}/${channel}`
    this.#storage = new HeadStorage(this.origin)
  }

  get isSigned(): boolean {
    return this.fleet.trusted.isRequired
  }

  state(): SourceState {
    const { isConnected, stale } = this.fleet.feed
    if (isConnected && stale === undefined) return { mode: 'events', sweepMs: SWEEP_MS }
    return { mode: 'polling', sweepMs: SWEEP_MS, reason: stale?.reason ?? 'not connected yet' }
  }

  watch(onNews: () => void): () => void {
    this.#onNews = onNews
    const { feed } = this.fleet
    const stops = [
      feed.onNews(() => {
        if (!this.#isReading) onNews()
      }),
      feed.onRecovery(() => this.#retryDownloads()),
    ]
    return () => {
      for (const stop of stops) stop()
      this.#onNews = undefined
    }
  }

  onPrefetched(listener: () => void): () => void {
    return this.#prefetches.subscribe(listener)
  }

  async restore(context: FetchContext): Promise<FileTree | undefined> {
    const state = await this.#storage.restore(context, this.fleet.trusted)
    if (state === undefined) return undefined
    this.fleet.feed.resume(state)
    this.#shown = state
    for (const head of listHeads(state, this.channel)) this.#listed.set(head.skill, toListed(head))
    return this.#toTree(state)
  }

  async fetch(context: FetchContext): Promise<FetchResult> {
    const { feed } = this.fleet
    this.#isReading = true
    try {
      await (context.isNews === true ? feed.settle() : feed.reload())
    } finally {
      this.#isReading = false
    }
    if (feed.hasNews) this.#onNews?.() // it came while the feed was reading
    const { state } = feed
    const notices = [...state.refusals].flatMap(([subject, { reason }]) =>
      parseHeadSubject(subject)?.channel === this.channel
        ? [refuseTreeEntry(this.origin, `${subject}: ${reason}`, state.heads.has(subject))]
        : [],
    )
    const hindrance = state.awaited.has(this.channel)
      ? describeAwaited(this.channel)
      : describeWaiting(
          [...feed.waiting.values()].filter(({ document }) => document.channel === this.channel),
        )
    if (hindrance !== undefined) notices.push(refuseTreeEntry(this.origin, hindrance, true))
    const failures = await this.#list(state, context)
    notices.push(...failures.map(({ notice }) => notice))
    if (failures.length > 0) this.#retry.noteFailure()
    else this.#retry.cancel()
    const isIncomplete = failures.length > 0
    if (state.heads !== this.#shown?.heads || isIncomplete || this.#isIncomplete)
      this.#storage.storeSoon({ state, replaced: failures, context })
    this.#isIncomplete = isIncomplete
    this.#shown = state
    this.#prefetching = this.#prefetching.then(async () => await this.#prefetch(state, context))
    const tree = this.#toTree(state)
    return isSameList(tree.listed, context.known?.listed) ? { notices } : { tree, notices }
  }

  async retrieve(skill: ListedSkill, context: Omit<FetchContext, 'known'>): Promise<ListedSkill> {
    const [failure] = (await this.#download([skill], context)).values()
    if (failure !== undefined) throw failure
    return skill
  }

  async describeChange(tree: FileTree, location: string): Promise<SourceChange | undefined> {
    const skill = tree.listed?.find(each => each.location === location) as FleetSkill | undefined
    if (skill === undefined) return undefined
    const { publisher, version, note } = skill.head.manifest
    return {
      author: { kind: 'commit', name: publisher },
      cause: 'fetch',
      note: `version ${version}${note === undefined ? '' : `: ${note}`}`,
    }
  }

  async close(): Promise<void> {
    this.#retry.cancel()
    this.#shown = undefined
    this.#closing.abort(new SkillError('CLOSED', 'the source is closed'))
    await this.#prefetching
    this.#closing = new AbortController()
    await this.#storage.settle()
    if (this.#target instanceof FleetConnection) return
    const { state } = this.fleet.feed
    await this.fleet.close()
    this.fleet = this.#openFleet()
    this.fleet.feed.resume(state) // the next use of this source must not go back
  }

  #openFleet(): FleetConnection {
    const target = this.#target
    if (target instanceof FleetConnection) return target
    return new FleetConnection(typeof target === 'string' ? { servers: target } : target)
  }

  /**
   * Lists the heads, and retrieves the files that are due. If the files of a head cannot be retrieved, the earlier
   * version stays. Returns the failures.
   */
  async #list(state: FeedState, context: FetchContext): Promise<readonly RetrievalFailure[]> {
    const { store } = context
    const earlier = this.#listed
    const skills = listHeads(state, this.channel).map(head => {
      const before = earlier.get(head.skill)
      return before?.head.data === head.data ? before : toListed(head)
    })
    // With `on-load`, a skill that was loaded before is retrieved before its next version is visible.
    const isDue = (skill: FleetSkill): boolean =>
      this.#retrieval === 'ahead' || isRetrieved(earlier.get(skill.location), store)
    const due = skills.filter(skill => !isRetrieved(skill, store) && isDue(skill))
    const faults = await this.#downloadOnce(due, context)
    const reasons = new Map<Head, string>()
    for (const skill of due) {
      const fault = skill.files.find(({ digest }) => faults.has(digest))
      if (fault !== undefined) reasons.set(skill.head, toMessage(faults.get(fault.digest)))
    }
    const findBefore = ({ skill }: Head): Head | undefined => earlier.get(skill)?.head
    const unserved = skills.map(({ head }) => head).filter(head => findBefore(head)?.data !== head.data)
    for (const { head, cause } of findCompanions(unserved, [...reasons.keys()], findBefore))
      reasons.set(head, `its publication waits for ${cause.skill}`)
    const listed = skills.flatMap(skill =>
      reasons.has(skill.head) ? (earlier.get(skill.location) ?? []) : skill,
    )
    this.#listed = new Map(listed.map(skill => [skill.location, skill]))
    return [...reasons].map(([head, reason]) => {
      const before = findBefore(head)
      const message = `${head.channel}/${head.skill}: ${reason}`
      return { head, before, notice: refuseTreeEntry(this.origin, message, before !== undefined) }
    })
  }

  /** Ends the pauses after failed downloads. */
  #retryDownloads(): void {
    if (!this.#isIncomplete) return
    this.#retry.cancel()
    this.#onNews?.()
  }

  /** Retrieves the files of a coming publication, besides the versions that are served. */
  async #prefetch({ announcements }: FeedState, { store }: FetchContext): Promise<void> {
    const announcement = announcements.get(toAnnouncementSubject(this.channel))
    if (announcement === undefined || announcement === this.#prefetched) return
    this.#prefetched = announcement
    const { signal } = this.#closing
    try {
      // After a failure, the publisher repeats the announcement, and in the end names this agent.
      const faults = await this.#downloadOnce([announcement], { store, signal })
      if (faults.size === 0) this.#prefetches.tell()
    } catch {
      // The source is closed.
    }
  }

  async #downloadOnce(wanted: readonly WithFiles[], context: DownloadContext): Promise<Faults> {
    const files = wanted.flatMap(each => each.files)
    const countMissing = (): number => listMissing(files, context.store).length
    const work = async (): Promise<Faults> => await this.#download(wanted, context)
    return await downloadOnce(context.store, this.origin, countMissing, work)
  }

  /**
   * Retrieves the files that the store does not have. The first failure of a skill ends the downloads of its files. Returns
   * why files could not be retrieved.
   */
  async #download(wanted: readonly WithFiles[], { store, signal }: DownloadContext): Promise<Faults> {
    const faults = new Map<Digest, unknown>()
    const begun = new Set<Digest>()
    // Each file is stored as it arrives, so that an attempt that is interrupted has not to begin again.
    const download = async (file: ManifestFile): Promise<void> =>
      store.put(file.digest, await downloadFile(await this.fleet.open(), file, signal))
    const downloadAll = async ({ files }: WithFiles): Promise<void> => {
      // Skills may have files in common.
      const missing = listMissing(files, store).filter(({ digest }) => !begun.has(digest))
      for (const { digest } of missing) begun.add(digest)
      try {
        await mapConcurrently(missing, download, AT_ONCE, signal)
      } catch (thrown) {
        signal.throwIfAborted()
        for (const { digest } of listMissing(missing, store)) faults.set(digest, thrown)
      }
    }
    await mapConcurrently(wanted, downloadAll, AT_ONCE, signal)
    return faults
  }

  #toTree({ epoch, seq }: FeedState): FileTree {
    const listed = [...this.#listed.values()].sort((a, b) => (a.location < b.location ? -1 : 1))
    return { version: `${epoch?.document.id}-${epoch?.document.epoch}-${seq}`, files: [], listed }
  }
}

/** What an agent reports while it waits for the list of its channel. */
export function describeAwaited(channel: string): string {
  return `the fleet has a new epoch, which is not filled: the channel ${channel} keeps its skills until "stoke fleet publish DIR --mirror" or "stoke fleet init --from DIR" says what it has`
}

function describeWaiting([first, ...others]: readonly WaitingHead[]): string | undefined {
  if (first === undefined) return undefined
  const { channel, skill } = first.document
  const skills =
    others.length === 0
      ? `${channel}/${skill} waits`
      : `${others.length + 1} skills, for example ${channel}/${skill}, wait`
  return `${skills} for the rest of the publication; publish again if its publisher has ended`
}

function toListed(head: Head): FleetSkill {
  const { skillFile, frontmatter, files } = head.manifest
  return { location: head.skill, skillFile, frontmatter, files, head }
}

function isSameList(listed: readonly ListedSkill[] = [], known: readonly ListedSkill[] | undefined): boolean {
  return known?.length === listed.length && listed.every((skill, index) => skill === known[index])
}

function listMissing(files: readonly ManifestFile[], store: SkillStore): readonly ManifestFile[] {
  return files.filter(({ digest }) => !store.has(digest))
}

function isRetrieved(skill: ListedSkill | undefined, store: SkillStore): boolean {
  return skill?.files.every(({ digest }) => store.has(digest)) === true
}
