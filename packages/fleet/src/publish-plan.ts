import { type Digest, type Skill, SkillError, type SkillRuntime } from '@skillstoke/core'
import { defined, quote } from '@skillstoke/core/internal'
import { type Piece, piecesOf, type StoredPieces, splitFile } from './blobs.ts'
import { type ChannelChange, type Decision, toUnchanged } from './channel-change.ts'
import { listStored } from './feed-state.ts'
import { parseHeadSubject } from './fleet-subjects.ts'
import {
  CHUNK_BYTES,
  isSignedBy,
  type ManifestFile,
  type SkillVersion,
  type VersionRecord,
} from './manifest.ts'
import type { PublishOptions } from './publish-options.ts'
import { type Publishable, type RefusedSkill, readFrontmatterOf } from './publishable.ts'
import { NO_KEYS } from './signing.ts'
import type { LeaderHead } from './version-log.ts'

/** What a publication commits, and what it uploads before. */
export interface Publication {
  readonly decisions: readonly Decision[]
  readonly pieces: readonly Piece[]
}

/**
 * Compares what is there to publish with a channel. The files of unchanged skills are uploaded too if the servers have lost
 * them.
 * @throws {SkillError} SKILL_NOT_FOUND, SKILL_INVALID, SOURCE_MISSING
 */
export async function planPublication(
  change: ChannelChange,
  found: Publishable,
  options: PublishOptions,
  stored: StoredPieces,
): Promise<Publication> {
  const { isMirror = false, isForced = false, expect, names } = options
  const chosen = chooseNames(found.skills, found.refused, names)
  const byName = new Map(chosen.map(skill => [skill.name, skill]))
  change.assertExpectable([...byName.keys()])
  const upload = new FilesToUpload(found.runtime, stored)
  // An expected version needs a look at the leader's head.
  const idle = expect === undefined ? findIdle(change, [...byName.values()]) : []
  for (const { skill, files } of idle) {
    await upload.addLost(byName.get(skill) as Skill, files)
    byName.delete(skill)
  }
  const decide = async (name: string, head: LeaderHead): Promise<Decision> => {
    const skill = byName.get(name) as Skill
    const { revision, skillFile } = skill
    const takingBack = isForced ? undefined : await findTakingBack(change, name, head, revision)
    if (takingBack !== undefined) {
      await upload.addLost(skill, filesOf(takingBack))
      return await leaveAsItIs(change, head, takingBack, revision)
    }
    const same = change.findSame(head, revision)
    if (same !== undefined) {
      await upload.addLost(skill, same.files)
      return toUnchanged(same)
    }
    const files = await upload.add(skill, filesOf(head.record))
    const frontmatter = await readFrontmatterOf(skill, found.runtime)
    return await change.planVersion(name, head, { revision, frontmatter, skillFile, files })
  }
  const decisions = await change.plan([...byName.keys()], decide)
  const removals = isMirror ? await planRemovals(change, found) : []
  return {
    decisions: [...decisions, ...idle.map(toUnchanged), ...removals],
    pieces: upload.pieces,
  }
}

/**
 * Finds the skills that need no version, with one read of all heads. So a change of one skill among thousands costs one
 * request and not thousands. A skill whose newest head was refused, waits or has no signature of the signer needs a version.
 */
function findIdle(change: ChannelChange, skills: readonly Skill[]): readonly SkillVersion[] {
  const { state, waiting } = change.fleet.feed
  const byName = new Map(listStored(state, change.channel).map(head => [head.skill, head]))
  for (const subject of [...state.refusals.keys(), ...waiting.keys()]) {
    const place = parseHeadSubject(subject)
    if (place?.channel === change.channel) byName.delete(place.skill)
  }
  return skills.flatMap(({ name, revision }) => {
    const head = byName.get(name)
    const isIdle = head?.manifest.revision === revision && isSignedBy(head.data, change.signer)
    return isIdle ? [head.manifest] : []
  })
}

/**
 * Publishes nothing new for a skill whose files were rolled back or removed. If agents do not serve the leader's head, or
 * the signer has not signed it, plans a head with the same content.
 */
async function leaveAsItIs(
  change: ChannelChange,
  head: LeaderHead,
  newest: VersionRecord,
  revision: Digest,
): Promise<Decision> {
  const { skill, version } = newest
  if (!change.isEffective(head, newest)) {
    if (newest.kind === 'removal')
      return await change.planRemoval(skill, head, defined({ isMirrored: newest.isMirrored }))
    const { publication: _earlier, ...content } = newest
    return await change.planVersion(skill, head, content, version + 1)
  }
  return {
    name: skill,
    outcome: 'rolled-back',
    version,
    revision: newest.kind === 'skill' ? newest.revision : revision,
  }
}

/**
 * Returns the newest version of a skill, if a rollback or a removal took these files back after they were last published.
 * Reads the records of one skill, unless agents serve these files.
 */
async function findTakingBack(
  change: ChannelChange,
  skill: string,
  head: LeaderHead,
  revision: Digest,
): Promise<VersionRecord | undefined> {
  const { record, stored } = head
  const isServed = stored !== undefined && !change.isHeldBack(stored)
  if (isServed && hasFiles(record, revision)) return undefined
  const { fleet, channel, log } = change
  const place = { channel, skill }
  // Records that only a replaced key has signed still tell which files were taken back.
  const records = await log.list(place, NO_KEYS, head)
  if (!records.some(each => hasFiles(each, revision))) return undefined
  const [newest] = fleet.trusted.isRequired ? await log.list(place, fleet.trusted, head) : records
  if (newest === undefined) return undefined
  const known = records.filter(({ version }) => version <= newest.version)
  return isTakenBack(known, revision) ? newest : undefined
}

/**
 * Whether files were taken back after they were last published: by a rollback to an earlier version, or by the removal of
 * the skill while it had these files.
 * @param records newest first
 */
function isTakenBack(records: readonly VersionRecord[], revision: Digest): boolean {
  const last = records.find(each => hasFiles(each, revision))
  if (last === undefined) return false
  const later = records.filter(({ version }) => version > last.version)
  const replacedBy = later.findLast(({ kind }) => kind === 'skill')?.version ?? Infinity
  return later.some(each =>
    each.kind === 'removal'
      ? each.isMirrored !== true && each.version < replacedBy
      : (each.rollbackOf ?? Infinity) < last.version,
  )
}

function hasFiles(record: VersionRecord | undefined, revision: Digest): boolean {
  return record?.kind === 'skill' && record.revision === revision
}

/** Plans the removal of all skills of the channel that are not there. @throws {SkillError} SOURCE_MISSING */
async function planRemovals(
  change: ChannelChange,
  { skills, refused, unnamed, awaited }: Publishable,
): Promise<readonly Decision[]> {
  const kept = new Set([...skills, ...refused].map(({ name }) => name))
  const published = new Set(change.listNames(change.channel))
  const others = [...published].filter(name => !kept.has(name))
  if (others.length === 0) return []
  const reason =
    awaited.length > 0
      ? `${awaited.join(', ')} could not be read yet`
      : kept.size === 0
        ? 'there is no skill to publish'
        : undefined
  if (reason !== undefined)
    throw new SkillError(
      'SOURCE_MISSING',
      `${reason}, and the channel ${quote(change.channel)} has ${others.length} other skills; they stay. Remove them one by one if they are to go`,
    )
  // A folder without a readable name may contain any of the others.
  const isKept = unnamed.some(name => !published.has(name))
  const decisions: Decision[] = []
  for (const name of others) {
    const head = await change.readHead(name)
    if (change.isRemoved(head)) continue
    if (isKept) decisions.push({ name, outcome: 'kept', version: head.record?.version ?? 0 })
    else decisions.push(await change.planRemoval(name, head, { isMirrored: true }))
  }
  return decisions
}

function filesOf(record: VersionRecord | undefined): readonly ManifestFile[] {
  return record?.kind === 'skill' ? record.files : []
}

/** @throws {SkillError} SKILL_NOT_FOUND, SKILL_INVALID */
function chooseNames(
  skills: readonly Skill[],
  refused: readonly RefusedSkill[],
  names: readonly string[] | undefined,
): readonly Skill[] {
  if (names === undefined) return skills
  return names.map(name => {
    const skill = skills.find(each => each.name === name)
    if (skill !== undefined) return skill
    const fault = refused.find(each => each.name === name)
    if (fault !== undefined) throw new SkillError('SKILL_INVALID', `${quote(name)}: ${fault.reason}`)
    const available = skills.map(each => each.name)
    throw new SkillError(
      'SKILL_NOT_FOUND',
      `there is no skill ${quote(name)} to publish; there are: ${available.join(', ')}`,
      { data: { available } },
    )
  })
}

/** Collects the pieces of files that the servers do not have, or may not keep. */
class FilesToUpload {
  readonly #runtime: SkillRuntime
  readonly #stored: StoredPieces
  readonly #pieces = new Map<Digest, Piece>()

  constructor(runtime: SkillRuntime, stored: StoredPieces) {
    this.#runtime = runtime
    this.#stored = stored
  }

  get pieces(): readonly Piece[] {
    return [...this.#pieces.values()]
  }

  /**
   * Adds the files of a new version. The servers keep the files of the head, because the commit fails if another one replaces
   * it.
   * @param kept files of the head
   * @param added the files to add
   */
  async add(
    skill: Skill,
    kept: readonly ManifestFile[],
    added: Skill['files'] = skill.files,
  ): Promise<readonly ManifestFile[]> {
    const known = new Map(kept.map(file => [file.digest, file]))
    const files: ManifestFile[] = []
    for (const { path, digest, size, isExecutable } of added) {
      const file = { path, digest, size, isExecutable }
      const before = known.get(digest)
      if (before !== undefined && !this.#isLost(before)) {
        files.push(before.chunks === undefined ? file : { ...file, chunks: before.chunks })
        continue
      }
      const pieces = splitFile(await this.#runtime.readFile(skill, path))
      for (const piece of pieces) this.#pieces.set(piece.digest, piece)
      files.push(size <= CHUNK_BYTES ? file : { ...file, chunks: pieces.map(piece => piece.digest) })
    }
    return files
  }

  /** Adds the files that a skill has in common with its current version, if the servers have lost them. */
  async addLost(skill: Skill, current: readonly ManifestFile[]): Promise<void> {
    const lost = new Set(current.filter(file => this.#isLost(file)).map(({ digest }) => digest))
    if (lost.size > 0)
      await this.add(
        skill,
        [],
        skill.files.filter(each => lost.has(each.digest)),
      )
  }

  #isLost(file: ManifestFile): boolean {
    return !piecesOf(file).every(digest => this.#stored.has(digest))
  }
}
