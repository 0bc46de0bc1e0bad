import type { SkillReader } from '../reader/skill-reader.ts'
import type { Skill } from '../skill/skill.ts'
import type { AllowedToolsPolicy } from './allowed-tools.ts'
import { ForgetfulLedger, type Ledger } from './ledger.ts'

/** One conversation as its tools see it: what it may read, and what it has loaded. */
export interface Conversation {
  readonly reader: SkillReader
  readonly ledger: Ledger
  readonly allowedTools: AllowedToolsPolicy
  /** Notes that the instructions of a skill enter the conversation, under the name by which it can be found again. */
  activate(skill: Skill, name: string): void
  /** Answers a name that no skill has, from the skills in scope. @default near names, or what a search finds */
  describeUnknownSkill?(name: string, skills: readonly Skill[]): string
}

/** Returns a conversation for callers that keep none: every call starts from nothing. */
export function withoutMemory(reader: SkillReader): Conversation {
  return { reader, ledger: new ForgetfulLedger(), allowedTools: 'advise', activate: () => undefined }
}
