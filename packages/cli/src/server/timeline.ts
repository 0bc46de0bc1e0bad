import type { Diagnostic, RegistryUpdate, SkillChange, SkillReport } from '@skillstoke/core'
import { toGenerationId } from '@skillstoke/core/internal'
import type { TimelineChange, TimelineEntry, TimelineProblem } from '../client/api-types.ts'
import { formatPlace } from '../terminal/output.ts'
import { ageOfChange, ageOfReport } from './save-age.ts'

/**
 * Maximum length of each of the lists `changes`, `problems` and `fixed` in one entry. One checkout may change thousands
 * of skills.
 */
const MAX_TOLD = 100

/** Converts an update to a timeline entry. `now` is the wall time at which the update became visible. */
export function toTimelineEntry(update: RegistryUpdate, now: number): TimelineEntry {
  const { previous, generation, changes, reports } = update
  const ages = [
    ...changes.map(change => ageOfChange(change, update)),
    ...reports.filter(report => report.status === 'broken').map(report => ageOfReport(report, now)),
  ].filter(age => age !== undefined)
  const problems = reports.filter(report => report.status !== 'ok')
  const fixed = reports.filter(
    ({ name, status }) => status === 'ok' && !changes.some(change => change.name === name),
  )
  return {
    at: new Date(now).toISOString(),
    generation: toGenerationId(generation),
    isDigestChanged: previous.digest !== generation.digest,
    detectedMs: ages.length === 0 ? null : Math.min(...ages),
    changes: changes.slice(0, MAX_TOLD).map(toTimelineChange),
    problems: problems.slice(0, MAX_TOLD).map(toProblem),
    fixed: fixed.slice(0, MAX_TOLD).map(report => report.name),
    omitted: [changes, problems, fixed].reduce((sum, { length }) => sum + Math.max(0, length - MAX_TOLD), 0),
  }
}

export function toTimelineChange(change: SkillChange): TimelineChange {
  const { kind, name } = change
  switch (change.kind) {
    case 'added':
      return { kind, name, from: null, to: change.skill.revision, facets: [] }
    case 'removed':
      return { kind, name, from: change.skill.revision, to: null, facets: [] }
    case 'modified':
      return {
        kind,
        name,
        from: change.oldSkill.revision,
        to: change.newSkill.revision,
        facets: change.facets,
      }
    default:
      return change satisfies never
  }
}

/** Describes the problem of a folder in one line. */
export function toProblem({ name, status, serving, diagnostics }: SkillReport): TimelineProblem {
  const find = (wanted: Diagnostic['severity']): Diagnostic | undefined =>
    diagnostics.find(({ severity }) => severity === wanted)
  const worst = find('error') ?? find('warning') ?? diagnostics[0]
  return {
    name,
    status,
    serving: serving ?? null,
    message: worst?.message ?? status,
    place: worst === undefined ? '' : formatPlace(worst),
  }
}
