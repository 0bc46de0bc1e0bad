import { type Digest, SkillError } from '@skillstoke/core'
import { defined, mapConcurrently, quote } from '@skillstoke/core/internal'
import { commitHeads, type PlannedDocument, type PlannedHead } from './commit-heads.ts'
import { listStored, tryReadEpoch } from './feed-state.ts'
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
  describePublication,
  type FleetEpoch,
  isSignedBy,
  listSigners,
  type ManifestFile,
  type PublicationFields,
  type SkillRemoval,
  type SkillVersion,
  tryReadDocument,
  type VersionRecord,
  writeDocument,
} from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'
import type { ChannelOptions, PublishedSkill, PublishReport } from './publish-options.ts'
import { NEVER, retrying } from './retries.ts'
import type { ManifestSigner } from './signing.ts'
import { type LeaderHead, VersionLog } from './version-log.ts'

const AT_ONCE = 32

/** What happens to one skill: a head to commit, or nothing. */
export type Decision = PlannedHead | PublishedSkill

/** What a new version of a skill contains. */
export type VersionContent = Pick<
  SkillVersion,
  'revision' | 'frontmatter' | 'skillFile' | 'files' | 'rollbackOf' | 'promotedFrom' | 'note'
>

/** Who changes a channel. */
export interface ChannelAuthor {
  readonly fleet: FleetConnection
  readonly signer: ManifestSigner | undefined
  readonly publisher: string | undefined
}

/** One call that changes a channel: reads the heads from the leader, plans new versions, and commits them. */
export class ChannelChange {
  readonly engine: NatsEngine
  readonly channel: string
  readonly signal: AbortSignal
  readonly fleet: FleetConnection
  readonly signer: ManifestSigner | undefined
  readonly log: VersionLog
  /** The fields that all documents of this publication share. */
  readonly publication: PublicationFields
  readonly #options: ChannelOptions

  private constructor(
    { fleet, signer, publisher }: ChannelAuthor,
    log: VersionLog,
    epoch: FleetEpoch,
    options: ChannelOptions,
  ) {
    this.channel = options.channel ?? DEFAULT_CHANNEL
    this.engine = log.engine
    this.signal = log.signal
    this.log = log
    this.fleet = fleet
    this.signer = signer
    this.publication = describePublication(epoch, this.channel, publisher)
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
    if (fleet.trusted.isRequired && signer !== undefined && !fleet.trusted.has(signer.publicKey))
      throw new SkillError(
        'INVALID_OPTION',
        `the key of the signer, ${signer.publicKey}, is none of the trusted keys, so agents would refuse what it signs`,
      )
    const engine = await fleet.open()
    const { signal = NEVER } = options
    const log = new VersionLog(fleet, engine, signal)
    // Fails at once if there is no stream. Later requests wait for a new leader, and cannot tell this from no stream.
    const epoch = await log.readMessage(HEADS, EPOCH_SUBJECT)
    const isSigned = listSigners(epoch?.data).length > 0
    if (signer === undefined && (fleet.trusted.isRequired || isSigned))
      throw new SkillError(
        'INVALID_OPTION',
        'the agents of this fleet trust only signed versions; name the signing key with the option signer, or with --signing-key',
      )
    const known = tryReadEpoch(epoch?.data, fleet.trusted)
    if (known === undefined)
      throw new SkillError(
        'IO_FAILED',
        `${fleet.address} has no epoch that agents accept; run "stoke fleet init"`,
      )
    const stream = await retrying(signal, async () => await engine.describeStream(HEADS))
    // Names and unchanged skills are read from any replica, which may be behind the leader.
    fleet.feed.expect(stream?.state.last_seq ?? 0)
    await retrying(signal, async () => await fleet.feed.reload())
    return new ChannelChange(author, log, known, options)
  }

  /** Reads the live head of a skill. @throws {SkillError} CHANGED_SINCE_READ if it has not the expected version */
  async readHead(name: string): Promise<LeaderHead> {
    const { expect } = this.#options
    const head = await this.log.readHead({ channel: this.channel, skill: name })
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
      .map(({ document }) => document)
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
    const list = tryReadDocument((await this.#readStoredList())?.data, this.fleet.trusted)
    const { fleet, epoch } = this.publication
    return list?.kind === 'list' && list.fleet === fleet && list.epoch === epoch ? list : undefined
  }

  /** Plans the list that says that the channel has all its skills after the decisions. */
  async planFilling(decisions: readonly Decision[]): Promise<PlannedDocument<ChannelList>> {
    const served = listStored(this.fleet.feed.state, this.channel)
    const skills = new Map(served.map(({ skill, manifest }) => [skill, manifest.version]))
    for (const { record } of listPlanned(decisions))
      if (record.kind === 'skill') skills.set(record.skill, record.version)
      else skills.delete(record.skill)
    return {
      document: { kind: 'list', ...this.publication, skills: Object.fromEntries(skills) },
      expectedSeq: (await this.#readStoredList())?.seq ?? 0,
    }
  }

  async #readStoredList(): Promise<StoredMessage | undefined> {
    return await this.log.readMessage(HEADS, toStatementSubject({ kind: 'list', channel: this.channel }))
  }

  /** Names the files that agents shall retrieve before the commit. Without files, ends the announcement. */
  async announce(files: readonly ManifestFile[]): Promise<void> {
    const document = { kind: 'announcement', ...this.publication, files } as const
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

  /** Decides about several skills. */
  async plan(
    names: readonly string[],
    decide: (name: string, head: LeaderHead) => Promise<Decision>,
  ): Promise<readonly Decision[]> {
    let done = 0
    const decideOne = async (name: string): Promise<Decision> => {
      const decision = await decide(name, await this.readHead(name))
      this.#options.onProgress?.({ step: 'compare', done: ++done, total: names.length })
      return decision
    }
    return await mapConcurrently([...new Set(names)], decideOne, AT_ONCE, this.signal)
  }

  /** Plans a version of a skill. Its number follows all known numbers of the skill. */
  async planVersion(
    skill: string,
    head: LeaderHead,
    content: VersionContent,
    least: number = 1,
  ): Promise<PlannedHead> {
    const fields = await this.#describe(skill, head)
    const version = Math.max(least, fields.version)
    return { head, record: { kind: 'skill', ...content, ...fields, version } }
  }

  /** Plans the removal of a skill. The skill may have a head that agents refuse. */
  async planRemoval(
    skill: string,
    head: LeaderHead,
    fields: Pick<SkillRemoval, 'isMirrored'> = {},
  ): Promise<PlannedHead> {
    return { head, record: { kind: 'removal', ...(await this.#describe(skill, head)), ...fields } }
  }

  /**
   * Commits what was planned, unless the call is a dry run.
   * @param filling the list of the channel, if the call fills the channel
   * @throws {SkillError} CHANGED_SINCE_READ, TOO_LARGE, IO_FAILED
   */
  async commit(
    decisions: readonly Decision[],
    filling?: PlannedDocument<ChannelList>,
  ): Promise<PublishReport> {
    const planned = listPlanned(decisions)
    const committed = this.#options.isDryRun === true ? undefined : await this.#write(planned, filling)
    const changed = planned.map((each, index) => toPublished(each, committed?.[index]))
    const unchanged = decisions.filter(each => 'outcome' in each)
    return {
      channel: this.channel,
      skills: [...changed, ...unchanged].sort(compareNames),
      refused: [],
      uploadedBytes: 0,
      isFilled: filling !== undefined || (await this.readList()) !== undefined,
    }
  }

  /** Returns the sequences of the commits. @throws {SkillError} CHANGED_SINCE_READ if agents refuse them in a new epoch */
  async #write(
    planned: readonly PlannedHead[],
    filling: PlannedDocument<ChannelList> | undefined,
  ): Promise<readonly number[]> {
    const { fleet, log, signal } = this
    const complete = async ({ head: { record, stored } }: PlannedHead): Promise<void> => {
      if (record !== undefined && stored !== undefined) await log.store(record, stored.data)
    }
    await mapConcurrently(planned, complete, AT_ONCE, signal)
    const onCommitted = (done: number): void =>
      this.#options.onProgress?.({ step: 'commit', done, total: planned.length })
    const seqs = await commitHeads(this, planned, filling, onCommitted)
    fleet.feed.expect(Math.max(0, ...seqs))
    const stored = await log.readMessage(HEADS, EPOCH_SUBJECT)
    const now = tryReadEpoch(stored?.data, fleet.trusted)
    if (now?.id === this.publication.fleet && now.epoch === this.publication.epoch) return seqs
    throw new SkillError(
      'CHANGED_SINCE_READ',
      'the fleet has begun a new epoch in the meantime; publish again',
    )
  }

  async #describe(skill: string, head: LeaderHead) {
    const version = (await this.log.findNewest({ channel: this.channel, skill }, head)) + 1
    return { ...this.publication, skill, version, ...defined({ note: this.#options.note }) }
  }
}

export function listPlanned(decisions: readonly Decision[]): readonly PlannedHead[] {
  return decisions.filter(each => 'record' in each)
}

/** Returns what a version contains, without what belongs to its place and its author. */
export function contentOf({ revision, frontmatter, skillFile, files, note }: SkillVersion): VersionContent {
  return { revision, frontmatter, skillFile, files, ...defined({ note }) }
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
    ...defined({
      previousVersion: before?.kind === 'skill' ? before.version : undefined,
      revision: record.kind === 'skill' ? record.revision : undefined,
      seq,
    }),
  }
}
