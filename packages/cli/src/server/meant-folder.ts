import type { Generation, Skill, SkillReport, SkillRuntime } from '@skillstoke/core'
import { targetOf } from '@skillstoke/core/internal'

/** The folder that a request names, and the revision to show. */
export interface MeantFolder {
  readonly report: SkillReport
  /** The served revision. If the request named a folder that is not served, the newest revision of that folder. */
  readonly skill: Skill | undefined
}

/**
 * Finds the folder for `name`, `source/name` or the `target` of a row. A name without a source means the served folder.
 * `source/name` and a `target` mean one particular folder, even if it is not served.
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
