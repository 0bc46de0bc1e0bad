import { toMessage } from '@skillstoke/core/internal'
import {
  EMPTY_STATE,
  type FeedState,
  type Head,
  isOfEpoch,
  type KnownEpoch,
  type OtherSubject,
  type Refusal,
} from './feed-state.ts'
import {
  EPOCH_SUBJECT,
  type HeadPlace,
  isAnnouncementSubject,
  isStatementSubject,
  parseHeadSubject,
  toAnnouncementSubject,
  toStatementSubject,
} from './fleet-subjects.ts'
import {
  type Announcement,
  type ChannelList,
  type FleetEpoch,
  readDocument,
  readVersionAt,
  tryReadDocument,
} from './manifest.ts'
import type { StoredMessage } from './nats-messages.ts'
import type { TrustedKeys } from './signing.ts'
import { type WaitingHead, WaitingHeads } from './waiting-heads.ts'

/**
 * The heads that a feed knows. Applies messages in the order of the stream. Within an epoch, the version of a skill never
 * falls, and a refused head leaves the earlier one in place. The heads of one publication count together. A new epoch
 * changes a channel only after the list of the channel. With trusted keys, a skill disappears only by a signed removal or
 * a signed list.
 */
export class HeadTable {
  readonly #trusted: TrustedKeys
  #epoch: KnownEpoch | undefined
  #seq = 0
  #heads = new Map<string, Head>()
  #others = new Map<string, OtherSubject>()
  #refusals = new Map<string, Refusal>()
  readonly #waiting: WaitingHeads = new WaitingHeads()
  /** Lists of this epoch by channel. */
  readonly #lists = new Map<string, ChannelList>()
  readonly #announcements = new Map<string, Announcement>()
  readonly #awaited = new Set<string>()
  /** Whether the stream is being read from its start, so that missing subjects are not known yet. */
  #isSnapshot = false
  /** A message with another epoch. What follows it belongs to that epoch. */
  #newEpoch: StoredMessage | undefined
  #state: FeedState = EMPTY_STATE
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

  /** Heads that do not count yet. Changes with each message. */
  get waiting(): ReadonlyMap<string, WaitingHead> {
    return this.#waiting.bySubject
  }

  /** Whether more messages of an atomic batch follow. */
  get isCutShort(): boolean {
    return this.#waiting.readyAt !== Infinity
  }

  /** How many subjects the stream has. */
  get subjectCount(): number {
    const subjects = new Set([...this.#refusals.keys(), ...this.waiting.keys()])
    for (const places of [this.#heads, this.#others])
      for (const [subject, { seq }] of places) if (seq > 0) subjects.add(subject)
    return subjects.size
  }

  /**
   * Whether a message is newer than the known message of its subject, but has no higher sequence than the table. The
   * stream was then created again or restored.
   */
  isBehind({ subject, seq, at }: StoredMessage): boolean {
    if (seq > this.#seq) return false
    const known =
      this.#refusals.get(subject) ??
      this.waiting.get(subject)?.message ??
      this.#heads.get(subject) ??
      this.#others.get(subject)
    return known === undefined || (seq !== known.seq && at > known.at)
  }

  /** Continues from a state that an earlier process stored. */
  resume(state: FeedState): void {
    this.#epoch = state.epoch
    this.#seq = state.seq
    this.#heads = new Map(state.heads)
    this.#others = new Map(state.others)
    this.#refusals = new Map(state.refusals)
    for (const channel of state.awaited) this.#awaited.add(channel)
    this.#isSnapshot = state.seq === 0
    this.#state = state
    this.#isShared = false
  }

  /**
   * Returns a table for a complete reading of the stream. It begins with the heads of this table, which the messages of
   * the stream replace. In a new epoch, a channel keeps the old heads until the list of its skills arrives.
   */
  startSnapshot(epoch: KnownEpoch): HeadTable {
    const snapshot = new HeadTable(this.#trusted)
    const isSame = this.isEpoch(epoch.document)
    snapshot.#epoch = epoch
    snapshot.#isChanged = true
    snapshot.#isSnapshot = true
    for (const [subject, head] of this.#heads) {
      snapshot.#heads.set(subject, { ...head, seq: 0, at: 0 })
      if (!isSame) snapshot.#awaited.add(head.channel)
    }
    if (!isSame) return snapshot
    for (const channel of this.#awaited) snapshot.#awaited.add(channel)
    for (const [subject, { version }] of this.#others)
      if (version > 0) snapshot.#others.set(subject, { seq: 0, at: 0, version })
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
    const place = parseHeadSubject(message.subject)
    const refusals = this.#refusals.size
    if (place !== undefined) this.#applyHead(message, place)
    else if (isAnnouncementSubject(message.subject)) this.#applyAnnouncement(message)
    else this.#applyOther(message)
    // A publication may also have waited for the end of a refusal.
    if (this.#seq >= this.#waiting.readyAt || this.#refusals.size < refusals) this.#settle()
  }

  /** Makes the applied messages visible. Heads that wait stay invisible. */
  publish(): void {
    if (this.#isSnapshot) this.#dropOmitted()
    this.#isSnapshot = false
    const isRetaining = this.#isChanged ? hasRetained(this.#heads) : this.#state.isRetaining
    this.#state = {
      epoch: this.#epoch,
      seq: this.#seq,
      heads: this.#isChanged ? new Map(this.#heads) : this.#state.heads,
      refusals: this.#isChanged ? new Map(this.#refusals) : this.#state.refusals,
      announcements: this.#isChanged ? new Map(this.#announcements) : this.#state.announcements,
      others: this.#others,
      awaited: this.#isChanged ? new Set(this.#awaited) : this.#state.awaited,
      isComplete: this.#refusals.size === 0 && this.waiting.size === 0 && !isRetaining,
      isRetaining,
    }
    this.#isChanged = false
    this.#isShared = true
  }

  #applyHead(message: StoredMessage, place: HeadPlace): void {
    const { subject, seq, at, data } = message
    const known = this.#heads.get(subject)
    const isEmptyMarker = message.isMarker && data.length === 0
    // A marker without a document is the end of an expired removal. Without pinned keys it may also be a removal that
    // another program wrote.
    if (isEmptyMarker && (known === undefined || !this.#trusted.isRequired)) {
      this.#waiting.delete(subject)
      const other = { seq, at, version: this.#leastVersion(subject) }
      if (this.#awaited.has(place.channel)) this.#ownOthers().set(subject, other)
      else this.#remove(subject, other)
      return
    }
    try {
      const document = readVersionAt(data, this.#trusted, place)
      if (document.fleet !== this.epoch?.id) throw new Error('it belongs to another fleet')
      const head = { message, document }
      if (document.epoch === this.epoch.epoch) this.#assertOrder(head)
      // A refused head leaves also an earlier one in place that waits.
      this.#waiting.delete(subject)
      if (this.#isReady(head)) this.#accept(head)
      else {
        this.#waiting.add(head, this.#seq)
        if (this.#refusals.delete(subject)) this.#isChanged = true
      }
    } catch (thrown) {
      this.#refuse(message, thrown)
    }
  }

  /** Applies the list of a channel or the end of a publication. Other messages only have a place. */
  #applyOther({ subject, seq, at, data }: StoredMessage): void {
    this.#ownOthers().set(subject, { seq, at, version: 0 })
    if (!isStatementSubject(subject)) return
    try {
      const document = readDocument(data, this.#trusted)
      const isStatement = document.kind === 'publication' || document.kind === 'list'
      if (!isStatement || toStatementSubject(document) !== subject)
        throw new Error('it belongs to another subject')
      if (document.fleet !== this.epoch?.id) throw new Error('it belongs to another fleet')
      if (this.#refusals.delete(subject)) this.#isChanged = true
      if (document.kind === 'list') this.#applyList(document)
      else if (document.isGivenUp !== true) {
        this.#waiting.noteEnd(document.publishId)
        this.#settle()
      }
    } catch (thrown) {
      this.#isChanged = true
      this.#refusals.set(subject, { seq, at, reason: toMessage(thrown) })
    }
  }

  /** Applies an announcement. Every other message at its subject ends it, because agents serve nothing of it. */
  #applyAnnouncement({ subject, seq, at, data }: StoredMessage): void {
    this.#ownOthers().set(subject, { seq, at, version: 0 })
    this.#isChanged = true
    const document = tryReadDocument(data, this.#trusted)
    const isOwn = document?.kind === 'announcement' && document.fleet === this.epoch?.id
    if (isOwn && toAnnouncementSubject(document.channel) === subject)
      this.#announcements.set(subject, document)
    else this.#announcements.delete(subject)
  }

  #applyList(list: ChannelList): void {
    if (list.epoch !== this.epoch?.epoch) return
    this.#isChanged = true
    this.#lists.set(list.channel, list)
    this.#awaited.delete(list.channel)
    this.#settle()
    if (!this.#isSnapshot) this.#dropOmitted()
  }

  /** Accepts the heads that need not wait any longer. */
  #settle(): void {
    for (const head of this.#waiting.takeReady(each => this.#isReady(each), this.#seq))
      try {
        this.#accept(head)
      } catch (thrown) {
        this.#refuse(head.message, thrown)
      }
  }

  #isReady(head: WaitingHead): boolean {
    const { channel, epoch } = head.document
    if (this.#awaited.has(channel)) return false
    // A head of an earlier epoch counts only if the list of this epoch names it.
    if (epoch !== this.epoch?.epoch && !this.#lists.has(channel)) return false
    return this.#waiting.isWhole(head, this.#seq, this.#refusals.values())
  }

  #accept(head: WaitingHead): void {
    this.#assertOrder(head)
    const { message, document } = head
    const { subject, seq, at, data } = message
    if (document.kind === 'removal') {
      this.#remove(subject, { seq, at, version: document.version })
      return
    }
    this.#isChanged = true
    this.#endRefusal(subject, seq)
    if (this.#others.has(subject)) this.#ownOthers().delete(subject)
    const { channel, skill } = document
    this.#heads.set(subject, { channel, skill, seq, at, manifest: document, data })
  }

  /** @throws {Error} if the version of a head is older than what the table knows */
  #assertOrder({ message, document }: WaitingHead): void {
    const { channel, skill, version, epoch, kind } = document
    const current = this.epoch?.epoch ?? 0
    const least = this.#leastVersion(message.subject)
    if (version < least) throw new Error(`its version ${version} is older than ${least}`)
    if (epoch === current) return
    const listed = listedVersion(this.#lists.get(channel), skill)
    const known = this.#heads.get(message.subject)?.manifest
    const isReplaced = epoch > current || (known !== undefined && isOfEpoch(known, this.epoch))
    if (isReplaced || listed !== (kind === 'skill' ? version : undefined))
      throw new Error(`it belongs to epoch ${epoch}, and the list of epoch ${current} does not name it`)
  }

  /** Returns the highest version that this epoch had of a head. */
  #leastVersion(subject: string): number {
    const manifest = this.#heads.get(subject)?.manifest
    const known = manifest !== undefined && isOfEpoch(manifest, this.epoch) ? manifest.version : 0
    return Math.max(known, this.#others.get(subject)?.version ?? 0)
  }

  #refuse({ subject, seq, at }: StoredMessage, thrown: unknown): void {
    this.#isChanged = true
    this.#refusals.set(subject, { seq, at, reason: toMessage(thrown) })
    if (!this.#heads.has(subject))
      this.#ownOthers().set(subject, { seq, at, version: this.#leastVersion(subject) })
  }

  #remove(subject: string, other: OtherSubject): void {
    const wasRefused = this.#endRefusal(subject, other.seq)
    if (this.#heads.delete(subject) || wasRefused) this.#isChanged = true
    this.#ownOthers().set(subject, other)
  }

  /** Forgets a refusal that is older than an accepted message of the subject. */
  #endRefusal(subject: string, seq: number): boolean {
    return (this.#refusals.get(subject)?.seq ?? Infinity) < seq && this.#refusals.delete(subject)
  }

  /** Drops the heads that the stream does not contain any more, in all channels that have changed over. */
  #dropOmitted(): void {
    const filled = new Set<string>()
    for (const { seq, channel } of this.#heads.values()) if (seq > 0) filled.add(channel)
    for (const [subject, head] of this.#heads) {
      const isNewer = this.#refusals.has(subject) || this.waiting.has(subject)
      if (head.seq > 0 || isNewer || this.#awaited.has(head.channel)) continue
      if (this.#isRetained(head, filled.has(head.channel))) continue
      this.#heads.delete(subject)
      this.#isChanged = true
    }
  }

  /**
   * Whether a head stays although the stream does not contain it. Without trusted keys, a missing head was removed, unless
   * the whole channel is missing. With trusted keys, only a list can leave a head out.
   */
  #isRetained({ channel, skill, manifest }: Head, isFilled: boolean): boolean {
    const list = this.#lists.get(channel)
    if (isOfEpoch(manifest, this.epoch)) return this.#trusted.isRequired || !isFilled
    const isListed = list === undefined || listedVersion(list, skill) !== undefined
    return isListed && (this.#trusted.isRequired || !isFilled)
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

function listedVersion(list: ChannelList | undefined, skill: string): number | undefined {
  return list !== undefined && Object.hasOwn(list.skills, skill) ? list.skills[skill] : undefined
}

/** Whether a head stays that the stream does not contain. */
function hasRetained(heads: ReadonlyMap<string, Head>): boolean {
  for (const { seq } of heads.values()) if (seq === 0) return true
  return false
}
