import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import type { SkillCommand } from '../script/command.ts'
import { declaredCapabilities, findMissing } from '../skill/capabilities.ts'
import type { Diagnostic } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'

/** The commands and scripts of a skill, and their capabilities. */
export interface DescribedScripts {
  /** Revision of the code that answers calls. Null if no code is loaded. */
  readonly revision: Digest | null
  readonly commands: readonly SkillCommand[]
  /** Files below `scripts/` that belong to no command. */
  readonly scripts: readonly string[]
  /** Capabilities that the skill may use. */
  readonly granted: readonly string[]
  /** Capabilities that the skill asks for. */
  readonly asked: readonly string[]
  /** Capabilities that the skill asks for without a grant. */
  readonly missing: readonly string[]
  /** Problems in the newest code. */
  readonly problems: readonly Diagnostic[]
}

/** Describes what `stoke run` and the page can run. The code of the skill should be loaded before. */
export function describeScripts(skill: Skill, skills: SkillRuntime): DescribedScripts {
  const asked = declaredCapabilities(skill)
  const granted = skills.review.grantedTo(skill)
  const { revision, commands, problems } =
    skills.scripts.status().find(each => each.skill === skill.name) ?? {}
  return {
    revision: revision ?? null,
    commands: commands ?? [],
    scripts: skills.scripts.listFiles(skill.name),
    granted,
    asked,
    missing: findMissing(asked, granted),
    problems: problems ?? [],
  }
}
