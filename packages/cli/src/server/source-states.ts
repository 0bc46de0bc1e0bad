import type { Generation, SkillRuntime, SkillStatus } from '@skillstoke/core'
import { SKILL_STATUSES } from '@skillstoke/core/internal'
import type { ServerStatus } from '../client/api-types.ts'
import { toGenerationId } from './timeline.ts'

/**
 * Returns the number of skills with each status, and the state of each source. `paths` contains one path per source, in
 * the same order.
 */
export function toStatus(
  skills: SkillRuntime,
  generation: Generation,
  paths: readonly string[],
): Pick<ServerStatus, 'generation' | 'counts' | 'sources'> {
  const reports = generation.reports()
  const counts = Object.fromEntries(SKILL_STATUSES.map(status => [status, 0])) as Record<SkillStatus, number>
  const found = new Map<string, number>()
  for (const { status, source } of reports) {
    counts[status]++
    found.set(source, (found.get(source) ?? 0) + 1)
  }
  const sources = skills.status().map((source, index) => ({
    ...source,
    path: paths[index] ?? source.origin,
    skills: found.get(source.label) ?? 0,
    diagnostics: generation.sources().find(each => each.label === source.label)?.diagnostics ?? [],
  }))
  return { generation: toGenerationId(generation), counts, sources }
}
