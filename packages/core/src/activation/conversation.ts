import type { SkillReader } from '../reader/skill-reader.ts'
import type { Skill } from '../skill/skill.ts'
import type { AllowedToolsPolicy } from './allowed-tools.ts'
import { ForgetfulLedger, type Ledger } from './ledger.ts'

/** One conversation as its tools see it. */
export interface Conversation {
  readonly reader: SkillReader
  readonly ledger: Ledger
  readonly allowedTools: AllowedToolsPolicy
  /** Records that the instructions of a skill enter the conversation, under a name that finds the skill again. */
  activate(skill: Skill, name: string): void
  /** Renders the answer to an unknown name, from the skills in scope. @default near names, or what a search finds */
  describeUnknownSkill?(name: string, skills: readonly Skill[]): string
}

/** Returns a conversation that records nothing, for callers that keep none. */
export function withoutMemory(reader: SkillReader): Conversation {
  return { reader, ledger: new ForgetfulLedger(), allowedTools: 'advise', activate: () => undefined }
}
