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

/** The text of one file before and after a change. Null if the file did not exist. */
export interface FileTexts {
  readonly path: string
  readonly before: string | null
  readonly after: string | null
}

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
  /** The files whose texts differ, sorted by path. */
  readonly texts: readonly FileTexts[]
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
  const kind = unserved === undefined ? 'changed' : 'waiting'
  return { kind, name: after.name, ...difference, ...(await compareSkills(before, after, answering)) }
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
  const nothing = { fields: [], isBodyChanged: false, files: [], newCapabilities: [] }
  return {
    kind: 'refused',
    name: report.name,
    ...defined({ from: report.serving }),
    to: null,
    ...nothing,
    ...(await compareRefused(report, answering)),
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
    parts.push((await compareRefused(report, answering)).text)
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
  return (await compareSkills(before, after, answering)).text
}

type ComparedTexts = Pick<SkillDiff, 'text' | 'texts'>

async function compareSkills(
  before: Skill | undefined,
  after: Skill,
  answering: Answering,
): Promise<ComparedTexts> {
  const read = diffFiles(before?.files ?? [], after.files).map(async ({ path }) => ({
    path,
    before: await readText(before, path, answering),
    after: await readText(after, path, answering),
  }))
  const texts = (await Promise.all(read)).filter(each => each.before !== each.after)
  const from = before === undefined ? 'nothing' : shortDigest(before.revision)
  return { texts, text: toPatches(after.name, texts, { from, to: shortDigest(after.revision) }, answering) }
}

/** Compares the served SKILL.md with the rejected SKILL.md. If this is impossible, the text says why. */
async function compareRefused(report: SkillReport, answering: Answering): Promise<ComparedTexts> {
  const { name, directory } = report
  // Uses the served revision of this folder, because the served skill with this name may come from another folder.
  const serving = answering.skills.review.revisionsOf(report).live
  if (serving === undefined || directory === undefined)
    return { texts: [], text: `${name}: no earlier revision to compare with` }
  const { skillFile: path } = serving
  const before = await readText(serving, path, answering)
  const after = await answering.readNewest(report)
  if (after === undefined) return { texts: [], text: `${name}: the newest text cannot be read` }
  const texts = [{ path, before, after }]
  return { texts, text: toPatches(name, texts, { from: 'live', to: 'rejected' }, answering) }
}

function toPatches(
  name: string,
  texts: readonly FileTexts[],
  labels: { readonly from: string; readonly to: string },
  { toPatch }: Answering,
): string {
  return texts
    .map(({ path, before, after }) =>
      toPatch({ path: `${name}/${path}`, before: before ?? '', after: after ?? '', ...labels }),
    )
    .join('\n')
}

async function readText(
  skill: Skill | undefined,
  path: string,
  { skills }: Answering,
): Promise<string | null> {
  const file = skill?.files.find(each => each.path === path)
  if (skill === undefined || file === undefined) return null
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
