import type { SkillReader } from '../reader/skill-reader.ts'
import type { Skill } from '../skill/skill.ts'
import type { AllowedToolsPolicy } from './allowed-tools.ts'
import { type Ledger, NO_LEDGER } from './ledger.ts'

/** The parts of a conversation that tools use. */
export interface Conversation {
  readonly reader: SkillReader
  readonly ledger: Ledger
  readonly allowedTools: AllowedToolsPolicy
  /** True if the commands of loaded skills become tools. @default false */
  readonly commandTools?: boolean
  /**
   * Records that the conversation received the instructions of a skill. The conversation can later find the skill under
   * `name`.
   */
  activate(skill: Skill, name: string): void
  /**
   * Renders the answer to a call with an unknown skill name. `skills` are the skills in scope.
   * @default similar names, or the results of a search
   */
  describeUnknownSkill?(name: string, skills: readonly Skill[]): string
}

/** Returns a conversation that records nothing, for callers that have no conversation. */
export function withoutMemory(reader: SkillReader): Conversation {
  return { reader, ledger: NO_LEDGER, allowedTools: 'advise', activate: () => undefined }
}
