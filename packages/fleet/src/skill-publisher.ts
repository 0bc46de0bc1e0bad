import { hostname, userInfo } from 'node:os'
import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { checkOptions, checkWholeNumber, type KnownOptions, quote } from '@skillstoke/core/internal'
import { uploadPieces } from './blobs.ts'
import { type ChannelAuthor, ChannelChange, contentOf, notFound, type Planned } from './channel-change.ts'
import { type CollectOptions, type CollectReport, collectGarbage } from './collect-garbage.ts'
import type { FleetConnection } from './fleet-connection.ts'
import type { FleetStatusOptions } from './fleet-status.ts'
import { checkChannel, DEFAULT_CHANNEL } from './fleet-subjects.ts'
import type { SkillVersion, VersionRecord } from './manifest.ts'
import type {
  ChannelOptions,
  PromoteOptions,
  PublishOptions,
  PublishReport,
  RollbackOptions,
} from './publish-options.ts'
import { planPublication } from './publish-plan.ts'
import { listServed, type Publishable, withFolder } from './publishable.ts'
import type { ManifestSigner } from './signing.ts'
import { type LeaderHead, readLeaderHead, readRecords } from './version-log.ts'

export interface SkillPublisherOptions {
  /** Signs every version. Needed if agents have `trustedKeys`. @default versions are not signed */
  readonly signer?: ManifestSigner
  /** Name that is recorded with each version. @default user and host of this process */
  readonly publisher?: string
}

const KNOWN: KnownOptions<SkillPublisherOptions> = { signer: true, publisher: true }

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
  isRepair: true,
}
const ROLLBACK: KnownOptions<RollbackOptions> = { ...CHANNEL, version: true }
const PROMOTE: KnownOptions<PromoteOptions> = { ...CHANNEL, names: true }
const { expect: _expect, ...UNSTAGE }: KnownOptions<PromoteOptions> = PROMOTE
const HISTORY: KnownOptions<FleetStatusOptions> = { channel: true }

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
  /** The connection over which everything is published. */
  readonly connection: FleetConnection
  readonly #author: ChannelAuthor

  /** @throws {SkillError} INVALID_OPTION */
  constructor(fleet: FleetConnection, options: SkillPublisherOptions = {}) {
    checkOptions('SkillPublisher', options, KNOWN)
    const { signer, publisher = `${userInfo().username}@${hostname()}` } = options
    if (typeof publisher !== 'string' || publisher === '')
      throw new SkillError('INVALID_OPTION', `publisher is ${quote(publisher)}; use a name`)
    this.connection = fleet
    this.#author = { fleet, signer, publisher }
  }

  /**
   * Publishes the skills of a folder, or the skills that a runtime serves. Unchanged skills keep their version. A skill
   * that is broken is not published, and its last version stays.
   * @throws {SkillError} CHANGED_SINCE_READ if another publisher was first; SKILL_NOT_FOUND for an unknown name;
   * SKILL_INVALID if a named skill is broken; SOURCE_MISSING if a mirror would remove skills of a source that was not read;
   * INVALID_OPTION if the fleet needs a signer; IO_FAILED
   */
  async publish(what: string | SkillRuntime, options: PublishOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.publish()', options, PUBLISH)
    const { isMirror = false, isStaged = false, names } = options
    const conflicting = isStaged ? 'isStaged' : names === undefined ? 'expect' : 'names'
    if (isMirror && (isStaged || names !== undefined || options.expect !== undefined))
      throw new SkillError('INVALID_OPTION', `isMirror does not go together with ${conflicting}`)
    if (typeof what === 'string')
      return await withFolder(what, async found => await this.#publish(found, options))
    return await this.#publish(listServed(what), options)
  }

  /** Removes a skill from a channel. @throws {SkillError} SKILL_NOT_FOUND, CHANGED_SINCE_READ, IO_FAILED */
  async remove(name: string, options: ChannelOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.remove()', options, CHANNEL)
    const change = await ChannelChange.begin(this.#author, options)
    const head = await change.readHead(name)
    if (change.isRemoved(head)) throw notFound(name, change.channel)
    return await change.commit({ planned: [await change.planRemoval(name, head)], unchanged: [] })
  }

  /**
   * Publishes the files of an earlier version again, as a new version.
   * @throws {SkillError} REVISION_NOT_FOUND if there is no such version, or its files were collected; CHANGED_SINCE_READ
   */
  async rollback(name: string, options: RollbackOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.rollback()', options, ROLLBACK)
    const { version } = options
    checkWholeNumber('version', version, 1)
    const change = await ChannelChange.begin(this.#author, options)
    const { fleet, engine, channel, signal } = change
    const records = await readRecords(fleet, engine, { channel, skill: name }, signal)
    const head = await change.readHead(name)
    const target = findTarget(records, head, version)
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
    if (change.isSame(head, target)) {
      const { version: current, revision } = head.record as SkillVersion
      return await change.commit({
        planned: [],
        unchanged: [{ name, outcome: 'unchanged', version: current, revision }],
      })
    }
    if (options.isDryRun !== true) await change.renewFiles(target.files)
    const { note: _note, ...content } = contentOf(target)
    const record = await change.createVersion(name, { ...content, rollbackOf: target.version }, [head])
    const planned = { head, record, isStaged: false, expectedSeq: head.seq }
    return await change.commit({ planned: [planned], unchanged: [] })
  }

  /**
   * Publishes the current versions of one channel in another channel.
   * @throws {SkillError} SKILL_NOT_FOUND, SKILL_INVALID if no agent serves a version yet, CHANGED_SINCE_READ, IO_FAILED
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
    if (from === to) throw new SkillError('INVALID_OPTION', `both channels are ${quote(from)}`)
    const change = await ChannelChange.begin(this.#author, { ...options, channel: to })
    const { fleet, engine, signal } = change
    const names = options.names ?? change.listNames(from)
    if (names.length === 0)
      throw new SkillError('SKILL_NOT_FOUND', `the channel ${quote(from)} has no skills to promote`)
    change.assertExpectable(names)
    const plan = await change.plan(names, async (name, head) => {
      const { record, stored } = await readLeaderHead(fleet, engine, { channel: from, skill: name }, signal)
      if (record !== undefined && stored !== undefined && change.isHeldBack(stored))
        throw new SkillError(
          'SKILL_INVALID',
          `agents do not apply version ${record.version} of ${from}/${name}, because its publication is not complete; publish or remove it again`,
        )
      if (record?.kind !== 'skill') throw notFound(name, from)
      if (change.isSame(head, record)) return undefined
      if (options.isDryRun !== true) await change.renewFiles(record.files)
      return { ...contentOf(record), promotedFrom: { channel: from, version: record.version } }
    })
    return await change.commit(plan)
  }

  /**
   * Makes staged versions live.
   * @throws {SkillError} SKILL_NOT_FOUND if nothing is staged; CHANGED_SINCE_READ if another version was published after the
   * staged one, unless `expect` names it
   */
  async activate(options: PromoteOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.activate()', options, PROMOTE)
    const change = await ChannelChange.begin(this.#author, options)
    const { channel } = change
    const names = [...new Set(options.names ?? change.listNames(channel, { isStaged: true }))]
    if (names.length === 0)
      throw new SkillError('SKILL_NOT_FOUND', `nothing is staged in the channel ${quote(channel)}`)
    change.assertExpectable(names)
    const planned: Planned[] = []
    for (const name of names) {
      const staged = await change.readStaged(name)
      if (change.isRemoved(staged)) throw notStaged(name, channel)
      const head = await change.readHead(name)
      const record = findActivated(staged, head, change)
      if (record !== undefined && !change.isSame(head, record)) {
        if (record !== head.record) assertNotOvertaken(head, record, options)
        const least = { least: record.version }
        const live = await change.createVersion(name, contentOf(record), [head], least)
        planned.push({ head, record: live, isStaged: false, expectedSeq: head.seq })
      }
      planned.push(change.planUnstaging(name, staged))
    }
    return await change.commit({ planned, unchanged: [] })
  }

  /** Discards staged versions. @throws {SkillError} SKILL_NOT_FOUND if a named skill is not staged; IO_FAILED */
  async unstage(options: Omit<PromoteOptions, 'expect'> = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.unstage()', options, UNSTAGE)
    const change = await ChannelChange.begin(this.#author, options)
    const planned: Planned[] = []
    const names = options.names ?? change.listNames(change.channel, { isStaged: true })
    for (const name of new Set(names)) {
      const staged = await change.readStaged(name)
      if (!change.isRemoved(staged)) planned.push(change.planUnstaging(name, staged))
      else if (options.names !== undefined) throw notStaged(name, change.channel)
    }
    return await change.commit({ planned, unchanged: [] })
  }

  /** Returns the versions of a skill, newest first. @throws {SkillError} SKILL_NOT_FOUND, IO_FAILED */
  async history(name: string, options: FleetStatusOptions = {}): Promise<readonly VersionRecord[]> {
    checkOptions('SkillPublisher.history()', options, HISTORY)
    const { channel = DEFAULT_CHANNEL } = options
    checkChannel(channel)
    const engine = await this.connection.open()
    await this.connection.feed.reload()
    const records = await readRecords(this.connection, engine, { channel, skill: name })
    if (records.length === 0) throw notFound(name, channel)
    return records
  }

  /**
   * Removes old version records, and files that no version needs.
   * @throws {SkillError} IO_FAILED
   */
  async collectGarbage(options: CollectOptions = {}): Promise<CollectReport> {
    return await collectGarbage(this.connection, options)
  }

  async #publish(found: Publishable, options: PublishOptions): Promise<PublishReport> {
    const change = await ChannelChange.begin(this.#author, options)
    const { pieces, ...plan } = await planPublication(change, found, options)
    let [done, uploadedBytes] = [0, 0]
    const onPiece = (): void => options.onProgress?.({ step: 'upload', done: ++done, total: pieces.length })
    if (options.isDryRun !== true)
      uploadedBytes = (await uploadPieces(change.engine, pieces, change.signal, onPiece)).bytes
    const { names, isMirror = false } = options
    const refused = found.refused.filter(({ name }) => names === undefined || names.includes(name))
    const isWhole = isMirror && found.skills.length > 0 && refused.length + found.awaited.length === 0
    const isFilling = isWhole && (await change.readList()) === undefined
    const report = await change.commit(plan, isFilling ? await change.planFilling(plan) : undefined)
    return { ...report, refused, uploadedBytes }
  }
}

/**
 * Returns the version to go back to. By default it is the newest one with other files than the current one. After a
 * rollback, only versions before its target count, so that a second rollback does not go forward.
 */
function findTarget(
  records: readonly VersionRecord[],
  { record: head }: LeaderHead,
  version: number | undefined,
): VersionRecord | undefined {
  if (version !== undefined) return records.find(record => record.version === version)
  const current = head?.kind === 'skill' ? head : undefined
  const limit = current?.rollbackOf ?? Infinity
  return records.find(
    record => record.kind === 'skill' && record.revision !== current?.revision && record.version < limit,
  )
}

/**
 * Returns the version that an activation makes live. An activation that ended midway may have unstaged the version, and
 * then its content is at the live head that waits. Returns `undefined` if the version was being discarded.
 */
function findActivated(
  { record: staged }: LeaderHead,
  { record: live, stored }: LeaderHead,
  change: ChannelChange,
): SkillVersion | undefined {
  if (staged?.kind === 'skill') return staged
  return live?.kind === 'skill' && stored !== undefined && change.isHeldBack(stored) ? live : undefined
}

function notStaged(name: string, channel: string): SkillError {
  const message = `no version of ${quote(name)} is staged in the channel ${quote(channel)}`
  return new SkillError('SKILL_NOT_FOUND', message, { data: { channel, skill: name } })
}

/** @throws {SkillError} CHANGED_SINCE_READ */
function assertNotOvertaken(
  { record: live }: LeaderHead,
  { channel, skill, version }: SkillVersion,
  { expect }: ChannelOptions,
): void {
  if (live?.kind !== 'skill' || live.version < version || expect !== undefined) return
  throw new SkillError(
    'CHANGED_SINCE_READ',
    `${channel}/${skill} has version ${live.version} now, which ${live.publisher} published after version ${version} was staged; stage again, or expect version ${live.version}`,
    { data: { channel, skill, version: live.version } },
  )
}
