import { randomUUID } from 'node:crypto'
import { hostname, userInfo } from 'node:os'
import { type Digest, SkillError, type SkillRuntime } from '@skillstoke/core'
import { checkOptions, checkWholeNumber, type KnownOptions, mapConcurrently } from '@skillstoke/core/internal'
import { hexOf, type Piece, piecesOf, splitFile, uploadPieces } from './blobs.ts'
import { type CollectOptions, type CollectReport, collectGarbage } from './collect-garbage.ts'
import { type CommittedHead, commitHeads, type PlannedHead } from './commit-heads.ts'
import type { FleetConnection } from './fleet-connection.ts'
import type { FleetStatusOptions } from './fleet-status.ts'
import {
  BLOBS,
  checkChannel,
  DEFAULT_CHANNEL,
  EPOCH_SUBJECT,
  HEADS,
  toBlobSubject,
} from './fleet-subjects.ts'
import { CHUNK_BYTES, type ManifestFile, type SkillRemoval, type SkillVersion } from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import {
  listServed,
  type Publishable,
  type PublishableSkill,
  type RefusedSkill,
  withFolder,
} from './publishable.ts'
import { retrying } from './retrying.ts'
import type { ManifestSigner } from './signing.ts'
import { listHeads } from './skill-set.ts'
import {
  type LeaderHead,
  readLeaderHead,
  readRecords,
  storeRecord,
  type VersionRecord,
} from './version-log.ts'

export interface SkillPublisherOptions {
  /** Signs every version. Needed if agents have `trustedKeys`. @default versions are not signed */
  readonly signer?: ManifestSigner
  /** Name that is recorded with each version. @default user and host of this process */
  readonly publisher?: string
}

const KNOWN: KnownOptions<SkillPublisherOptions> = { signer: true, publisher: true }

/** Options of every call that changes a channel. */
export interface ChannelOptions {
  /** @default 'stable' */
  readonly channel?: string
  /**
   * The version that the skill must have now; 0 if it must not exist. Allowed if the call changes one skill.
   * @default the version that the call reads first
   */
  readonly expect?: number
  /** Why the version is published. Recorded with each version. */
  readonly note?: string
  /** Reports what would change, and changes nothing. @default false */
  readonly isDryRun?: boolean
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: PublishProgress) => void
}

export interface PublishOptions extends ChannelOptions {
  /** Names of the skills to publish. @default all */
  readonly names?: readonly string[]
  /** Removes all other skills of the channel. @default false */
  readonly isMirror?: boolean
  /**
   * Publishes the files, but agents serve them only after `activate()`. @default false
   */
  readonly isStaged?: boolean
  /**
   * Leaves a skill that was rolled back as it is, until it has files that were not published before. A program that
   * publishes every change of a folder needs this. @default false
   */
  readonly keepsRollbacks?: boolean
}

export interface PromoteOptions extends ChannelOptions {
  /** Names of the skills to promote. @default all skills of the channel `from` */
  readonly names?: readonly string[]
}

export interface RollbackOptions extends ChannelOptions {
  /** The earlier version. @default the newest version with other files than the current one */
  readonly version?: number
}

/** How far a call is. */
export interface PublishProgress {
  /** `compare`: skills; `upload`: pieces of files; `commit`: skills. */
  readonly step: 'compare' | 'upload' | 'commit'
  readonly done: number
  readonly total: number
}

/** What happened to one skill. `rolled-back`: the files were published before and rolled back, so nothing was done. */
export interface PublishedSkill {
  readonly name: string
  readonly outcome: 'published' | 'unchanged' | 'removed' | 'rolled-back'
  /** The version now. In a dry run: the version that the skill would have. */
  readonly version: number
  /** The version before; absent if the skill is new. */
  readonly previousVersion?: number
  /** Absent if the skill was removed. */
  readonly revision?: Digest
  /** Sequence of the commit; absent if nothing was committed. */
  readonly seq?: number
}

export interface PublishReport {
  readonly channel: string
  /** Sorted by name. */
  readonly skills: readonly PublishedSkill[]
  /** Folders that were not published. What agents have of them stays. */
  readonly refused: readonly RefusedSkill[]
  /** Bytes of files that the servers did not have. */
  readonly uploadedBytes: number
}

const CHANNEL: KnownOptions<ChannelOptions> = {
  channel: true,
  expect: true,
  note: true,
  isDryRun: true,
  signal: true,
  onProgress: true,
}
const PUBLISH: KnownOptions<PublishOptions> = {
  ...CHANNEL,
  names: true,
  isMirror: true,
  isStaged: true,
  keepsRollbacks: true,
}
const ROLLBACK: KnownOptions<RollbackOptions> = { ...CHANNEL, version: true }
const PROMOTE: KnownOptions<PromoteOptions> = { ...CHANNEL, names: true }

const HISTORY: KnownOptions<FleetStatusOptions> = { channel: true }

const AT_ONCE = 32

/** A version to commit, with what it replaces. */
interface Planned extends PlannedHead {
  readonly head: LeaderHead
}

/**
 * Publishes skills to the agents of a fleet. Files are stored first and a small manifest last, so agents see a version
 * whole or not at all. Versions only rise: a rollback is a new version with old files. A publisher that dies midway
 * leaves only files without a user, which `collectGarbage()` removes.
 *
 * @example
 * ```ts no-run
 * import { FleetConnection, SkillPublisher } from '@skillstoke/fleet'
 *
 * await using fleet = new FleetConnection({ servers: 'nats://127.0.0.1:4222' })
 * const publisher = new SkillPublisher(fleet)
 * const { skills } = await publisher.publish('./skills')
 * for (const { name, outcome, version } of skills) console.log(name, outcome, version)
 * ```
 */
export class SkillPublisher {
  readonly #fleet: FleetConnection
  readonly #signer: ManifestSigner | undefined
  readonly #publisher: string

  /** @throws {SkillError} INVALID_OPTION */
  constructor(fleet: FleetConnection, options: SkillPublisherOptions = {}) {
    checkOptions('SkillPublisher', options, KNOWN)
    this.#fleet = fleet
    this.#signer = options.signer
    this.#publisher = options.publisher ?? `${userInfo().username}@${hostname()}`
  }

  /**
   * Publishes the skills of a folder, or the skills that a runtime serves. Unchanged skills keep their version. A skill
   * that is broken is not published, and its last version stays.
   * @throws {SkillError} CHANGED_SINCE_READ if another publisher was first; SKILL_NOT_FOUND for an unknown name;
   * SKILL_INVALID if a named skill is broken; IO_FAILED
   */
  async publish(what: string | SkillRuntime, options: PublishOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.publish()', options, PUBLISH)
    const { isMirror = false, isStaged = false, names } = options
    if (isMirror && (isStaged || names !== undefined))
      throw new SkillError(
        'INVALID_OPTION',
        `isMirror does not go together with ${isStaged ? 'isStaged' : 'names'}`,
      )
    if (typeof what === 'string')
      return await withFolder(what, async found => await this.#publishAll(found, options))
    return await this.#publishAll(listServed(what), options)
  }

  /** Removes a skill from a channel. @throws {SkillError} SKILL_NOT_FOUND, CHANGED_SINCE_READ, IO_FAILED */
  async remove(name: string, options: ChannelOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.remove()', options, CHANNEL)
    const change = await this.#begin(options)
    const head = await this.#readHead(change, name)
    if (head.record?.kind !== 'skill') throw notFound(name, change.channel)
    const planned = { head, record: change.toRemoval(head.record), isStaged: false, expectedSeq: head.seq }
    return await this.#commit(change, [planned], options)
  }

  /**
   * Publishes the files of an earlier version again, as a new version.
   * @throws {SkillError} REVISION_NOT_FOUND if there is no such version, or its files were collected; CHANGED_SINCE_READ
   */
  async rollback(name: string, options: RollbackOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.rollback()', options, ROLLBACK)
    const { version, ...rest } = options
    checkWholeNumber('version', version, 1)
    const change = await this.#begin(rest)
    const { engine, channel } = change
    const records = await readRecords(this.#fleet, engine, { channel, skill: name }, change.signal)
    const head = await this.#readHead(change, name)
    const current = head.record?.kind === 'skill' ? head.record.revision : undefined
    const target = records.find(record =>
      version === undefined
        ? record.kind === 'skill' && record.revision !== current
        : record.version === version,
    )
    if (records.length === 0) throw notFound(name, channel)
    if (target?.kind !== 'skill') {
      const known = records.filter(({ kind }) => kind === 'skill').map(each => each.version)
      throw new SkillError(
        'REVISION_NOT_FOUND',
        version === undefined
          ? `${channel}/${name} has no earlier version with other files`
          : `${channel}/${name} has no version ${version} to go back to; known versions: ${known.join(', ')}`,
        { data: { channel, skill: name, versions: known } },
      )
    }
    await this.#assertStored(engine, target, change.signal)
    const { promotedFrom: _promoted, batch: _batch, ...kept } = target
    const record = { ...kept, ...change.next(head, name, records), rollbackOf: target.version }
    return await this.#commit(change, [{ head, record, isStaged: false, expectedSeq: head.seq }], rest)
  }

  /**
   * Publishes the current versions of one channel in another channel.
   * @throws {SkillError} SKILL_NOT_FOUND, CHANGED_SINCE_READ, IO_FAILED
   */
  async promote(
    { from, to }: { readonly from: string; readonly to: string },
    options: PromoteOptions = {},
  ): Promise<PublishReport> {
    checkOptions('SkillPublisher.promote()', options, PROMOTE)
    checkChannel(from)
    if (options.channel !== undefined)
      throw new SkillError(
        'INVALID_OPTION',
        'promote() takes its channels from its first argument, not from channel',
      )
    if (from === to) throw new SkillError('INVALID_OPTION', `both channels are ${JSON.stringify(from)}`)
    const change = await this.#begin({ ...options, channel: to })
    const names = options.names ?? (await this.#listNames(from))
    const planned = await this.#plan(change, names, async name => {
      const source = await readLeaderHead(this.#fleet, change.engine, { channel: from, skill: name })
      if (source.record?.kind !== 'skill') throw notFound(name, from)
      const { version, rollbackOf: _rollback, batch: _batch, ...kept } = source.record
      return (head, records) =>
        isSame(head, source.record as SkillVersion)
          ? undefined
          : { ...kept, ...change.next(head, name, records), promotedFrom: { channel: from, version } }
    })
    return await this.#commit(change, planned, options)
  }

  /** Makes staged versions live. @throws {SkillError} SKILL_NOT_FOUND if nothing is staged; CHANGED_SINCE_READ */
  async activate(options: PromoteOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.activate()', options, PROMOTE)
    const change = await this.#begin(options)
    const { engine, channel } = change
    const names = options.names ?? (await this.#listNames(channel, true))
    if (names.length === 0)
      throw new SkillError('SKILL_NOT_FOUND', `nothing is staged in the channel ${JSON.stringify(channel)}`)
    const planned: Planned[] = []
    for (const name of names) {
      const staged = await readLeaderHead(this.#fleet, engine, { channel, skill: name, isStaged: true })
      if (staged.record?.kind !== 'skill') throw notFound(name, `${channel}, staged`)
      const head = await this.#readHead(change, name)
      const { batch: _batch, ...kept } = staged.record
      if (!isSame(head, staged.record))
        planned.push({
          head,
          record: { ...kept, ...change.next(head, name, await this.#recordsIfNew(change, head, name)) },
          isStaged: false,
          expectedSeq: head.seq,
        })
      planned.push({
        head: staged,
        record: change.toRemoval(staged.record),
        isStaged: true,
        expectedSeq: staged.seq,
      })
    }
    return await this.#commit(change, planned, options)
  }

  /** Discards staged versions. @throws {SkillError} IO_FAILED */
  async unstage(options: PromoteOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.unstage()', options, PROMOTE)
    const change = await this.#begin(options)
    const { engine, channel } = change
    const planned: Planned[] = []
    for (const name of options.names ?? (await this.#listNames(channel, true))) {
      const staged = await readLeaderHead(this.#fleet, engine, { channel, skill: name, isStaged: true })
      if (staged.record?.kind !== 'skill') continue
      planned.push({
        head: staged,
        record: change.toRemoval(staged.record),
        isStaged: true,
        expectedSeq: staged.seq,
      })
    }
    return await this.#commit(change, planned, options)
  }

  /** Returns the versions of a skill, newest first. @throws {SkillError} SKILL_NOT_FOUND, IO_FAILED */
  async history(name: string, options: FleetStatusOptions = {}): Promise<readonly VersionRecord[]> {
    checkOptions('SkillPublisher.history()', options, HISTORY)
    const { channel = DEFAULT_CHANNEL } = options
    checkChannel(channel)
    const records = await readRecords(this.#fleet, await this.#fleet.open(), { channel, skill: name })
    if (records.length === 0) throw notFound(name, channel)
    return records
  }

  /**
   * Removes old version records, and files that no version needs.
   * @throws {SkillError} IO_FAILED
   */
  async collectGarbage(options: CollectOptions = {}): Promise<CollectReport> {
    return await collectGarbage(this.#fleet, options)
  }

  async #publishAll({ skills, refused }: Publishable, options: PublishOptions): Promise<PublishReport> {
    const { isMirror = false, isStaged = false } = options
    const change = await this.#begin(options)
    const chosen = chooseNames(skills, refused, options.names)
    const idle = isStaged || options.expect !== undefined ? [] : await this.#findIdle(change, chosen, options)
    const idleNames = new Set(idle.map(({ name }) => name))
    const byName = new Map(
      chosen.filter(({ name }) => !idleNames.has(name)).map(skill => [skill.name, skill]),
    )
    const names = [...byName.keys()]
    const pieces = new Map<Digest, Piece>()
    const planned = await this.#plan(
      change,
      names,
      async name => {
        const skill = byName.get(name) as PublishableSkill
        return async (head, records) => {
          if (isSame(head, skill)) return undefined
          const known = knownPieces(head)
          const files = await readFiles(skill, known, pieces)
          const { revision, skillFile } = skill
          const frontmatter = await skill.readFrontmatter()
          return {
            kind: 'skill',
            ...change.next(head, name, records),
            revision,
            frontmatter,
            skillFile,
            files,
          }
        }
      },
      isStaged,
    )
    if (isMirror) planned.push(...(await this.#planRemovals(change, skills, refused)))
    const uploaded = await this.#upload(change, [...pieces.values()], options)
    const report = await this.#commit(change, planned, options, names)
    const { names: named } = options
    const concerned = refused.filter(({ name }) => named === undefined || named.includes(name))
    const all = [...report.skills, ...idle].sort(compareNames)
    return { ...report, skills: all, refused: concerned, uploadedBytes: uploaded }
  }

  /**
   * Finds the skills that need no version, with one read of all heads. So a change of one skill among thousands costs
   * one request and not thousands.
   */
  async #findIdle(
    change: Change,
    skills: readonly PublishableSkill[],
    { keepsRollbacks = false }: PublishOptions,
  ): Promise<readonly PublishedSkill[]> {
    const { feed } = this.#fleet
    await retrying(change.signal, async () => await feed.reload())
    const heads = new Map(listHeads(feed.state, change.channel).map(head => [head.skill, head.manifest]))
    const idle: PublishedSkill[] = []
    for (const { name, revision } of skills) {
      const head = heads.get(name)
      if (head === undefined) continue
      const same = { name, version: head.version, revision: head.revision }
      if (head.revision === revision) idle.push({ ...same, outcome: 'unchanged' })
      else if (keepsRollbacks && (await this.#wasRolledBack(change, head, revision)))
        idle.push({ ...same, outcome: 'rolled-back' })
    }
    return idle
  }

  /** Whether a version between a rollback and its target has these files. */
  async #wasRolledBack(change: Change, head: SkillVersion, revision: Digest): Promise<boolean> {
    const { version, rollbackOf, skill, channel } = head
    if (rollbackOf === undefined) return false
    const records = await readRecords(this.#fleet, change.engine, { channel, skill }, change.signal)
    return records.some(
      record =>
        record.kind === 'skill' &&
        record.revision === revision &&
        record.version > rollbackOf &&
        record.version < version,
    )
  }

  /** Plans the removal of all skills of the channel that are not listed. */
  async #planRemovals(
    change: Change,
    skills: readonly PublishableSkill[],
    refused: readonly RefusedSkill[],
  ): Promise<readonly Planned[]> {
    const kept = new Set([...skills, ...refused].map(({ name }) => name))
    const others = (await this.#listNames(change.channel)).filter(name => !kept.has(name))
    if (others.length > 0 && kept.size === 0)
      throw new SkillError(
        'SOURCE_MISSING',
        `there is no skill to publish, and the channel ${JSON.stringify(change.channel)} has ${others.length}; they stay. Remove them one by one if they are to go`,
      )
    const planned: Planned[] = []
    for (const name of others) {
      const head = await this.#readHead(change, name)
      if (head.record?.kind === 'skill')
        planned.push({ head, record: change.toRemoval(head.record), isStaged: false, expectedSeq: head.seq })
    }
    return planned
  }

  async #plan(
    change: Change,
    names: readonly string[],
    prepare: (
      name: string,
    ) => Promise<
      (
        head: LeaderHead,
        records: readonly VersionRecord[],
      ) => SkillVersion | undefined | Promise<SkillVersion | undefined>
    >,
    isStaged: boolean = false,
  ): Promise<Planned[]> {
    const { expect, signal, onProgress } = change.options
    if (expect !== undefined && names.length !== 1)
      throw new SkillError('INVALID_OPTION', `expect is for one skill, and this call is for ${names.length}`)
    let done = 0
    const planOne = async (name: string): Promise<Planned | undefined> => {
      const create = await prepare(name)
      const head = await this.#readHead(change, name)
      const record = await create(head, await this.#recordsIfNew(change, head, name))
      onProgress?.({ step: 'compare', done: ++done, total: names.length })
      if (record === undefined) return undefined
      if (!isStaged) return { head, record, isStaged, expectedSeq: head.seq }
      const staged = await readLeaderHead(this.#fleet, change.engine, { ...record, isStaged })
      return { head, record, isStaged, expectedSeq: staged.seq }
    }
    const planned = await mapConcurrently(names, planOne, AT_ONCE, signal ?? change.signal)
    return planned.filter(each => each !== undefined)
  }

  async #upload(change: Change, pieces: readonly Piece[], options: ChannelOptions): Promise<number> {
    if (options.isDryRun === true || pieces.length === 0) return 0
    let done = 0
    const onPiece = (): void => options.onProgress?.({ step: 'upload', done: ++done, total: pieces.length })
    return (await uploadPieces(change.engine, pieces, change.signal, onPiece)).bytes
  }

  async #commit(
    change: Change,
    planned: readonly Planned[],
    options: ChannelOptions,
    names: readonly string[] = [],
  ): Promise<PublishReport> {
    const { engine, signal, channel } = change
    let committed: readonly CommittedHead[] = []
    if (options.isDryRun !== true) {
      for (const { head, isStaged } of planned)
        if (!isStaged && head.record !== undefined && head.stored !== undefined) {
          const { record, stored } = head
          await retrying(signal, async () => await storeRecord(engine, record, stored.data))
        }
      committed = await commitHeads(this.#fleet, engine, planned, { signer: this.#signer, signal })
      if (planned.length > 0)
        options.onProgress?.({ step: 'commit', done: planned.length, total: planned.length })
    }
    const seqs = new Map(committed.map(({ record, seq }, index) => [planned[index]?.record ?? record, seq]))
    const changed = planned
      .filter(({ isStaged, record }) => !(isStaged && record.kind === 'removal'))
      .map(({ head, record }) => toPublished(head, record, seqs.get(record)))
    const changedNames = new Set(changed.map(({ name }) => name))
    const unchanged: PublishedSkill[] = []
    for (const name of names.filter(each => !changedNames.has(each))) {
      const { record } = await this.#readHead(change, name, { isExpectIgnored: true })
      if (record?.kind === 'skill')
        unchanged.push({ name, outcome: 'unchanged', version: record.version, revision: record.revision })
    }
    const skills = [...changed, ...unchanged].sort(compareNames)
    return { channel, skills, refused: [], uploadedBytes: 0 }
  }

  async #begin(options: ChannelOptions): Promise<Change> {
    const { channel = DEFAULT_CHANNEL } = options
    checkChannel(channel)
    checkWholeNumber('expect', options.expect, 0)
    const engine = await this.#fleet.open()
    const signal = options.signal ?? new AbortController().signal
    // Fails at once if there is no stream. Later requests wait for a new leader, and cannot tell this from no stream.
    await retrying(signal, async () => await engine.readLast(HEADS, EPOCH_SUBJECT, 'leader'))
    return new Change({ engine, channel, signal, options, publisher: this.#publisher })
  }

  /** @throws {SkillError} CHANGED_SINCE_READ if the skill has not the expected version */
  async #readHead(
    { engine, channel, options, signal }: Change,
    name: string,
    { isExpectIgnored = false }: { readonly isExpectIgnored?: boolean } = {},
  ): Promise<LeaderHead> {
    const head = await retrying(
      signal,
      async () => await readLeaderHead(this.#fleet, engine, { channel, skill: name }),
    )
    const version = head.record?.kind === 'skill' ? head.record.version : 0
    if (options.expect === undefined || options.expect === version || isExpectIgnored) return head
    throw new SkillError(
      'CHANGED_SINCE_READ',
      `${channel}/${name} has version ${version}, and not the expected version ${options.expect}`,
      { data: { channel, skill: name, version } },
    )
  }

  /** Reads the records of a skill without a head, because its next version must be higher than all of them. */
  async #recordsIfNew(change: Change, head: LeaderHead, name: string): Promise<readonly VersionRecord[]> {
    return head.record === undefined
      ? await readRecords(this.#fleet, change.engine, { channel: change.channel, skill: name }, change.signal)
      : []
  }

  async #listNames(channel: string, isStaged: boolean = false): Promise<readonly string[]> {
    await this.#fleet.feed.reload()
    return [...this.#fleet.feed.state.heads.values()]
      .filter(head => head.channel === channel && head.isStaged === isStaged)
      .map(({ skill }) => skill)
      .sort()
  }

  /** @throws {SkillError} REVISION_NOT_FOUND */
  async #assertStored(
    engine: NatsEngine,
    { files, version, skill }: SkillVersion,
    signal: AbortSignal,
  ): Promise<void> {
    const check = async (digest: Digest): Promise<void> => {
      if ((await engine.readLast(BLOBS, toBlobSubject(hexOf(digest)), 'any')) === undefined)
        throw new SkillError(
          'REVISION_NOT_FOUND',
          `the files of version ${version} of ${skill} were collected`,
        )
    }
    await mapConcurrently(files.flatMap(piecesOf), check, AT_ONCE, signal)
  }
}

/** One call that changes a channel. */
class Change {
  readonly engine: NatsEngine
  readonly channel: string
  readonly signal: AbortSignal
  readonly options: ChannelOptions
  readonly #publisher: string

  constructor(parts: {
    readonly engine: NatsEngine
    readonly channel: string
    readonly signal: AbortSignal
    readonly options: ChannelOptions
    readonly publisher: string
  }) {
    this.engine = parts.engine
    this.channel = parts.channel
    this.signal = parts.signal
    this.options = parts.options
    this.#publisher = parts.publisher
  }

  /** Returns the fields of the version after a head. */
  next(head: LeaderHead, skill: string, records: readonly VersionRecord[]) {
    const newest = Math.max(head.record?.version ?? 0, ...records.map(({ version }) => version))
    const { note } = this.options
    return {
      channel: this.channel,
      skill,
      version: newest + 1,
      publishId: randomUUID(),
      publisher: this.#publisher,
      at: new Date().toISOString(),
      ...(note === undefined ? {} : { note }),
    }
  }

  toRemoval({ skill, version }: VersionRecord): SkillRemoval {
    const { note } = this.options
    return {
      kind: 'removal',
      channel: this.channel,
      skill,
      version: version + 1,
      publishId: randomUUID(),
      publisher: this.#publisher,
      at: new Date().toISOString(),
      ...(note === undefined ? {} : { note }),
    }
  }
}

function compareNames(a: PublishedSkill, b: PublishedSkill): number {
  return a.name < b.name ? -1 : 1
}

function isSame({ record }: LeaderHead, { revision }: { readonly revision: Digest }): boolean {
  return record?.kind === 'skill' && record.revision === revision
}

function knownPieces({ record }: LeaderHead): ReadonlyMap<Digest, ManifestFile> {
  return new Map(record?.kind === 'skill' ? record.files.map(file => [file.digest, file]) : [])
}

/** Reads the files that the current head does not have, and collects their pieces. */
async function readFiles(
  skill: PublishableSkill,
  known: ReadonlyMap<Digest, ManifestFile>,
  pieces: Map<Digest, Piece>,
): Promise<readonly ManifestFile[]> {
  const files: ManifestFile[] = []
  for (const { path, digest, size, isExecutable } of skill.files) {
    const before = known.get(digest)
    const file = { path, digest, size, isExecutable }
    if (before !== undefined) {
      files.push(before.chunks === undefined ? file : { ...file, chunks: before.chunks })
      continue
    }
    const split = splitFile(await skill.readFile(path))
    for (const piece of split) pieces.set(piece.digest, piece)
    files.push(size <= CHUNK_BYTES ? file : { ...file, chunks: split.map(piece => piece.digest) })
  }
  return files
}

/** @throws {SkillError} SKILL_NOT_FOUND, SKILL_INVALID */
function chooseNames(
  skills: readonly PublishableSkill[],
  refused: readonly RefusedSkill[],
  names: readonly string[] | undefined,
): readonly PublishableSkill[] {
  if (names === undefined) return skills
  return names.map(name => {
    const skill = skills.find(each => each.name === name)
    if (skill !== undefined) return skill
    const fault = refused.find(each => each.name === name)
    if (fault !== undefined) throw new SkillError('SKILL_INVALID', `${JSON.stringify(name)}: ${fault.reason}`)
    const available = skills.map(each => each.name)
    throw new SkillError(
      'SKILL_NOT_FOUND',
      `there is no skill ${JSON.stringify(name)} to publish; there are: ${available.join(', ')}`,
      { data: { available } },
    )
  })
}

function toPublished(
  { record: before }: LeaderHead,
  record: VersionRecord,
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

function notFound(name: string, channel: string): SkillError {
  return new SkillError('SKILL_NOT_FOUND', `the channel ${channel} has no skill ${JSON.stringify(name)}`, {
    data: { channel, skill: name },
  })
}
