import type { Generation, Skill, SkillReport, SkillRuntime } from '@skillstoke/core'
import { targetOf } from '@skillstoke/core/internal'

/** The folder that a request is about, and the text of it that is shown. */
export interface MeantFolder {
  readonly report: SkillReport
  /** What readers get of it; of a folder that was named by its source and is not served, its newest text. */
  readonly skill: Skill | undefined
}

/**
 * Finds what `name`, `source/name` or a row's `target` means. By its name alone a skill is the folder that is served under it; by its
 * source, that folder, served or not.
 */
export function findMeant(
  target: string,
  generation: Generation,
  skills: SkillRuntime,
): MeantFolder | undefined {
  const reports = generation.reports()
  const named = reports.filter(({ name }) => name === target)
  const [first] = named
  if (first !== undefined) {
    const report = named.find(({ serving }) => serving !== undefined) ?? first
    return { report, skill: generation.find(target) }
  }
  const report =
    reports.find(each => targetOf(each) === target) ??
    reports.find(({ source, name }) => `${source}/${name}` === target)
  if (report === undefined) return undefined
  const { skill, live } = skills.review.revisionsOf(report)
  return { report, skill: live ?? skill }
}
