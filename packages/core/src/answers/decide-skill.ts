import { SkillError } from '../errors.ts'
import type { DecisionNote } from '../history/skill-review.ts'
import { quote } from '../quote.ts'
import type { SkillRuntime } from '../runtime/skill-runtime.ts'
import { type DecidedRow, toDecidedRow } from './skill-row.ts'

/** Decisions about one skill. */
export const DECISION_VERBS = ['approve', 'reject', 'withdraw', 'pin', 'unpin', 'enable', 'disable'] as const

export type DecisionVerb = (typeof DECISION_VERBS)[number]

/** Verbs for decisions about the capabilities of one skill. */
export const GRANT_VERBS = ['grant', 'revoke'] as const

export type GrantVerb = (typeof GRANT_VERBS)[number]

/** A requested decision about one skill. */
export interface DecideWish extends DecisionNote {
  readonly verb: DecisionVerb
  /** `name`, or `source/name`. */
  readonly skill: string
  /** Whole digest of the revision. @default the newest revision, or for a pin the served one */
  readonly revision?: string
  /** Whether the caller accepts invisible characters. @default false */
  readonly confirmHidden?: boolean
}

/** A requested decision about capabilities. */
export interface GrantWish extends DecisionNote {
  readonly verb: GrantVerb
  /** `name`, or `source/name`. */
  readonly skill: string
  readonly capabilities: readonly string[]
  /** Whole digest of the revision that a person has seen. A `revoke` applies to all revisions. */
  readonly revision?: string
}

/**
 * Records a decision.
 * @throws {SkillError} with the codes of `review`, and INVALID_OPTION when the verb takes no revision
 */
export async function decideSkill(
  { verb, skill, revision, confirmHidden = false, ...note }: DecideWish,
  { review }: SkillRuntime,
): Promise<DecidedRow> {
  const of = revision === undefined ? {} : { revision }
  switch (verb) {
    case 'approve':
    case 'reject':
    case 'pin':
      return toDecidedRow(await review[verb](skill, { ...note, ...of, confirmHidden }))
    case 'withdraw':
      return toDecidedRow(await review.withdraw(skill, { ...note, ...of }))
    default:
      if (revision === undefined) return toDecidedRow(await review[verb](skill, note))
      throw new SkillError(
        'INVALID_OPTION',
        `${verb} applies to all revisions of a skill; leave out ${quote(revision)}`,
      )
  }
}

/** Grants or revokes capabilities. @throws {SkillError} with the codes of `review` */
export async function grantSkill(
  { verb, skill, capabilities, revision, ...note }: GrantWish,
  { review }: SkillRuntime,
): Promise<DecidedRow> {
  const bound = verb === 'revoke' || revision === undefined ? {} : { revision }
  return toDecidedRow(await review[verb](skill, capabilities, { ...note, ...bound }))
}
