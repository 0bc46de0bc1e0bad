import { createSkillRuntime, type Skill, SkillError, type SkillRuntime } from '@skillstoke/core'
import { checkOptions, type KnownOptions, number, quote, whole } from '@skillstoke/core/internal'
import { directory } from '@skillstoke/core/node'
import { renewFiles, StoredPieces, uploadPieces } from './blobs.ts'
import { type ChannelAuthor, ChannelChange, contentOf, notFound, toUnchanged } from './channel-change.ts'
import { type CollectOptions, type CollectReport, collectGarbage } from './collect-garbage.ts'
import type { FleetConnection } from './fleet-connection.ts'
import type { FleetStatusOptions } from './fleet-status.ts'
import { checkChannel, DEFAULT_CHANNEL } from './fleet-subjects.ts'
import type { VersionRecord } from './manifest.ts'
import type {
  ChannelOptions,
  PromoteOptions,
  PublishOptions,
  PublishReport,
  RollbackOptions,
} from './publish-options.ts'
import { planPublication } from './publish-plan.ts'
import { listServed, type Publishable } from './publishable.ts'
import { NEVER, retrying } from './retries.ts'
import type { ManifestSigner } from './signing.ts'
import { type LeaderHead, VersionLog } from './version-log.ts'
import { LONGEST_PREFETCH_MS, waitForFiles } from './wait-for-files.ts'

export interface SkillPublisherOptions {
  /** Signs every version. Needed if agents have `trustedKeys`. @default versions are not signed */
  readonly signer?: ManifestSigner
  /** Name that is recorded with each version. @default user and host of this process */
  readonly publisher?: string
  /** Returns why a skill must not be published, or `undefined`. @default only folders with a fault are refused */
  readonly findFault?: (skill: Skill, runtime: SkillRuntime) => Promise<string | undefined>
}

const KNOWN: KnownOptions<SkillPublisherOptions> = { signer: true, publisher: true, findFault: true }

const CHANNEL: KnownOptions<ChannelOptions> = {
  channel: true,
  expect: whole(0),
  note: true,
  isDryRun: true,
  signal: true,
  onProgress: true,
}
const PUBLISH: KnownOptions<PublishOptions> = {
  ...CHANNEL,
  names: true,
  isMirror: true,
  isForced: true,
  prefetchMs: number(0, LONGEST_PREFETCH_MS),
}
const ROLLBACK: KnownOptions<RollbackOptions> = { ...CHANNEL, version: whole(1) }
const PROMOTE: KnownOptions<PromoteOptions> = { ...CHANNEL, names: true }
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
  readonly #findFault: SkillPublisherOptions['findFault']
  readonly #stored: StoredPieces = new StoredPieces()

  /** @throws {SkillError} INVALID_OPTION */
  constructor(fleet: FleetConnection, options: SkillPublisherOptions = {}) {
    checkOptions('SkillPublisher', options, KNOWN)
    const { signer, publisher } = options
    if (publisher !== undefined && (typeof publisher !== 'string' || publisher === ''))
      throw new SkillError('INVALID_OPTION', `publisher is ${quote(publisher)}; use a name`)
    this.connection = fleet
    this.#author = { fleet, signer, publisher }
    this.#findFault = options.findFault
  }

  /**
   * Publishes the skills of a folder, or the skills that a runtime serves. Unchanged skills keep their version. A skill
   * that is broken is not published, and its last version stays. A skill whose files a rollback or a removal took back after
   * they were last published stays as it is, also after later versions, unless `isForced` is set. This is known as long as
   * `history()` lists the versions concerned.
   * @throws {SkillError} CHANGED_SINCE_READ if another publisher was first; NOT_FOUND if the folder has no skill;
   * SKILL_NOT_FOUND for an unknown name;
   * SKILL_INVALID if a named skill is broken; SOURCE_MISSING if a mirror would remove skills of a source that was not read;
   * INVALID_OPTION if the fleet needs a signer; TIMED_OUT if agents do not have the files in time; IO_FAILED
   */
  async publish(what: string | SkillRuntime, options: PublishOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.publish()', options, PUBLISH)
    const { isMirror = false, names, expect } = options
    if (isMirror && (names !== undefined || expect !== undefined)) {
      const conflicting = names === undefined ? 'expect' : 'names'
      throw new SkillError('INVALID_OPTION', `isMirror does not go together with ${conflicting}`)
    }
    if (typeof what !== 'string') return await this.#publish(listServed(what), options)
    await using runtime = await createSkillRuntime({ sources: [directory(what, { trust: 'auto' })] })
    const found = listServed(runtime)
    if (found.skills.length > 0 || found.refused.length > 0) return await this.#publish(found, options)
    throw new SkillError(
      'NOT_FOUND',
      `${quote(what)} has no skill; name a folder with a SKILL.md, or a folder that contains such folders`,
    )
  }

  /** Removes a skill from a channel. @throws {SkillError} SKILL_NOT_FOUND, CHANGED_SINCE_READ, IO_FAILED */
  async remove(name: string, options: ChannelOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.remove()', options, CHANNEL)
    const change = await ChannelChange.begin(this.#author, options)
    const head = await change.readHead(name)
    if (change.isRemoved(head)) throw notFound(name, change.channel)
    return await change.commit([await change.planRemoval(name, head)])
  }

  /**
   * Publishes the files of an earlier version again, as a new version.
   * @throws {SkillError} REVISION_NOT_FOUND if there is no such version, or its files were collected; CHANGED_SINCE_READ
   */
  async rollback(name: string, options: RollbackOptions = {}): Promise<PublishReport> {
    checkOptions('SkillPublisher.rollback()', options, ROLLBACK)
    const { version } = options
    const change = await ChannelChange.begin(this.#author, options)
    const { engine, channel, log, signal } = change
    const records = await log.list({ channel, skill: name })
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
    const same = change.findSame(head, target.revision)
    if (same !== undefined) return await change.commit([toUnchanged(same)])
    if (options.isDryRun !== true) await renewFiles(engine, target.files, signal)
    const { note: _note, ...content } = contentOf(target)
    return await change.commit([
      await change.planVersion(name, head, { ...content, rollbackOf: target.version }),
    ])
  }

  /**
   * Publishes the current versions of one channel in another channel, also files that were taken back there.
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
    const { engine, log, signal } = change
    const names = options.names ?? change.listNames(from)
    if (names.length === 0)
      throw new SkillError('SKILL_NOT_FOUND', `the channel ${quote(from)} has no skills to promote`)
    change.assertExpectable(names)
    const plan = await change.plan(names, async (name, head) => {
      const { record, stored } = await log.readHead({ channel: from, skill: name })
      if (record !== undefined && stored !== undefined && change.isHeldBack(stored))
        throw new SkillError(
          'SKILL_INVALID',
          `agents do not apply version ${record.version} of ${from}/${name}, because its publication is not complete; publish or remove it again`,
        )
      if (record?.kind !== 'skill') throw notFound(name, from)
      const same = change.findSame(head, record.revision)
      if (same !== undefined) return toUnchanged(same)
      if (options.isDryRun !== true) await renewFiles(engine, record.files, signal)
      const promotedFrom = { channel: from, version: record.version }
      return await change.planVersion(name, head, { ...contentOf(record), promotedFrom })
    })
    return await change.commit(plan)
  }

  /** Returns the versions of a skill, newest first. @throws {SkillError} SKILL_NOT_FOUND, IO_FAILED */
  async history(name: string, options: FleetStatusOptions = {}): Promise<readonly VersionRecord[]> {
    checkOptions('SkillPublisher.history()', options, HISTORY)
    const { channel = DEFAULT_CHANNEL } = options
    checkChannel(channel)
    const engine = await this.connection.open()
    await this.connection.feed.reload()
    const records = await new VersionLog(this.connection, engine, NEVER).list({ channel, skill: name })
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

  /** Moves the skills that the host refuses to the refused ones. */
  async #examine(found: Publishable): Promise<Publishable> {
    const skills: Skill[] = []
    const refused = [...found.refused]
    for (const skill of found.skills) {
      const reason = await this.#findFault?.(skill, found.runtime)
      if (reason === undefined) skills.push(skill)
      else refused.push({ name: skill.name, reason })
    }
    return { ...found, skills, refused }
  }

  async #publish(served: Publishable, options: PublishOptions): Promise<PublishReport> {
    const found = await this.#examine(served)
    const change = await ChannelChange.begin(this.#author, options)
    const { engine, signal } = change
    await retrying(signal, async () => await this.#stored.refresh(engine))
    const { pieces, decisions } = await planPublication(change, found, options, this.#stored)
    let [done, uploadedBytes] = [0, 0]
    if (options.isDryRun !== true && pieces.length > 0) {
      const onPiece = (): void => options.onProgress?.({ step: 'upload', done: ++done, total: pieces.length })
      uploadedBytes = await uploadPieces(engine, pieces, signal, onPiece)
      await retrying(signal, async () => await this.#stored.add(engine, pieces))
    }
    const { names, isMirror = false, prefetchMs = 0 } = options
    if (prefetchMs > 0 && options.isDryRun !== true) await waitForFiles(change, decisions, options)
    const refused = found.refused.filter(({ name }) => names === undefined || names.includes(name))
    const isWhole = isMirror && found.skills.length > 0 && refused.length + found.awaited.length === 0
    const isFilling = isWhole && (await change.readList()) === undefined
    const report = await change.commit(decisions, isFilling ? await change.planFilling(decisions) : undefined)
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
