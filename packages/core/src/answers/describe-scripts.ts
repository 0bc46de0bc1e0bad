import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { SkillCommand } from '../script/command.ts'
import { declaredCapabilities, findMissing } from '../skill/capabilities.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'

/** The commands and scripts of a skill, and their capabilities. */
export interface DescribedScripts extends GrantedCapabilities {
  /** Revision of the code that answers calls. Null if no code is loaded. */
  readonly revision: Digest | null
  readonly commands: readonly SkillCommand[]
  /** Files below `scripts/` that belong to no command. */
  readonly scripts: readonly string[]
  /** Problems in the newest code. */
  readonly problems: readonly Diagnostic[]
}

/** Capabilities that a skill may use (`granted`), asks for (`asked`), or asks for without a grant (`missing`). */
export interface GrantedCapabilities {
  readonly granted: readonly string[]
  readonly asked: readonly string[]
  readonly missing: readonly string[]
}

/** Describes what `stoke run` and the page can run. The code of the skill should be loaded before. */
export function describeScripts(skill: Skill, skills: SkillRuntime): DescribedScripts {
  const { revision, commands, problems } =
    skills.scripts.status().find(each => each.skill === skill.name) ?? {}
  return {
    revision: revision ?? null,
    commands: commands ?? [],
    scripts: skills.scripts.listFiles(skill.name),
    ...describeGrants(skill, skills),
    problems: problems ?? [],
  }
}

export function describeGrants(skill: Skill, { review }: SkillRuntime): GrantedCapabilities {
  const asked = declaredCapabilities(skill)
  const granted = review.grantedTo(skill)
  return { granted, asked, missing: findMissing(asked, granted) }
}
