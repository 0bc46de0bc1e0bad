import type { ScopeTest } from '../catalog/scope.ts'
import type { SearchHit } from '../catalog/skill-search.ts'
import type { Generation } from '../registry/generation.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { AllowedToolsPolicy } from './allowed-tools.ts'
import type { Ledger } from './ledger.ts'

/** What loading needs of its surroundings, as one conversation sees it. */
export interface SkillAccess {
  current(): Generation
  /** Looks at the folders of this name again, the ones not found yet included; resolves when the result is visible. */
  refresh(name: string): Promise<void>
  /** Looks at everything that may have changed; resolves when the result is visible. */
  fresh(): Promise<void>
  /** The best matches among the served skills in scope. */
  search(query: string, limit: number): readonly SearchHit[]
  readonly isInScope: ScopeTest
  readonly store: SkillStore
  readonly ledger: Ledger
  /** Notes that the instructions of a skill enter the conversation, under the name by which it can be found again. */
  activate(skill: Skill, name: string): void
  readonly allowedTools: AllowedToolsPolicy
  /** Writes the answer to a name that no skill has, from the skills in scope. @default near names, or what a search finds */
  describeUnknownSkill?(name: string, skills: readonly Skill[]): string
  /** What can be called of a skill; absent where scripts are not run. */
  commandsOf?(skill: Skill): CommandOffer
}

/** What can be called of a skill, and what keeps its newest commands from it. */
export interface CommandOffer {
  readonly commands: readonly CommandSummary[]
  /** The revision whose code answers; absent where none does. */
  readonly revision?: Digest
  /** Why it is not all that is written in its scripts. */
  readonly problem?: string
}

export const NO_COMMANDS: CommandOffer = Object.freeze({ commands: Object.freeze([]) })

/** A command as a model is told of it. */
export interface CommandSummary {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
}

/** The served skill of a name, or of a folder's name when no skill is called so. */
export function findByNameOrFolder(
  generation: Generation,
  name: string,
  isInScope: ScopeTest,
): Skill | undefined {
  const exact = generation.find(name)
  if (exact !== undefined) return isInScope(exact.name) ? exact : undefined
  return generation.list().find(skill => skill.location.split('/').at(-1) === name && isInScope(skill.name))
}
