import { decodeUnmarkedText, toMessage } from '@skillstoke/core/internal'
import { EPOCH_SUBJECT, type HeadPlace, parseHeadSubject } from './fleet-subjects.ts'
import { readDocument, type SkillVersion } from './manifest.ts'
import type { StoredMessage } from './nats-engine.ts'
import type { TrustedKeys } from './signing.ts'

/** The newest version of a skill in a channel. */
export interface Head extends HeadPlace {
  /** Sequence in the stream. */
  readonly seq: number
  /** Wall time of the server when it stored the head, in milliseconds since the epoch; 0 if it is unknown. */
  readonly at: number
  readonly manifest: SkillVersion
  /** The stored document, with its signatures. */
  readonly data: Uint8Array
}

/** All heads at one sequence. Immutable. */
export interface FeedState {
  /** The epoch; `undefined` before the first read. */
  readonly epoch: number | undefined
  readonly seq: number
  /** Heads by subject. */
  readonly heads: ReadonlyMap<string, Head>
  /** Why a newer head was refused, by subject. The earlier head stays. */
  readonly refusals: ReadonlyMap<string, string>
}

/** Heads that a process stores for the next one. */
export interface StoredHeads {
  readonly epoch: number
  readonly seq: number
  readonly at: number
  readonly heads: readonly {
    readonly subject: string
    readonly seq: number
    readonly at: number
    readonly text: string
  }[]
  /** Other subjects of the stream: markers, and heads that were refused. */
  readonly others: readonly { readonly subject: string; readonly version: number }[]
}

/**
 * The heads that a feed knows. Applies messages in the order of the stream. Within an epoch, the version of a skill never
 * falls, and a refused head leaves the earlier one in place.
 */
export class HeadTable {
  readonly #trusted: TrustedKeys
  #epoch: number | undefined
  #seq = 0
  /** Server time of the last applied message. */
  #at = 0
  #heads = new Map<string, Head>()
  /** Versions of all other subjects; 0 without a version. */
  #others = new Map<string, number>()
  #refusals = new Map<string, string>()
  /** Heads from before a snapshot that is being read. */
  #before: ReadonlyMap<string, Head> | undefined
  /** Whether the rest of a batch must follow. */
  #isPartial = false
  #state: FeedState = { epoch: undefined, seq: 0, heads: new Map(), refusals: new Map() }
  #isChanged = false

  constructor(trusted: TrustedKeys) {
    this.#trusted = trusted
  }

  get state(): FeedState {
    return this.#state
  }

  get epoch(): number | undefined {
    return this.#epoch
  }

  get seq(): number {
    return this.#seq
  }

  get subjectCount(): number {
    return new Set([...this.#heads.keys(), ...this.#others.keys()]).size
  }

  /** Whether a message is newer than the table, but has a lower sequence. */
  isBehind({ seq, at }: StoredMessage): boolean {
    return seq <= this.#seq && at > this.#at
  }

  resume({ epoch, seq, at, heads, others }: StoredHeads): void {
    this.#epoch = epoch
    this.#seq = seq
    this.#at = at
    this.#others = new Map(others.map(({ subject, version }) => [subject, version]))
    for (const { subject, seq: headSeq, at: headAt, text } of heads) {
      const message = {
        subject,
        seq: headSeq,
        at: headAt,
        data: new TextEncoder().encode(text),
        isMarker: false,
      }
      this.#applyHead(message)
    }
    this.#isChanged = true
    this.publish({ isForced: true })
  }

  toStored(): StoredHeads {
    return {
      epoch: this.#epoch ?? 0,
      seq: this.#seq,
      at: this.#at,
      heads: [...this.#heads].map(([subject, { seq, at, data }]) => ({
        subject,
        seq,
        at,
        text: decodeUnmarkedText(data),
      })),
      others: [...this.#others].map(([subject, version]) => ({ subject, version })),
    }
  }

  /** Starts from an empty stream. What the snapshot does not contain is gone when it is published. */
  beginSnapshot(epoch: number): void {
    const isSame = epoch === this.#epoch
    this.#before = isSame ? this.#heads : undefined
    this.#epoch = epoch
    this.#seq = 0
    this.#at = 0
    this.#heads = new Map()
    this.#others = new Map()
    this.#refusals = new Map()
    this.#isChanged = true
  }

  /** Applies the next message. Returns whether a head changed or was refused. */
  apply(message: StoredMessage): boolean {
    if (message.seq <= this.#seq) return false
    this.#seq = message.seq
    this.#at = Math.max(this.#at, message.at)
    const isNews = this.#applyHead(message)
    if (isNews) this.#isChanged = true
    return isNews
  }

  /**
   * Makes the applied messages visible. Returns false, and changes nothing, while the rest of a batch must follow.
   * `isForced`: publishes an incomplete batch too, if the rest does not come.
   */
  publish({ isForced = false }: { readonly isForced?: boolean } = {}): boolean {
    if (this.#isPartial && !isForced) return false
    this.#isPartial = false
    this.#before = undefined
    if (this.#isChanged || this.#state.epoch !== this.#epoch)
      this.#state = {
        epoch: this.#epoch,
        seq: this.#seq,
        heads: new Map(this.#heads),
        refusals: new Map(this.#refusals),
      }
    else if (this.#state.seq !== this.#seq) this.#state = { ...this.#state, seq: this.#seq }
    this.#isChanged = false
    return true
  }

  #applyHead(message: StoredMessage): boolean {
    const { subject, seq, at, data } = message
    const place = parseHeadSubject(subject)
    this.#isPartial = false
    if (place === undefined) {
      this.#others.set(subject, 0)
      return false
    }
    const known = this.#heads.get(subject) ?? this.#before?.get(subject)
    const least = Math.max(known?.manifest.version ?? 0, this.#others.get(subject) ?? 0)
    try {
      // Without pinned keys, a marker that another program wrote counts as a removal.
      if (message.isMarker && data.length === 0 && !this.#trusted.isRequired) {
        this.#remove(subject, least)
        return known !== undefined
      }
      const document = readDocument(data, this.#trusted)
      if (document.kind === 'epoch') throw new Error('it is an epoch')
      if (document.skill !== place.skill || document.channel !== place.channel)
        throw new Error(`it belongs to ${document.channel}/${document.skill}`)
      if (document.version < least) throw new Error(`its version ${document.version} is older than ${least}`)
      const { batch } = document
      this.#isPartial = batch !== undefined && batch.index < batch.count - 1
      if (document.kind === 'removal') {
        this.#remove(subject, document.version)
        return known !== undefined
      }
      this.#refusals.delete(subject)
      this.#others.delete(subject)
      this.#heads.set(subject, { ...place, seq, at, manifest: document, data })
    } catch (thrown) {
      this.#refusals.set(subject, toMessage(thrown))
      if (known === undefined) this.#others.set(subject, least)
      else this.#heads.set(subject, known)
    }
    return subject !== EPOCH_SUBJECT
  }

  #remove(subject: string, version: number): void {
    this.#heads.delete(subject)
    this.#refusals.delete(subject)
    this.#others.set(subject, version)
  }
}
