import type { CheckedSkill } from '../checked-skill.ts'
import type { Finding } from '../finding.ts'
import type { CheckCode, Profile } from '../finding-table.ts'

/** A finding of a rule. The engine adds the severity and the page. */
export interface Found extends Pick<Finding, 'message' | 'line' | 'column' | 'fix' | 'edit'> {
  readonly code: CheckCode
  /** Path of the file, relative to the folder of the skill. @default SKILL.md */
  readonly file?: string
}

/** What a rule may ask its host. */
export interface RuleContext {
  readonly profiles: readonly Profile[]
  readonly countTokens: (text: string) => number
  /** Today, as an ISO date. */
  readonly today: string
}

/** Finds one kind of fault. A rule for files may read them. */
export type Rule = (skill: CheckedSkill, context: RuleContext) => Iterable<Found> | Promise<Iterable<Found>>
