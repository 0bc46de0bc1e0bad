import { type Digest, SkillError } from '@skillstoke/core'
import { mapConcurrently, quote } from '@skillstoke/core/internal'
import { type Piece, splitFile } from './blobs.ts'
import type { ChannelChange, Plan, Planned, VersionContent } from './channel-change.ts'
import { parseHeadSubject } from './fleet-subjects.ts'
import {
  CHUNK_BYTES,
  isSignedBy,
  type ManifestFile,
  type SkillRemoval,
  type SkillVersion,
} from './manifest.ts'
import type { PublishedSkill, PublishOptions } from './publish-options.ts'
import type { Publishable, PublishableSkill, RefusedSkill } from './publishable.ts'
import { listStored } from './skill-set.ts'
import { type LeaderHead, readRecords } from './version-log.ts'

const AT_ONCE = 32
const NO_PLAN: Plan = { planned: [], unchanged: [] }
const NONE: ReadonlyMap<Digest, ManifestFile> = new Map()

/** What a publication commits, and what it uploads before. */
export interface Publication extends Plan {
  readonly pieces: readonly Piece[]
}

/** Compares what is there to publish with a channel. @throws {SkillError} SKILL_NOT_FOUND, SKILL_INVALID, SOURCE_MISSING */
export async function planPublication(
  change: ChannelChange,
  found: Publishable,
  options: PublishOptions,
): Promise<Publication> {
  const { isMirror = false, isStaged = false, isRepair = false, expect } = options
  const chosen = chooseNames(found.skills, found.refused, options.names)
  // Only the compare-and-set of a live head makes sure that its files are still in use.
  const isKnown = !isRepair && !isStaged
  // A repair and an expected version need a look at the leader's head of each skill.
  const idle = isRepair || expect !== undefined ? [] : await findIdle(change, chosen, options)
  const idleNames = new Set(idle.map(({ name }) => name))
  const byName = new Map(chosen.filter(({ name }) => !idleNames.has(name)).map(skill => [skill.name, skill]))
  const pieces = new Map<Digest, Piece>()
  const create = async (name: string, head: LeaderHead): Promise<VersionContent | undefined> => {
    const skill = byName.get(name) as PublishableSkill
    const isUnchanged = change.isSame(head, skill)
    if (isUnchanged && !isRepair) return undefined
    const files = await readFiles(skill, isKnown ? knownFiles(head) : NONE, pieces)
    if (isUnchanged) return undefined
    const { revision, skillFile } = skill
    return { revision, frontmatter: await skill.readFrontmatter(), skillFile, files }
  }
  const { planned, unchanged } = await change.plan([...byName.keys()], create, { isStaged })
  const removals = isMirror ? await planRemovals(change, found) : NO_PLAN
  return {
    planned: [...planned, ...removals.planned],
    unchanged: [...unchanged, ...idle, ...removals.unchanged],
    pieces: [...pieces.values()],
  }
}

/**
 * Finds the skills that need no version, with one read of all heads. So a change of one skill among thousands costs one
 * request and not thousands. A skill whose newest head was refused needs a version.
 */
async function findIdle(
  change: ChannelChange,
  skills: readonly PublishableSkill[],
  { keepsRollbacks = false, isStaged = false }: PublishOptions,
): Promise<readonly PublishedSkill[]> {
  const { state, waiting } = change.fleet.feed
  const byName = new Map(listStored(state, change.channel).map(head => [head.skill, head]))
  for (const subject of [...state.refusals.keys(), ...waiting.keys()]) {
    const place = parseHeadSubject(subject)
    if (place?.channel === change.channel && !place.isStaged) byName.delete(place.skill)
  }
  const idle: PublishedSkill[] = []
  const findOne = async ({ name, revision }: PublishableSkill): Promise<void> => {
    const head = byName.get(name)
    if (head === undefined) {
      const removal = keepsRollbacks ? await findRemoval(change, name, revision) : undefined
      if (removal !== undefined)
        idle.push({ name, version: removal.version, revision, outcome: 'rolled-back' })
      return
    }
    const { manifest, data } = head
    const same = { name, version: manifest.version, revision: manifest.revision }
    if (manifest.revision === revision) {
      if (isSignedBy(data, change.signer) && !isStaged) idle.push({ ...same, outcome: 'unchanged' })
    } else if (keepsRollbacks && (await wasRolledBack(change, manifest, revision)))
      idle.push({ ...same, outcome: 'rolled-back' })
  }
  await mapConcurrently(skills, findOne, AT_ONCE, change.signal)
  return idle
}

/** Returns the removal of a skill that had these files, if somebody removed it on purpose. */
async function findRemoval(
  change: ChannelChange,
  skill: string,
  revision: Digest,
): Promise<SkillRemoval | undefined> {
  const { fleet, engine, channel, signal } = change
  const [removal, before] = await readRecords(fleet, engine, { channel, skill }, signal)
  const isOwn = before?.kind === 'skill' && before.revision === revision
  return removal?.kind === 'removal' && removal.isMirrored !== true && isOwn ? removal : undefined
}

/** Whether a version between a rollback and its target has these files. */
async function wasRolledBack(change: ChannelChange, head: SkillVersion, revision: Digest): Promise<boolean> {
  const { version, rollbackOf, skill, channel } = head
  if (rollbackOf === undefined) return false
  const records = await readRecords(change.fleet, change.engine, { channel, skill }, change.signal)
  return records.some(
    record =>
      record.kind === 'skill' &&
      record.revision === revision &&
      record.version > rollbackOf &&
      record.version < version,
  )
}

/** Plans the removal of all skills of the channel that are not there. @throws {SkillError} SOURCE_MISSING */
async function planRemovals(
  change: ChannelChange,
  { skills, refused, unnamed, awaited }: Publishable,
): Promise<Plan> {
  const kept = new Set([...skills, ...refused].map(({ name }) => name))
  const published = new Set(change.listNames(change.channel))
  const others = [...published].filter(name => !kept.has(name))
  if (others.length === 0) return NO_PLAN
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
  const planned: Planned[] = []
  const unchanged: PublishedSkill[] = []
  for (const name of others) {
    const head = await change.readHead(name)
    if (head.record?.kind !== 'skill') continue
    const { version, revision } = head.record
    if (isKept) unchanged.push({ name, outcome: 'kept', version, revision })
    else planned.push(await change.planRemoval(name, head, { isMirrored: true }))
  }
  return { planned, unchanged }
}

function knownFiles({ record }: LeaderHead): ReadonlyMap<Digest, ManifestFile> {
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
    if (fault !== undefined) throw new SkillError('SKILL_INVALID', `${quote(name)}: ${fault.reason}`)
    const available = skills.map(each => each.name)
    throw new SkillError(
      'SKILL_NOT_FOUND',
      `there is no skill ${quote(name)} to publish; there are: ${available.join(', ')}`,
      { data: { available } },
    )
  })
}
