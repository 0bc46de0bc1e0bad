import type { Skill, SkillRuntime } from '@skillstoke/core'
import { findMeant } from '@skillstoke/core/internal'
import { UsageError } from '../terminal/exit-code.ts'
import { toAsked } from './skill-target.ts'

/**
 * Returns the served skill that a name, a folder name or a path means.
 * @throws {SkillError} SKILL_NOT_FOUND, with similar names
 * @throws {UsageError} when no revision of the skill is served
 */
export function findServed(name: string, skills: SkillRuntime): Skill {
  const meant = findMeant(toAsked(name), skills.current, skills)
  if (meant === undefined) return skills.current.get(name)
  const skill = skills.current.find(meant.report.name)
  if (skill === undefined)
    throw new UsageError(
      `no revision of ${meant.report.name} is served; see "stoke why ${meant.report.name}"`,
    )
  return skill
}
