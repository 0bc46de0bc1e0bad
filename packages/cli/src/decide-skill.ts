import type { DecisionNote } from '@skillstoke/core'
import { type DecidedSkill, SkillError, type SkillRuntime } from '@skillstoke/core'
import type { DecisionVerb } from './client/decision-verbs.ts'

/** A requested decision about one skill. */
export interface Wish extends DecisionNote {
  readonly verb: DecisionVerb
  /** `name`, or `source/name`. */
  readonly skill: string
  /** Whole digest of the revision. @default the newest revision, or for a pin the served one */
  readonly revision?: string
  /** Whether the caller accepts invisible characters. @default false */
  readonly confirmHidden?: boolean
}

/**
 * Records a decision.
 * @throws {SkillError} with the codes of `review`, and INVALID_OPTION when the verb takes no revision
 */
export async function decideSkill(
  { verb, skill, revision, confirmHidden = false, ...note }: Wish,
  { review }: SkillRuntime,
): Promise<DecidedSkill> {
  const of = revision === undefined ? {} : { revision }
  switch (verb) {
    case 'approve':
    case 'reject':
    case 'pin':
      return await review[verb](skill, { ...note, ...of, confirmHidden })
    default:
      if (revision === undefined) return await review[verb](skill, note)
      throw new SkillError(
        'INVALID_OPTION',
        `${verb} applies to all revisions of a skill; leave out ${JSON.stringify(revision)}`,
      )
  }
}
