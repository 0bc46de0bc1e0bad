import type { Generation, SourceReport } from '../registry/generation.ts'
import { SKILL_STATUSES, type SkillReport, type SkillStatus } from '../registry/skill-report.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import { isNearlySkillFile } from '../source/describe-not-skill.ts'
import type { NotSkill, NotSkills } from '../source/not-skill.ts'
import type { SourceStatus } from '../sync/source-sync.ts'
import type { Viewing } from './answering.ts'
import { withUnreported } from './doubts.ts'
import { type GenerationId, type SkillRow, toGenerationId } from './skill-row.ts'
import { type CatalogUse, viewCatalog } from './visibility.ts'

/** Every skill folder in the sources, sorted by name and then by precedence. */
export interface SkillList {
  readonly generation: GenerationId
  readonly skills: readonly SkillRow[]
  readonly sources: readonly SourceReport[]
  readonly catalog: CatalogUse
}

/** The sources, how many skills they have, and the catalog of a new conversation. */
export interface SourcesStatus {
  readonly generation: GenerationId
  /** Number of skills with each status. */
  readonly counts: Readonly<Record<SkillStatus, number>>
  readonly sources: readonly ListedSource[]
  readonly catalog: CatalogUse
}

/** State of one source, for example its path, how it is watched, and its diagnostics. */
export interface ListedSource extends SourceStatus {
  /** Path or URL of the source, as the user wrote it. */
  readonly path: string
  /** Number of skills found in the source. */
  readonly skills: number
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Lists every skill folder. A skill that waits for approval has all its diagnostics.
 * @param rowOf creates the row of a report, for a caller that knows tokens and uses
 */
export async function listSkills(
  viewing: Viewing,
  rowOf?: (report: SkillReport) => SkillRow,
): Promise<SkillList> {
  const { skills } = viewing
  const { current } = skills
  const view = viewCatalog(viewing, current)
  const toRow = rowOf ?? view.toRow
  const rows = current
    .reports()
    .map(async report => toRow(report.status === 'pending' ? await withUnreported(report, skills) : report))
  return {
    generation: toGenerationId(current),
    skills: await Promise.all(rows),
    sources: current.sources(),
    catalog: view.use,
  }
}

/**
 * Returns the number of skills with each status, and the state of each source. `paths` contains one path per source, in
 * the same order.
 * @param statusOf returns the status of a report, for a caller that checks skills
 */
export function countSkills(
  skills: SkillRuntime,
  paths: readonly string[],
  generation: Generation = skills.current,
  statusOf: (report: SkillReport) => SkillStatus = report => report.status,
): Omit<SourcesStatus, 'catalog'> {
  const counts = Object.fromEntries(SKILL_STATUSES.map(status => [status, 0])) as Record<SkillStatus, number>
  const found = new Map<string, number>()
  for (const report of generation.reports()) {
    counts[statusOf(report)]++
    found.set(report.source, (found.get(report.source) ?? 0) + 1)
  }
  const sources = skills.status().map((source, index) => ({
    ...source,
    path: paths[index] ?? source.origin,
    skills: found.get(source.label) ?? 0,
    diagnostics: generation.sources().find(each => each.label === source.label)?.diagnostics ?? [],
  }))
  return { generation: toGenerationId(generation), counts, sources }
}

/**
 * Lists the files and folders in the sources that are not skills. Folders in `.trash` are not reported as mistakes,
 * because no person expects them to be skills.
 */
export async function listNotSkills(skills: SkillRuntime): Promise<NotSkills> {
  const { found, isComplete } = await skills.findNotSkills()
  const isTrash = ({ location }: NotSkill): boolean => location.split('/').includes('.trash')
  return { found: found.map(each => (isTrash(each) ? { ...each, isExpected: false } : each)), isComplete }
}

/** Whether a file or folder looks like a skill whose SKILL.md has the wrong name. */
export function isMisnamed({ reason, path }: Pick<NotSkill, 'reason' | 'path'>): boolean {
  return reason === 'misnamed' || (reason === 'file' && isNearlySkillFile(path.replace(/^.*[/\\]/, '')))
}
