import { randomUUID } from 'node:crypto'
import { type Digest, SkillError } from '@skillstoke/core'
import { checkValue, mapConcurrently, quote, whole } from '@skillstoke/core/internal'
import { renewFiles } from './blobs.ts'
import { commitHeads, type PlannedDocument, type PlannedHead } from './commit-heads.ts'
import { type KnownEpoch, tryReadEpoch } from './feed-state.ts'
import type { FleetConnection } from './fleet-connection.ts'
import {
  checkChannel,
  DEFAULT_CHANNEL,
  EPOCH_SUBJECT,
  HEADS,
  toAnnouncementSubject,
  toStatementSubject,
} from './fleet-subjects.ts'
import {
  type ChannelList,
  isSignedBy,
  listSigners,
  type ManifestFile,
  type SkillRemoval,
  type SkillVersion,
  tryReadDocument,
  type VersionRecord,
  writeDocument,
} from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'
import type { ChannelOptions, PublishedSkill, PublishReport } from './publish-options.ts'
import { retrying } from './retrying.ts'
import type { ManifestSigner } from './signing.ts'
import { listStored } from './skill-set.ts'
import { findNewestVersion, hasRecord, type LeaderHead, readLeaderHead, storeRecord } from './version-log.ts'

const AT_ONCE = 32
const NEVER = new AbortController().signal

/** What is to be committed, and what stays. */
export interface Plan {
  readonly planned: readonly PlannedHead[]
  readonly unchanged: readonly PublishedSkill[]
}

/** What a new version of a skill contains. */
export type VersionContent = Pick<
  SkillVersion,
  'revision' | 'frontmatter' | 'skillFile' | 'files' | 'rollbackOf' | 'promotedFrom' | 'note'
>

/** Who changes a channel. */
export interface ChannelAuthor {
  readonly fleet: FleetConnection
  readonly signer: ManifestSigner | undefined
  readonly publisher: string
}

/** One call that changes a channel: reads the heads from the leader, plans new versions, and commits them. */
export class ChannelChange {
  readonly engine: NatsEngine
  readonly channel: string
  readonly signal: AbortSignal
  readonly fleet: FleetConnection
  readonly signer: ManifestSigner | undefined
  readonly #author: ChannelAuthor
  readonly #options: ChannelOptions
  readonly #epoch: KnownEpoch
  readonly publishId: string = randomUUID()

  private constructor(author: ChannelAuthor, engine: NatsEngine, epoch: KnownEpoch, options: ChannelOptions) {
    this.engine = engine
    this.#epoch = epoch
    this.channel = options.channel ?? DEFAULT_CHANNEL
    this.signal = options.signal ?? NEVER
    this.fleet = author.fleet
    this.signer = author.signer
    this.#author = author
    this.#options = options
  }

  /**
   * Begins a change of the channel that the options name.
   * @throws {SkillError} INVALID_OPTION if agents would refuse what the author signs
   */
  static async begin(author: ChannelAuthor, options: ChannelOptions): Promise<ChannelChange> {
    const { fleet, signer } = author
    const { channel = DEFAULT_CHANNEL } = options
    checkChannel(channel)
    checkValue('expect', options.expect, whole(0))
    if (fleet.trusted.isRequired && signer !== undefined && !fleet.trusted.has(signer.publicKey))
      throw new SkillError(
        'INVALID_OPTION',
        `the key of the signer, ${signer.publicKey}, is none of the trusted keys, so agents would refuse what it signs`,
      )
    const engine = await fleet.open()
    const { signal = NEVER } = options
    // Fails at once if there is no stream. Later requests wait for a new leader, and cannot tell this from no stream.
    const epoch = await retrying(signal, async () => await engine.readLast(HEADS, EPOCH_SUBJECT, 'leader'))
    const isSigned = epoch !== undefined && listSigners(epoch.data).length > 0
    if (signer === undefined && (fleet.trusted.isRequired || isSigned))
      throw new SkillError(
        'INVALID_OPTION',
        'the agents of this fleet trust only signed versions; name the signing key with the option signer, or with --signing-key',
      )
    const known = epoch === undefined ? undefined : tryReadEpoch(epoch.data, fleet.trusted)
    if (known === undefined)
      throw new SkillError(
        'IO_FAILED',
        `${fleet.address} has no epoch that agents accept; run "stoke fleet init"`,
      )
    const stream = await retrying(signal, async () => await engine.describeStream(HEADS))
    // Names and unchanged skills are read from any replica, which may be behind the leader.
    fleet.feed.expect(stream?.state.last_seq ?? 0)
    await retrying(signal, async () => await fleet.feed.reload())
    return new ChannelChange(author, engine, known, options)
  }

  /** Reads the live head of a skill. @throws {SkillError} CHANGED_SINCE_READ if it has not the expected version */
  async readHead(name: string): Promise<LeaderHead> {
    const { expect } = this.#options
    const place = { channel: this.channel, skill: name }
    const head = await readLeaderHead(this.fleet, this.engine, place, this.signal)
    const version = head.record?.kind === 'skill' ? head.record.version : 0
    if (expect === undefined || expect === version) return head
    throw new SkillError(
      'CHANGED_SINCE_READ',
      `${this.channel}/${name} has version ${version}, and not the expected version ${expect}`,
      { data: { channel: this.channel, skill: name, version } },
    )
  }

  /** Returns the names of all skills of a channel, sorted. */
  listNames(channel: string): readonly string[] {
    const { state, waiting } = this.fleet.feed
    const waitingHere = [...waiting.values()]
      .map(({ place }) => place)
      .filter(each => each.channel === channel)
    const places = [...listStored(state, channel), ...waitingHere]
    return [...new Set(places.map(({ skill }) => skill))].sort()
  }

  /**
   * Returns the version at a head that has these files, if agents serve it, or will do so, and the author has signed it. A
   * head that was refused or waits for the rest of its publication must be replaced.
   */
  findSame({ record, stored }: LeaderHead, revision: Digest): SkillVersion | undefined {
    if (record?.kind !== 'skill' || record.revision !== revision || stored === undefined) return undefined
    return isSignedBy(stored.data, this.signer) && !this.isHeldBack(stored) ? record : undefined
  }

  /** Whether no agent serves a head: it was refused, or the rest of its publication is missing. */
  isHeldBack({ subject, seq }: StoredMessage): boolean {
    const { state, waiting } = this.fleet.feed
    return (waiting.get(subject)?.message ?? state.refusals.get(subject))?.seq === seq
  }

  /** Whether agents have the newest version of a skill at its head, and the author has signed the head. */
  isEffective({ stored, record }: LeaderHead, newest: VersionRecord): boolean {
    // The marker of a removal may have expired.
    if (stored === undefined) return newest.kind === 'removal'
    const isNewest = record?.version === newest.version && isSignedBy(stored.data, this.signer)
    return isNewest && !this.isHeldBack(stored)
  }

  /** Whether agents have no skill at a head. A removal that is held back must be replaced. */
  isRemoved({ record, stored }: LeaderHead): boolean {
    if (stored === undefined) return true
    // Agents with trusted keys refuse a marker without a document, so it is no removal for them.
    if (record === undefined) return stored.data.length === 0 && !this.fleet.trusted.isRequired
    return record.kind === 'removal' && !this.isHeldBack(stored)
  }

  /** Returns the list of the channel for this epoch; `undefined` if the channel is not filled. */
  async readList(): Promise<ChannelList | undefined> {
    const stored = await this.#readStoredList()
    const list = stored === undefined ? undefined : tryReadDocument(stored.data, this.fleet.trusted)
    const { id, epoch } = this.#epoch.document
    return list?.kind === 'list' && list.fleet === id && list.epoch === epoch ? list : undefined
  }

  /** Plans the list that says that the channel has all its skills after a plan. */
  async planFilling({ planned }: Plan): Promise<PlannedDocument<ChannelList>> {
    const served = listStored(this.fleet.feed.state, this.channel)
    const skills = new Map(served.map(({ skill, manifest }) => [skill, manifest.version]))
    for (const { record } of planned)
      if (record.kind === 'skill') skills.set(record.skill, record.version)
      else skills.delete(record.skill)
    const document: ChannelList = {
      kind: 'list',
      ...this.#describePublication(),
      skills: Object.fromEntries(skills),
    }
    const expectedSeq = (await this.#readStoredList())?.seq ?? 0
    return { document, expectedSeq }
  }

  async #readStoredList(): Promise<StoredMessage | undefined> {
    const subject = toStatementSubject({ kind: 'list', channel: this.channel })
    return await retrying(this.signal, async () => await this.engine.readLast(HEADS, subject, 'leader'))
  }

  /** Names the files that agents shall retrieve before the commit. Without files, ends the announcement. */
  async announce(files: readonly ManifestFile[]): Promise<void> {
    const document = { kind: 'announcement', ...this.#describePublication(), files } as const
    const isMarker = files.length === 0
    const data = isMarker ? new Uint8Array() : await writeDocument(document, this.signer)
    const subject = toAnnouncementSubject(this.channel)
    await retrying(this.signal, async () => {
      const before = await this.engine.readLast(HEADS, subject, 'leader')
      // If another publisher was first, its announcement counts until this one is repeated.
      await this.engine.tryStore({ subject, data, isMarker, expectedSeq: before?.seq ?? 0 })
    })
  }

  /** @throws {SkillError} INVALID_OPTION if a version is expected, and the call is for several skills */
  assertExpectable(names: readonly string[]): void {
    if (this.#options.expect === undefined || names.length === 1) return
    throw new SkillError(
      'INVALID_OPTION',
      `the option expect is for one skill, and this call is for ${names.length}; name one skill`,
    )
  }

  /** Decides about several skills: plans a new head, or says what happens without one. */
  async plan(
    names: readonly string[],
    decide: (name: string, head: LeaderHead) => Promise<PlannedHead | PublishedSkill>,
  ): Promise<Plan> {
    const { onProgress } = this.#options
    let done = 0
    const decideOne = async (name: string): Promise<PlannedHead | PublishedSkill> => {
      const decision = await decide(name, await this.readHead(name))
      onProgress?.({ step: 'compare', done: ++done, total: names.length })
      return decision
    }
    const decisions = await mapConcurrently([...new Set(names)], decideOne, AT_ONCE, this.signal)
    return {
      planned: decisions.filter(each => 'record' in each),
      unchanged: decisions.filter(each => 'outcome' in each),
    }
  }

  /** Plans a version of a skill. Its number follows all known numbers of the skill. */
  async planVersion(
    name: string,
    head: LeaderHead,
    content: VersionContent,
    { least = 1 }: { readonly least?: number } = {},
  ): Promise<PlannedHead> {
    const version = Math.max(least, (await this.#findNewest(name, head)) + 1)
    return { head, record: { kind: 'skill', ...content, ...this.#describe(name, version) } }
  }

  /** Plans a new head for a skill, with the content of its newest version. */
  async planAgain(head: LeaderHead, newest: VersionRecord): Promise<PlannedHead> {
    if (newest.kind === 'removal') return await this.planRemoval(newest.skill, head)
    const { publication: _earlier, ...content } = newest
    return await this.planVersion(newest.skill, head, content, { least: newest.version + 1 })
  }

  /** Plans the removal of a skill. The skill may have a head that agents refuse. */
  async planRemoval(
    name: string,
    head: LeaderHead,
    { isMirrored = false }: { readonly isMirrored?: boolean } = {},
  ): Promise<PlannedHead> {
    const version = (await this.#findNewest(name, head)) + 1
    const record: SkillRemoval = {
      kind: 'removal',
      ...this.#describe(name, version),
      ...(isMirrored ? { isMirrored } : {}),
    }
    return { head, record }
  }

  /** Keeps files from a garbage collection that runs at the same time. @throws {SkillError} REVISION_NOT_FOUND */
  async renewFiles(files: readonly ManifestFile[]): Promise<void> {
    await renewFiles(this.engine, files, this.signal)
  }

  /**
   * Commits a plan, unless the call is a dry run.
   * @param filling the list of the channel, if the plan fills the channel
   * @throws {SkillError} CHANGED_SINCE_READ, TOO_LARGE, IO_FAILED
   */
  async commit({ planned, unchanged }: Plan, filling?: PlannedDocument<ChannelList>): Promise<PublishReport> {
    const { channel } = this
    const committed = this.#options.isDryRun === true ? undefined : await this.#write(planned, filling)
    const changed = planned.map((each, index) => toPublished(each, committed?.[index]))
    return {
      channel,
      skills: [...changed, ...unchanged].sort(compareNames),
      refused: [],
      uploadedBytes: 0,
      isFilled: filling !== undefined || (await this.readList()) !== undefined,
    }
  }

  /** Returns the sequences of the commits. */
  async #write(
    planned: readonly PlannedHead[],
    filling: PlannedDocument<ChannelList> | undefined,
  ): Promise<readonly number[]> {
    const { fleet, engine, signal } = this
    const { onProgress } = this.#options
    const complete = async ({ head: { record, stored } }: PlannedHead): Promise<void> => {
      if (record === undefined || stored === undefined) return
      await retrying(signal, async () => await storeRecord(fleet, engine, record, stored.data))
    }
    await mapConcurrently(planned, complete, AT_ONCE, signal)
    const onCommitted = (done: number): void => onProgress?.({ step: 'commit', done, total: planned.length })
    const { signer } = this
    const publication = { ...this.#describePublication(), filling }
    const seqs = await commitHeads(engine, planned, publication, { fleet, signer, signal, onCommitted })
    fleet.feed.expect(Math.max(0, ...seqs))
    await this.#assertSameEpoch()
    return seqs
  }

  /** @throws {SkillError} CHANGED_SINCE_READ if agents refuse what was committed, because a new epoch has begun */
  async #assertSameEpoch(): Promise<void> {
    const { engine, signal } = this
    const stored = await retrying(signal, async () => await engine.readLast(HEADS, EPOCH_SUBJECT, 'leader'))
    const now = stored === undefined ? undefined : tryReadEpoch(stored.data, this.fleet.trusted)?.document
    const { id, epoch } = this.#epoch.document
    if (now?.id === id && now.epoch === epoch) return
    throw new SkillError(
      'CHANGED_SINCE_READ',
      'the fleet has begun a new epoch in the meantime; publish again',
    )
  }

  /** Returns the newest version of a skill; 0 if it had none. Versions that are not trusted count too. */
  async #findNewest(name: string, { record, stored }: LeaderHead): Promise<number> {
    const place = { channel: this.channel, skill: name }
    const newest = record?.version ?? 0
    // The head may be missing or refused, or may have been replaced by an earlier one. Then the records tell more.
    const hasNewer =
      record === undefined || (await hasRecord(this.engine, { ...place, version: newest + 1 }, this.signal))
    if (!hasNewer) return newest
    return await findNewestVersion(this.engine, place, { newest, stored, signal: this.signal })
  }

  #describe(skill: string, version: number) {
    const { note } = this.#options
    const { fleet, epoch, ...publication } = this.#describePublication()
    return { fleet, epoch, skill, version, ...publication, ...(note === undefined ? {} : { note }) }
  }

  #describePublication() {
    const { id, epoch } = this.#epoch.document
    return {
      fleet: id,
      epoch,
      channel: this.channel,
      publishId: this.publishId,
      publisher: this.#author.publisher,
      at: new Date().toISOString(),
    }
  }
}

/** Returns what a version contains, without what belongs to its place and its author. */
export function contentOf({ revision, frontmatter, skillFile, files, note }: SkillVersion): VersionContent {
  return { revision, frontmatter, skillFile, files, ...(note === undefined ? {} : { note }) }
}

export function compareNames(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1
}

export function notFound(name: string, channel: string): SkillError {
  return new SkillError('SKILL_NOT_FOUND', `the channel ${channel} has no skill ${quote(name)}`, {
    data: { channel, skill: name },
  })
}

/** Describes a skill whose newest version stays. */
export function toUnchanged({ skill, version, revision }: SkillVersion): PublishedSkill {
  return { name: skill, outcome: 'unchanged', version, revision }
}

function toPublished(
  { head: { record: before }, record }: PlannedHead,
  seq: number | undefined,
): PublishedSkill {
  return {
    name: record.skill,
    outcome: record.kind === 'skill' ? 'published' : 'removed',
    version: record.version,
    ...(before?.kind === 'skill' ? { previousVersion: before.version } : {}),
    ...(record.kind === 'skill' ? { revision: record.revision } : {}),
    ...(seq === undefined ? {} : { seq }),
  }
}
