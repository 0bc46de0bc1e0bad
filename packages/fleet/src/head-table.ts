import { SkillError } from '@skillstoke/core'
import { decodeUnmarkedText, toMessage } from '@skillstoke/core/internal'
import { EPOCH_SUBJECT, type HeadPlace, parseHeadSubject, toHeadSubject } from './fleet-subjects.ts'
import { type FleetEpoch, readDocument, type SkillRemoval, type SkillVersion } from './manifest.ts'
import type { StoredMessage } from './nats-messages.ts'
import { TrustedKeys } from './signing.ts'

const encoder = new TextEncoder()
const NO_KEYS = new TrustedKeys([])

/** The newest message of a subject. */
interface Place {
  /** Sequence in the stream. */
  readonly seq: number
  /** Wall time of the server when it stored the message, in milliseconds since the epoch; 0 if it is unknown. */
  readonly at: number
}

/** The newest version of a skill in a channel. */
export interface Head extends HeadPlace, Place {
  readonly manifest: SkillVersion
  /** The stored document, with its signatures. */
  readonly data: Uint8Array
}

/** A subject without a head: a marker, the beat, or a document that was refused and replaced none. */
export interface OtherSubject extends Place {
  /** The version that the skill had last; 0 without a version. */
  readonly version: number
}

/** A document that was refused. The earlier head of its subject stays. */
export interface Refusal extends Place {
  readonly reason: string
}

/** The epoch that a table belongs to. */
export interface KnownEpoch {
  readonly document: FleetEpoch
  /** The stored document, with its signatures. */
  readonly data: Uint8Array
}

/** All heads at one sequence. Immutable. */
export interface FeedState {
  /** The epoch; `undefined` before the first read. */
  readonly epoch: KnownEpoch | undefined
  readonly seq: number
  /** Heads by subject. */
  readonly heads: ReadonlyMap<string, Head>
  /** Refused documents by subject. */
  readonly refusals: ReadonlyMap<string, Refusal>
  /** All other subjects of the stream. */
  readonly others: ReadonlyMap<string, OtherSubject>
}

/** Heads that a process stores for the next one. */
export interface StoredHeads {
  /** The document of the epoch. */
  readonly epoch: string
  readonly seq: number
  readonly heads: readonly (Place & { readonly subject: string; readonly text: string })[]
  readonly others: readonly (OtherSubject & { readonly subject: string })[]
}

/** The highest sequence that a state contains. A state that must be read again has the sequence 0. */
export function newestSeq({ seq, heads, others }: FeedState): number {
  let newest = seq
  for (const place of [...heads.values(), ...others.values()]) newest = Math.max(newest, place.seq)
  return newest
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
  const isComplete = replaced.length === 0 && state.refusals.size === 0
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
  const known = tryReadEpoch(encoder.encode(epoch), trusted)
  if (known === undefined) return undefined
  const table = new HeadTable(trusted)
  table.resume({
    epoch: known,
    seq: 0,
    heads: new Map(),
    refusals: new Map(),
    others: new Map(others.map(({ subject, ...other }) => [subject, other])),
  })
  const messages = heads.map(({ text, ...head }) => ({
    ...head,
    data: encoder.encode(text),
    isMarker: false,
  }))
  for (const message of messages.sort((a, b) => a.seq - b.seq)) table.apply(message)
  table.publish({ isForced: true })
  return { ...table.state, seq: table.state.refusals.size === 0 ? seq : 0 }
}

/** Returns the epoch in a document. Returns `undefined` if the document is not valid or not trusted. */
export function tryReadEpoch(data: Uint8Array, trusted: TrustedKeys): KnownEpoch | undefined {
  try {
    const document = readDocument(data, trusted)
    return document.kind === 'epoch' ? { document, data } : undefined
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return undefined
    throw thrown
  }
}

/**
 * The heads that a feed knows. Applies messages in the order of the stream. Within an epoch, the version of a skill never
 * falls, and a refused head leaves the earlier one in place.
 */
export class HeadTable {
  readonly #trusted: TrustedKeys
  #epoch: KnownEpoch | undefined
  #seq = 0
  #heads = new Map<string, Head>()
  #others = new Map<string, OtherSubject>()
  #refusals = new Map<string, Refusal>()
  /** Heads from before a snapshot that is being read. */
  #before: ReadonlyMap<string, Head> | undefined
  /** Whether the rest of a batch must follow. */
  #isPartial = false
  /** A message with another epoch. What follows it belongs to that epoch. */
  #newEpoch: StoredMessage | undefined
  #state: FeedState = {
    epoch: undefined,
    seq: 0,
    heads: new Map(),
    refusals: new Map(),
    others: new Map(),
  }
  #isChanged = false
  /** Whether the published state has the same map of other subjects. */
  #isShared = false

  constructor(trusted: TrustedKeys) {
    this.#trusted = trusted
  }

  get state(): FeedState {
    return this.#state
  }

  get epoch(): FleetEpoch | undefined {
    return this.#epoch?.document
  }

  /** The message with a newer epoch than that of the table. The table accepts nothing until a snapshot replaces it. */
  get newEpoch(): StoredMessage | undefined {
    return this.#newEpoch
  }

  /** Reads the message with the newer epoch again, because another one may have replaced it. */
  forgetNewEpoch(): void {
    this.#newEpoch = undefined
  }

  get seq(): number {
    return this.#seq
  }

  get subjectCount(): number {
    return new Set([...this.#heads.keys(), ...this.#others.keys()]).size
  }

  /**
   * Whether a message is newer than the known message of its subject, but has no higher sequence than the table. The
   * stream was then created again or restored.
   */
  isBehind({ subject, seq, at }: StoredMessage): boolean {
    if (seq > this.#seq) return false
    const known = this.#refusals.get(subject) ?? this.#heads.get(subject) ?? this.#others.get(subject)
    return known === undefined || (seq !== known.seq && at > known.at)
  }

  /** Continues from a state that an earlier process stored. */
  resume(state: FeedState): void {
    this.#epoch = state.epoch
    this.#seq = state.seq
    this.#heads = new Map(state.heads)
    this.#others = new Map(state.others)
    this.#refusals = new Map(state.refusals)
    this.#state = state
    this.#isShared = false
  }

  /**
   * Returns an empty table for a complete reading of the stream. What the stream does not contain is gone. Within an epoch,
   * versions do not fall there either, and a refused head leaves the earlier one in place.
   */
  startSnapshot(epoch: KnownEpoch): HeadTable {
    const snapshot = new HeadTable(this.#trusted)
    snapshot.#epoch = epoch
    snapshot.#isChanged = true
    if (this.isEpoch(epoch.document)) snapshot.#before = this.#heads
    return snapshot
  }

  /** Whether the table belongs to an epoch. */
  isEpoch({ id, epoch }: FleetEpoch): boolean {
    return this.#epoch?.document.id === id && this.#epoch.document.epoch === epoch
  }

  /** Applies the next message. */
  apply(message: StoredMessage): void {
    if (message.seq <= this.#seq || this.#newEpoch !== undefined) return
    if (message.subject === EPOCH_SUBJECT && !isSameData(message.data, this.#epoch?.data)) {
      this.#newEpoch = message
      return
    }
    this.#seq = message.seq
    if (this.#applyHead(message)) this.#isChanged = true
  }

  /**
   * Makes the applied messages visible. Returns false, and changes nothing, while the rest of a batch must follow.
   * `isForced`: publishes an incomplete batch too, if the rest does not come.
   */
  publish({ isForced = false }: { readonly isForced?: boolean } = {}): boolean {
    if (this.#isPartial && !isForced) return false
    this.#isPartial = false
    this.#before = undefined
    this.#state = {
      epoch: this.#epoch,
      seq: this.#seq,
      heads: this.#isChanged ? new Map(this.#heads) : this.#state.heads,
      refusals: this.#isChanged ? new Map(this.#refusals) : this.#state.refusals,
      others: this.#others,
    }
    this.#isChanged = false
    this.#isShared = true
    return true
  }

  /** Returns whether a head changed or was refused. */
  #applyHead(message: StoredMessage): boolean {
    const { subject, seq, at, data } = message
    const place = parseHeadSubject(subject)
    this.#isPartial = false
    if (place === undefined) {
      this.#ownOthers().set(subject, { seq, at, version: 0 })
      return false
    }
    const known = this.#heads.get(subject) ?? this.#before?.get(subject)
    const least = Math.max(known?.manifest.version ?? 0, this.#others.get(subject)?.version ?? 0)
    const isEmptyMarker = message.isMarker && data.length === 0
    // A marker without a document is the end of an expired removal. Without pinned keys it may also be a removal that
    // another program wrote.
    if (isEmptyMarker && (known === undefined || !this.#trusted.isRequired))
      return this.#remove(subject, { seq, at, version: least })
    try {
      const document = readDocument(data, this.#trusted)
      if (document.kind === 'epoch') throw new Error('it is an epoch')
      if (document.skill !== place.skill || document.channel !== place.channel)
        throw new Error(`it belongs to ${document.channel}/${document.skill}`)
      if (document.version < least) throw new Error(`its version ${document.version} is older than ${least}`)
      this.#isPartial = hasFollower(document)
      if (document.kind === 'removal') return this.#remove(subject, { seq, at, version: document.version })
      this.#refusals.delete(subject)
      if (this.#others.has(subject)) this.#ownOthers().delete(subject)
      this.#heads.set(subject, { ...place, seq, at, manifest: document, data })
    } catch (thrown) {
      // Also a refused member of a batch is followed by the others.
      this.#isPartial = hasUntrustedFollower(data)
      this.#refusals.set(subject, { seq, at, reason: toMessage(thrown) })
      if (known === undefined) this.#ownOthers().set(subject, { seq, at, version: least })
      else this.#heads.set(subject, known)
    }
    return true
  }

  /** Returns whether something was removed. */
  #remove(subject: string, other: OtherSubject): boolean {
    const wasRefused = this.#refusals.delete(subject)
    const wasThere = this.#heads.delete(subject) || this.#before?.has(subject) === true
    this.#ownOthers().set(subject, other)
    return wasRefused || wasThere
  }

  /** Returns the other subjects to change. A published state keeps its own map. */
  #ownOthers(): Map<string, OtherSubject> {
    if (this.#isShared) this.#others = new Map(this.#others)
    this.#isShared = false
    return this.#others
  }
}

function isSameData(a: Uint8Array, b: Uint8Array | undefined): boolean {
  return b !== undefined && Buffer.compare(a, b) === 0
}

/** Whether other members of an atomic batch follow a document. */
function hasFollower({ batch }: SkillVersion | SkillRemoval): boolean {
  return batch !== undefined && batch.index < batch.count - 1
}

function hasUntrustedFollower(data: Uint8Array): boolean {
  try {
    const document = readDocument(data, NO_KEYS)
    return document.kind !== 'epoch' && hasFollower(document)
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return false
    throw thrown
  }
}
