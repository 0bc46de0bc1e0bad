import type { Skill } from '../skill/skill.ts'

/** Picks the skill to serve from several with one name, given in the order of their sources. */
export type DuplicateChooser = (candidates: readonly Skill[]) => Skill

/** The policies that serve one of the skills and go on. */
export const DUPLICATE_WINNERS = ['first-wins', 'last-wins'] as const

export type DuplicateWinner = (typeof DUPLICATE_WINNERS)[number]

/** The policies that have a name. */
export const DUPLICATE_POLICIES: readonly [...typeof DUPLICATE_WINNERS, 'error'] = [
  ...DUPLICATE_WINNERS,
  'error',
]

/**
 * Which of several skills with one name is served, by the order in which the sources were declared. `error`: the first,
 * and the others are reported as errors. Within one source the first path comes first.
 */
export type DuplicatePolicy = (typeof DUPLICATE_POLICIES)[number] | DuplicateChooser
