import { SkillError } from '../errors.ts'
import { describeNewCapabilities } from '../history/capabilities.ts'
import type { RevisionDiff } from '../history/compare-revisions.ts'
import { type SkillReport, type SkillStatus, targetOf } from '../registry/generation.ts'
import type { RegistryUpdate } from '../registry/registry-update.ts'
import { diffFiles } from '../skill/diff-skills.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'
import { showFile } from '../skill/shown-bytes.ts'
import type { Skill } from '../skill/skill.ts'
import { MAX_LOOK_MS } from '../sync/source-readers.ts'
import type { Answering } from './answering.ts'

/** The change of a skill that a person wants to see first. */
export interface SkillDiff {
  /**
   * `refused` and `waiting` mean that the diff compares the refused or waiting text with the served revision. `changed`
   * means that the diff shows the last change.
   */
  readonly kind: 'refused' | 'waiting' | 'changed' | 'none'
  /**
   * The newer of the two compared revisions. Null if the text of the newer revision is broken, or if there is no
   * difference.
   */
  readonly to: Digest | null
  /** Unified diff. Empty if nothing differs. */
  readonly text: string
  /** Capabilities that the newer revision declares and the older revision does not. */
  readonly newCapabilities: readonly string[]
}

/** The difference of two revisions, with the texts of all files that differ. */
export interface Comparison extends RevisionDiff {
  readonly name: string
  /** Unified diff. Empty if nothing differs. */
  readonly text: string
}

/** Statuses of a valid revision that a decision or a missing approval keeps from being served. */
const WAITING: readonly SkillStatus[] = ['pending', 'rejected', 'pinned']
/** Codes of errors which mean that there is nothing to compare. */
const NOTHING = ['SKILL_NOT_FOUND', 'SKILL_INVALID', 'REVISION_NOT_FOUND', 'INVALID_OPTION'] as const
const NONE: SkillDiff = { kind: 'none', to: null, text: '', newCapabilities: [] }

/** Compares two revisions. @throws {SkillError} as `SkillHistory.diff()` */
export async function compareSkill(
  target: string,
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  answering: Answering,
): Promise<Comparison> {
  const { before, after, ...difference } = await answering.skills.history.diff(target, from, to)
  const text = await describeModified(before, after, answering)
  return { name: after.name, ...difference, text }
}

/**
 * Returns the change that was refused or waits for approval. If the skill has no such change, returns the last change.
 * If several folders have the name, prefers a folder with a refused or waiting change.
 */
export async function findDifference(target: string, answering: Answering): Promise<SkillDiff> {
  const { skills } = answering
  const generation = await skills.fresh({ maxWaitMs: MAX_LOOK_MS })
  const meant = generation
    .reports()
    .filter(report => [report.name, `${report.source}/${report.name}`, targetOf(report)].includes(target))
  const refused = meant.find(({ status }) => status === 'broken')
  if (refused !== undefined)
    return { ...NONE, kind: 'refused', text: await describeRejected(refused, answering) }
  const waiting = meant.find(
    ({ status, revision, serving }) => WAITING.includes(status) && revision !== serving,
  )
  const { skill, live } = waiting === undefined ? {} : skills.review.revisionsOf(waiting)
  if (skill !== undefined) return await toDifference('waiting', live, skill, answering)
  if (meant.length > 0 && meant.every(({ serving }) => serving === undefined)) return NONE
  try {
    const { before, after } = await skills.history.diff(target)
    return before === undefined ? NONE : await toDifference('changed', before, after, answering)
  } catch (thrown) {
    if (NOTHING.some(code => SkillError.isInstance(thrown, code))) return NONE
    throw thrown
  }
}

async function toDifference(
  kind: SkillDiff['kind'],
  before: Skill | undefined,
  after: Skill,
  answering: Answering,
): Promise<SkillDiff> {
  const text = await describeModified(before, after, answering)
  return { kind, to: after.revision, text, newCapabilities: describeNewCapabilities(before, after) }
}

/** Describes the changes in the last update, including changes that were rejected. */
export async function describeLastChange(
  update: RegistryUpdate | undefined,
  answering: Answering,
): Promise<string> {
  if (update === undefined) return 'nothing has changed yet'
  const parts: string[] = []
  for (const report of update.reports.filter(each => each.status === 'broken'))
    parts.push(await describeRejected(report, answering))
  for (const change of update.changes) {
    if (change.kind === 'modified')
      parts.push(await describeModified(change.oldSkill, change.newSkill, answering))
    else parts.push(`${change.kind} ${change.name}`)
  }
  return parts.length === 0 ? 'no served skill changed' : parts.join('\n')
}

/** Returns unified diffs of all files that differ. The diffs are labelled with the revisions. */
export async function describeModified(
  before: Skill | undefined,
  after: Skill,
  answering: Answering,
): Promise<string> {
  const [from, to] = [before, after].map(skill =>
    skill === undefined ? 'nothing' : shortDigest(skill.revision),
  )
  const parts: string[] = []
  for (const { path } of diffFiles(before?.files ?? [], after.files)) {
    const [old, now] = [await readText(before, path, answering), await readText(after, path, answering)]
    if (old === now) continue
    const texts = { path: `${after.name}/${path}`, before: old ?? '', after: now ?? '' }
    parts.push(answering.toPatch({ ...texts, from: from ?? '', to: to ?? '' }))
  }
  return parts.join('\n')
}

/** Returns a diff from the served SKILL.md to the rejected SKILL.md. */
async function describeRejected(report: SkillReport, answering: Answering): Promise<string> {
  // Uses the served revision of this folder, because the served skill with this name may come from another folder.
  const serving = answering.skills.review.revisionsOf(report).live
  if (serving === undefined || report.directory === undefined)
    return `${report.name}: no earlier revision to compare with`
  const { skillFile } = serving
  const before = (await readText(serving, skillFile, answering)) ?? ''
  const after = await answering.readNewest(report)
  if (after === undefined) return `${report.name}: the newest text cannot be read`
  return answering.toPatch({
    path: `${report.name}/${skillFile}`,
    before,
    after,
    from: 'live',
    to: 'rejected',
  })
}

async function readText(
  skill: Skill | undefined,
  path: string,
  { skills }: Answering,
): Promise<string | undefined> {
  const file = skill?.files.find(each => each.path === path)
  if (skill === undefined || file === undefined) return undefined
  const summary = `${file.digest} (${file.size} bytes)\n`
  try {
    const { text, isText } = showFile(file, await skills.readFile(skill, path))
    // The digest shows a change of bytes that are not shown.
    return isText ? text : `${text}\n${summary}`
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return summary
    throw thrown
  }
}
