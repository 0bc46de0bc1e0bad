import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import type { RevisionDiff } from '../history/compare-revisions.ts'
import type { RegistryUpdate } from '../registry/registry-update.ts'
import { type SkillReport, type SkillStatus, targetOf } from '../registry/skill-report.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { diffFiles } from '../skill/diff-skills.ts'
import { type Digest, shortDigest } from '../skill/digest.ts'
import { showFile } from '../skill/shown-bytes.ts'
import type { Skill } from '../skill/skill.ts'
import { MAX_LOOK_MS } from '../sync/source-readers.ts'
import type { Answering } from './answering.ts'

/** The difference of two revisions of a skill, with the texts of all files that differ. */
export interface SkillDiff extends Omit<RevisionDiff, 'to'> {
  /**
   * `refused` and `waiting` mean that the diff compares the served revision with a newest text that is not served: the
   * text is broken, or waits for a decision.
   */
  readonly kind: 'refused' | 'waiting' | 'changed'
  readonly name: string
  /** The newer revision. Null if the newer text is broken; then `fields` and `files` are empty. */
  readonly to: Digest | null
  /** Unified diff. Empty if nothing differs. */
  readonly text: string
}

/** Statuses of a valid revision that a decision or a missing approval keeps from being served. */
const WAITING: readonly SkillStatus[] = ['pending', 'rejected', 'pinned']

/**
 * Compares two revisions, as `SkillHistory.diff()` chooses them. If none is given and the newest text is broken, compares
 * that text with the served one. If several folders have the name, prefers a folder whose newest text is not served.
 * @throws {SkillError} as `SkillHistory.diff()`
 */
export async function diffSkill(
  target: string,
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  answering: Answering,
): Promise<SkillDiff> {
  const { skills } = answering
  const unserved = from === undefined && to === undefined ? await findUnserved(target, skills) : undefined
  if (unserved?.status === 'broken') return await describeRefused(unserved, answering)
  const asked = unserved === undefined ? target : targetOf(unserved)
  const { before, after, ...difference } = await skills.history.diff(asked, from, to)
  const text = await describeModified(before, after, answering)
  return { kind: unserved === undefined ? 'changed' : 'waiting', name: after.name, ...difference, text }
}

/** Returns the folder whose newest text is broken, or waits for a decision. */
async function findUnserved(target: string, skills: SkillRuntime): Promise<SkillReport | undefined> {
  const generation = await skills.fresh({ maxWaitMs: MAX_LOOK_MS })
  const meant = generation
    .reports()
    .filter(report => [report.name, `${report.source}/${report.name}`, targetOf(report)].includes(target))
  const isWaiting = ({ status, revision, serving }: SkillReport): boolean =>
    WAITING.includes(status) && revision !== serving
  return meant.find(({ status }) => status === 'broken') ?? meant.find(isWaiting)
}

async function describeRefused(report: SkillReport, answering: Answering): Promise<SkillDiff> {
  const text = await describeRejected(report, answering)
  const nothing = { fields: [], isBodyChanged: false, files: [], newCapabilities: [] }
  return {
    kind: 'refused',
    name: report.name,
    ...defined({ from: report.serving }),
    to: null,
    ...nothing,
    text,
  }
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
