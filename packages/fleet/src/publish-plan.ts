import { type Digest, SkillError } from '@skillstoke/core'
import { mapConcurrently, quote } from '@skillstoke/core/internal'
import { type Piece, splitFile } from './blobs.ts'
import type { ChannelChange, Plan, Planned, VersionContent } from './channel-change.ts'
import { parseHeadSubject } from './fleet-subjects.ts'
import { CHUNK_BYTES, isSignedBy, type ManifestFile, type VersionRecord } from './manifest.ts'
import type { PublishedSkill, PublishOptions } from './publish-options.ts'
import type { Publishable, PublishableSkill, RefusedSkill } from './publishable.ts'
import { NO_KEYS } from './signing.ts'
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
  change.assertExpectable(chosen.map(({ name }) => name))
  // Only the compare-and-set of a live head makes sure that its files are still in use.
  const isKnown = !isRepair && !isStaged
  // A repair, a staged version and an expected version need a look at the leader's head of each skill.
  const idle = isRepair || isStaged || expect !== undefined ? [] : findIdle(change, chosen)
  const open = without(chosen, idle)
  const kept = options.keepsRollbacks === true ? await planTakenBack(change, open, isStaged) : NO_PLAN
  const keptNames = [...kept.unchanged, ...kept.planned.map(({ record }) => ({ name: record.skill }))]
  const byName = new Map(without(open, keptNames).map(skill => [skill.name, skill]))
  const pieces = new Map<Digest, Piece>()
  const keptSkills = open.filter(({ name }) => !byName.has(name))
  if (isRepair) await collectServed(change, keptSkills, pieces)
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
    planned: [...planned, ...kept.planned, ...removals.planned],
    unchanged: [...unchanged, ...idle, ...kept.unchanged, ...removals.unchanged],
    pieces: [...pieces.values()],
  }
}

/**
 * Finds the skills that need no version, with one read of all heads. So a change of one skill among thousands costs one
 * request and not thousands. A skill whose newest head was refused, waits or has no signature of the signer needs a version.
 */
function findIdle(change: ChannelChange, skills: readonly PublishableSkill[]): readonly PublishedSkill[] {
  const { state, waiting } = change.fleet.feed
  const byName = new Map(listStored(state, change.channel).map(head => [head.skill, head]))
  for (const subject of [...state.refusals.keys(), ...waiting.keys()]) {
    const place = parseHeadSubject(subject)
    if (place?.channel === change.channel && !place.isStaged) byName.delete(place.skill)
  }
  return skills.flatMap(({ name, revision }) => {
    const head = byName.get(name)
    if (head?.manifest.revision !== revision || !isSignedBy(head.data, change.signer)) return []
    return { name, version: head.manifest.version, revision, outcome: 'unchanged' as const }
  })
}

function without(
  skills: readonly PublishableSkill[],
  others: readonly { readonly name: string }[],
): readonly PublishableSkill[] {
  const names = new Set(others.map(({ name }) => name))
  return skills.filter(({ name }) => !names.has(name))
}

/**
 * Finds the skills whose files somebody took back with a rollback or a removal, and leaves them as they are. If agents do
 * not serve the leader's head, or the signer has not signed it, plans a head with the same content.
 */
async function planTakenBack(
  change: ChannelChange,
  skills: readonly PublishableSkill[],
  isStaged: boolean,
): Promise<Plan> {
  const planned: Planned[] = []
  const unchanged: PublishedSkill[] = []
  const planOne = async ({ name, revision }: PublishableSkill): Promise<void> => {
    const head = await change.readHead(name)
    const newest = await findTakingBack(change, name, head, revision)
    if (newest === undefined) return
    if (!isStaged && !change.isEffective(head, newest)) planned.push(await change.planAgain(head, newest))
    else
      unchanged.push({
        name,
        outcome: 'rolled-back',
        version: newest.version,
        revision: newest.kind === 'skill' ? newest.revision : revision,
      })
  }
  await mapConcurrently(skills, planOne, AT_ONCE, change.signal)
  return { planned, unchanged }
}

/** Collects the pieces of the files that skills have in common with their heads. */
async function collectServed(
  change: ChannelChange,
  skills: readonly PublishableSkill[],
  pieces: Map<Digest, Piece>,
): Promise<void> {
  const heads = new Map(
    listStored(change.fleet.feed.state, change.channel).map(({ skill, manifest }) => [skill, manifest.files]),
  )
  for (const skill of skills) {
    const served = new Set(heads.get(skill.name)?.map(({ digest }) => digest))
    await readFiles({ ...skill, files: skill.files.filter(({ digest }) => served.has(digest)) }, NONE, pieces)
  }
}

/** Returns the newest version of a skill, if it is the rollback or removal that took these files back. */
async function findTakingBack(
  change: ChannelChange,
  skill: string,
  { record, stored }: LeaderHead,
  revision: Digest,
): Promise<VersionRecord | undefined> {
  const isServed = stored !== undefined && !change.isHeldBack(stored)
  if (isServed && record?.kind === 'skill' && record.rollbackOf === undefined) return undefined
  const { fleet, engine, channel, signal } = change
  const place = { channel, skill }
  // Records that only a replaced key has signed still tell which files were taken back.
  const records = await readRecords({ trusted: NO_KEYS, feed: fleet.feed }, engine, place, signal)
  if (records.length === 0) return undefined
  const [newest] = fleet.trusted.isRequired ? await readRecords(fleet, engine, place, signal) : records
  if (newest === undefined) return undefined
  const earlier = records.filter(each => each.version < newest.version)
  if (newest.kind === 'removal') {
    const [before] = earlier
    const isOwn = before?.kind === 'skill' && before.revision === revision
    return newest.isMirrored !== true && isOwn ? newest : undefined
  }
  const { rollbackOf = Infinity } = newest
  const isBetween = earlier.some(
    each => each.kind === 'skill' && each.revision === revision && each.version > rollbackOf,
  )
  return isBetween && newest.revision !== revision ? newest : undefined
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
    if (change.isRemoved(head)) continue
    if (isKept) unchanged.push({ name, outcome: 'kept', version: head.record?.version ?? 0 })
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
