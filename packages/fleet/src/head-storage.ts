import { decodeText, decodeUnmarkedText, digestOf, toMessage } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import {
  type FetchContext,
  type FetchedFile,
  type FileTree,
  restoreTree,
  storeTree,
  type TreeFile,
} from '@skillstoke/core/source'
import {
  type FeedState,
  type Head,
  isOfEpoch,
  newestSeq,
  type OtherSubject,
  type Place,
  type Refusal,
  tryReadEpoch,
} from './feed-state.ts'
import { parseHeadSubject, toHeadSubject } from './fleet-subjects.ts'
import { type FleetEpoch, readVersionAt } from './manifest.ts'
import { NEVER } from './retries.ts'
import type { TrustedKeys } from './signing.ts'

/** How often heads are stored again that another process has overwritten with earlier ones. */
const STORE_ATTEMPTS = 5
/** How many times longer than the storing of heads the pause after it is. */
const STORE_PAUSE = 20
const LONGEST_PAUSE_MS = 1_000
/** Name of the stored file with what changes at each publication, and with the position of the heads in the stream. */
const STREAM_FILE = 'stream.json'

type StoreContext = Pick<FetchContext, 'store' | 'hasher'>

/** Where stored heads are in the stream. */
interface StoredPosition {
  readonly id: string | undefined
  readonly epoch: number
  readonly seq: number
}

/** What is stored soon. */
interface Unstored {
  readonly state: FeedState
  readonly replaced: readonly ReplacedHead[]
  readonly context: StoreContext
}

/** Stores the heads of a source for the next process. */
export class HeadStorage {
  readonly #origin: string
  #unstored: Unstored | undefined
  #timer: NodeJS.Timeout | undefined
  /** Ends when everything is stored. Never rejects. */
  #storing: Promise<void> = Promise.resolve()

  constructor(origin: string) {
    this.#origin = origin
  }

  /** Returns the state that an earlier process stored. Returns `undefined` if not even its epoch is trusted. */
  async restore(context: StoreContext, trusted: TrustedKeys): Promise<FeedState | undefined> {
    const tree = await restoreTree(this.#origin, context)
    const stream = await readStream(tree)
    if (tree === undefined || stream === undefined) return undefined
    const files = tree.files.filter(({ path }) => path !== STREAM_FILE).map(parseFile)
    const stored = ((await Promise.all(files)) as (readonly StoredSubject[])[]).flat()
    const removed = stored.filter(each => 'version' in each)
    const heads = stored.filter(each => 'text' in each)
    return fromStoredHeads({ ...stream, heads, others: [...stream.others, ...removed] }, trusted)
  }

  /** Stores heads at once, but spends little of the time on it: the pause after it is 20 times longer, up to a second. */
  storeSoon(unstored: Unstored): void {
    this.#unstored = unstored
    if (this.#timer !== undefined) return
    const startedAt = performance.now()
    this.#storing = this.#storing.then(async () => {
      await this.#store()
      const pauseMs = Math.min(LONGEST_PAUSE_MS, (performance.now() - startedAt) * STORE_PAUSE)
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        if (this.#unstored !== undefined) this.storeSoon(this.#unstored)
      }, pauseMs).unref()
    })
  }

  /** Resolves when everything is stored. */
  async settle(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#storing
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.#store()
  }

  async #store(): Promise<void> {
    if (this.#unstored === undefined) return
    const { state, replaced, context } = this.#unstored
    this.#unstored = undefined
    const position = positionOf(state)
    const files = splitHeads(toStoredHeads(state, replaced), position)
    try {
      // Another process with the same state directory may be further, or may store at the same moment.
      for (let attempt = 0; attempt < STORE_ATTEMPTS; attempt++) {
        const stored = (await readStream(await restoreTree(this.#origin, context)))?.position
        const lead = stored === undefined || stored.id !== position.id ? -1 : leadOf(stored, position)
        if (lead > 0 || (lead === 0 && attempt > 0)) return
        storeTree(this.#origin, files, context)
        await context.store.flush()
      }
    } catch {
      // The state was closed before the source, or its disk is full. The next process reads the heads from the servers.
    }
  }
}

type StoredSubject = StoredHeads['heads' | 'others'][number]

interface StoredStream extends Omit<StoredHeads, 'heads'> {
  readonly position: StoredPosition
}

async function readStream(tree: FileTree | undefined): Promise<StoredStream | undefined> {
  const file = tree?.files.find(({ path }) => path === STREAM_FILE)
  return file === undefined ? undefined : ((await parseFile(file)) as StoredStream)
}

/**
 * Splits heads and removals into files by a digest of their subjects. The store keeps equal files once, so a publication of
 * one skill stores a small part of all heads.
 */
function splitHeads({ heads, others, ...stream }: StoredHeads, position: StoredPosition): FetchedFile[] {
  const stored: StoredSubject[] = [...heads, ...others]
  stored.sort((a, b) => (a.subject < b.subject ? -1 : 1))
  const isHead = ({ subject }: StoredSubject): boolean => parseHeadSubject(subject) !== undefined
  const parts = Map.groupBy(stored.filter(isHead), ({ subject }) => {
    const hex = digestOf(subject, nodeHasher).slice('sha256:'.length)
    return `heads/${hex.slice(0, 2)}.json`
  })
  const file = { ...stream, position, others: others.filter(each => !isHead(each)) }
  return [toFile(STREAM_FILE, file), ...[...parts].map(([path, part]) => toFile(path, part))]
}

function toFile(path: string, value: object): FetchedFile {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  return { path, kind: 'file', bytes, isExecutable: false }
}

async function parseFile(file: TreeFile): Promise<unknown> {
  return JSON.parse(decodeText(await file.read(NEVER)) ?? '')
}

function positionOf(state: FeedState): StoredPosition {
  const { id, epoch = 0 } = state.epoch?.document ?? {}
  return { id, epoch, seq: newestSeq(state) }
}

/** How far a position is before another one of the same fleet: 0 if both are the same. */
function leadOf(a: StoredPosition, b: StoredPosition): number {
  return a.epoch - b.epoch || a.seq - b.seq
}

/** Heads that a process stores for the next one. */
export interface StoredHeads {
  /** The document of the epoch. */
  readonly epoch: string
  readonly seq: number
  readonly heads: readonly (Place & { readonly subject: string; readonly text: string })[]
  readonly others: readonly (OtherSubject & { readonly subject: string })[]
}

/** A head whose files could not be retrieved, and the earlier head that is served instead. */
export interface ReplacedHead {
  readonly head: Head
  readonly before: Head | undefined
}

/**
 * Returns a state in the form in which it is stored. After a replaced or refused head, the next process reads all heads
 * again, because it may reach the files or have other keys.
 */
export function toStoredHeads(state: FeedState, replaced: readonly ReplacedHead[]): StoredHeads {
  const heads = new Map(state.heads)
  for (const { head, before } of replaced) {
    const subject = toHeadSubject(head)
    if (before === undefined) heads.delete(subject)
    else heads.set(subject, before)
  }
  const isComplete = replaced.length === 0 && state.isComplete
  return {
    epoch: state.epoch === undefined ? '' : decodeUnmarkedText(state.epoch.data),
    seq: isComplete ? state.seq : 0,
    heads: [...heads].map(([subject, { seq, at, data }]) => ({
      subject,
      seq,
      at,
      text: decodeUnmarkedText(data),
    })),
    others: [...state.others].map(([subject, other]) => ({ subject, ...other })),
  }
}

/**
 * Reads stored heads. Heads that no trusted key has signed are refused again. Returns `undefined` if not even the epoch is
 * trusted, because the heads then belong to another fleet.
 */
export function fromStoredHeads(
  { epoch, seq, heads, others }: StoredHeads,
  trusted: TrustedKeys,
): FeedState | undefined {
  const epochData = new TextEncoder().encode(epoch)
  const document = tryReadEpoch(epochData, trusted)
  if (document === undefined) return undefined
  const served = new Map<string, Head>()
  const refusals = new Map<string, Refusal>()
  for (const { subject, text, ...place } of heads) {
    const data = new TextEncoder().encode(text)
    try {
      const manifest = readVersionAt(data, trusted, parseHeadSubject(subject))
      const { channel, skill, kind } = manifest
      if (kind === 'skill') served.set(subject, { channel, skill, ...place, manifest, data })
    } catch (thrown) {
      refusals.set(subject, { ...place, reason: toMessage(thrown) })
    }
  }
  return {
    epoch: { document, data: epochData },
    seq: refusals.size === 0 ? seq : 0,
    heads: served,
    refusals,
    announcements: new Map(),
    others: new Map(others.map(({ subject, ...other }) => [subject, other])),
    awaited: listAwaited(document, served.values()),
    isRetaining: [...served.values()].some(head => head.seq === 0),
    isComplete: refusals.size === 0 && seq > 0,
  }
}

/** Returns the channels whose heads belong to an earlier epoch and are not in the stream. */
function listAwaited(document: FleetEpoch, heads: Iterable<Head>): ReadonlySet<string> {
  const awaited = [...heads].filter(({ seq, manifest }) => seq === 0 && !isOfEpoch(manifest, document))
  return new Set(awaited.map(({ channel }) => channel))
}
