import { describeNewCapabilities } from '../history/capabilities.ts'
import { type SkillReport, targetOf } from '../registry/skill-report.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { type FolderRow, toRow } from './skill-row.ts'

/** A revision that waits for approval. */
export interface WaitingRow extends FolderRow {
  /** Capabilities that the waiting revision declares and the served revision does not. */
  readonly newCapabilities: readonly string[]
  /** Hidden text that only an approval looks for. */
  readonly unreported: readonly Diagnostic[]
}

/** Lists the revisions that wait for approval, with all that a reviewer has to know. */
export async function listWaiting(skills: SkillRuntime): Promise<readonly WaitingRow[]> {
  return await Promise.all(skills.review.pending().map(report => describeWaiting(report, skills)))
}

/** Describes a revision that waits for approval. */
export async function describeWaiting(report: SkillReport, skills: SkillRuntime): Promise<WaitingRow> {
  const { skill, live } = skills.review.revisionsOf(report)
  return {
    ...toRow(report),
    newCapabilities: skill === undefined ? [] : describeNewCapabilities(live, skill),
    unreported: await findUnreported(report, skills),
  }
}

/**
 * Returns the hidden text that only an approval looks for: text in large files, and scripts that are not text. Returns
 * an empty list if the files are not retrieved yet.
 */
export async function findUnreported(
  report: SkillReport,
  skills: SkillRuntime,
): Promise<readonly Diagnostic[]> {
  const { skill } = skills.review.revisionsOf(report)
  if (skill === undefined || !skills.isStored(skill)) return []
  const { place } = skills.review.find(targetOf(report))
  const hidden = await skills.review.findHidden(place, skill.revision)
  return hidden.filter(({ path, line }) => !isReported(report, path, line))
}

/** Returns the report with the hidden text that only an approval looks for. */
export async function withUnreported(report: SkillReport, skills: SkillRuntime): Promise<SkillReport> {
  const found = await findUnreported(report, skills)
  return found.length === 0 ? report : { ...report, diagnostics: [...report.diagnostics, ...found] }
}

function isReported(
  { diagnostics }: SkillReport,
  path: string | undefined,
  line: number | undefined,
): boolean {
  return diagnostics.some(
    each => each.code === 'HIDDEN_TEXT' && each.line === line && each.path?.endsWith(path ?? '') === true,
  )
}
