import { decodeText, digestOf } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import {
  type FetchContext,
  type FetchedFile,
  restoreTree,
  storeTree,
  type TreeFile,
} from '@skillstoke/core/source'
import { type FeedState, newestSeq } from './feed-state.ts'
import { parseHeadSubject } from './fleet-subjects.ts'
import { type ReplacedHead, type StoredHeads, toStoredHeads } from './stored-heads.ts'

/** How often heads are stored again that another process has overwritten with earlier ones. */
const STORE_ATTEMPTS = 5
/** How many times longer than the storing of heads the pause after it is. */
const STORE_PAUSE = 20
const LONGEST_PAUSE_MS = 1_000
/** Name of the stored file with the position of the heads in the stream. */
const POSITION_FILE = 'position.json'
/** Name of the stored file with what changes at each publication. */
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

  /** Returns what an earlier process stored. */
  async restore(context: StoreContext): Promise<StoredHeads | undefined> {
    const tree = await restoreTree(this.#origin, context)
    const parts: StoredPart[] = []
    let stream: Pick<StoredHeads, 'epoch' | 'seq'> | undefined
    for (const file of tree?.files ?? []) {
      if (file.path === POSITION_FILE) continue
      const part = (await parseFile(file)) as StoredPart & Pick<StoredHeads, 'epoch' | 'seq'>
      if (file.path === STREAM_FILE) stream = part
      parts.push(part)
    }
    if (stream === undefined) return undefined
    const { epoch, seq } = stream
    return {
      epoch,
      seq,
      heads: parts.flatMap(({ heads }) => heads),
      others: parts.flatMap(({ others }) => others),
    }
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
    const files = [toFile(POSITION_FILE, position), ...splitHeads(toStoredHeads(state, replaced))]
    try {
      // Another process with the same state directory may be further, or may store at the same moment.
      for (let attempt = 0; attempt < STORE_ATTEMPTS; attempt++) {
        const stored = await this.#readPosition(context)
        if (stored !== undefined && isBefore(position, stored)) return
        const isOurs = stored !== undefined && stored.id === position.id && !isBefore(stored, position)
        if (isOurs && attempt > 0) return
        storeTree(this.#origin, files, context)
        await context.store.flush()
      }
    } catch {
      // The state was closed before the source, or its disk is full. The next process reads the heads from the servers.
    }
  }

  async #readPosition(context: StoreContext): Promise<StoredPosition | undefined> {
    const tree = await restoreTree(this.#origin, context)
    const file = tree?.files.find(({ path }) => path === POSITION_FILE)
    return file === undefined ? undefined : ((await parseFile(file)) as StoredPosition)
  }
}

type StoredPart = Pick<StoredHeads, 'heads' | 'others'>

/**
 * Splits heads into files by a digest of their subjects. The store keeps equal files once, so a publication of one skill
 * stores a small part of all heads.
 */
function splitHeads({ epoch, seq, heads, others }: StoredHeads): readonly FetchedFile[] {
  const parts = new Map<string, { readonly heads: object[]; readonly others: object[] }>()
  const partOf = (subject: string): { readonly heads: object[]; readonly others: object[] } => {
    const isHead = parseHeadSubject(subject) !== undefined
    const path = isHead
      ? `heads/${digestOf(subject, nodeHasher).slice('sha256:'.length).slice(0, 2)}.json`
      : STREAM_FILE
    const known = parts.get(path) ?? { heads: [], others: [] }
    parts.set(path, known)
    return known
  }
  const bySubject = (a: { readonly subject: string }, b: { readonly subject: string }): number =>
    a.subject < b.subject ? -1 : 1
  for (const head of [...heads].sort(bySubject)) partOf(head.subject).heads.push(head)
  for (const other of [...others].sort(bySubject)) partOf(other.subject).others.push(other)
  const stream = { epoch, seq, ...(parts.get(STREAM_FILE) ?? { heads: [], others: [] }) }
  parts.set(STREAM_FILE, stream)
  return [...parts].map(([path, part]) => toFile(path, part))
}

function toFile(path: string, value: object): FetchedFile {
  const bytes = new TextEncoder().encode(JSON.stringify(value))
  return { path, kind: 'file', bytes, isExecutable: false }
}

async function parseFile(file: TreeFile): Promise<unknown> {
  return JSON.parse(decodeText(await file.read(new AbortController().signal)) ?? '')
}

function positionOf(state: FeedState): StoredPosition {
  const { id, epoch = 0 } = state.epoch?.document ?? {}
  return { id, epoch, seq: newestSeq(state) }
}

/** Whether a position is before another one of the same fleet. */
function isBefore(a: StoredPosition, b: StoredPosition): boolean {
  return a.id === b.id && (a.epoch < b.epoch || (a.epoch === b.epoch && a.seq < b.seq))
}
