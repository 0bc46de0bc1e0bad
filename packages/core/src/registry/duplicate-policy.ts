import type { Skill } from '../skill/skill.ts'

/** Picks the skill to serve from several skills with the same name. The candidates are in the order of their sources. */
export type DuplicateChooser = (candidates: readonly Skill[]) => Skill

/** The named policies that pick a winner and do not report the other skills as errors. */
export const DUPLICATE_WINNERS = ['first-wins', 'last-wins'] as const

/** The named policies. */
export const DUPLICATE_POLICIES: readonly [...typeof DUPLICATE_WINNERS, 'error'] = [
  ...DUPLICATE_WINNERS,
  'error',
]

/**
 * The rule that picks one of several skills with the same name. The named policies decide by the order in which the
 * sources were declared. The policy `error` serves the first skill and reports all other skills with the same name as
 * errors. Within one source, the folder that is nearer to the root comes first, then the folder that is called like its
 * skill, then the first path.
 */
export type DuplicatePolicy = (typeof DUPLICATE_POLICIES)[number] | DuplicateChooser
