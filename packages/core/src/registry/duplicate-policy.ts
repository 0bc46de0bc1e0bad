import type { Skill } from '../skill/skill.ts'

/** Picks the skill to serve from several with one name, given in the order of their sources. */
export type DuplicateChooser = (candidates: readonly Skill[]) => Skill

/**
 * Which of several skills with one name is served, by the order in which the sources were declared. `error`: the first,
 * and the others are reported as errors. Within one source the first path comes first.
 */
export type DuplicatePolicy = 'first-wins' | 'last-wins' | 'error' | DuplicateChooser
