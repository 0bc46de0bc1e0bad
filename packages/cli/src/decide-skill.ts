import { type DecidedSkill, SkillError, type SkillRuntime } from '@skillstoke/core'
import type { DecisionNote } from '@skillstoke/core/types'
import type { DecisionVerb } from './client/decision-verbs.ts'

/** What somebody wants of one skill. */
export interface Wish extends DecisionNote {
  readonly verb: DecisionVerb
  /** `name`, or `source/name`. */
  readonly skill: string
  /** Its whole digest. @default the newest, or for a pin the one that is served */
  readonly revision?: string
  /** Whether what nobody sees in it was looked at. @default false */
  readonly confirmHidden?: boolean
}

/** @throws {SkillError} as the review does; INVALID_OPTION for a revision where all of them are meant */
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
        `${verb} is about all revisions of a skill; leave ${JSON.stringify(revision)} out`,
      )
  }
}
