import { isEnglish } from '../words/rarity.ts'
import { SkillIndex } from './skill-index.ts'
import type { TriggerSkill } from './skill-words.ts'

/** The skills whose names and descriptions share words with a message, best first. */
export interface MessageRanking {
  readonly message: string
  /** False for a message that is not English. Its ranking then comes from borrowed words only. */
  readonly isEstimated: boolean
  readonly ranking: readonly {
    readonly skill: string
    readonly score: number
    /** The shared words as the message spells them, the most important first. */
    readonly words: readonly string[]
  }[]
}

const MAX_SKILLS = 5

/**
 * Returns the best five skills for a message, by words alone.
 *
 * @example
 * ```ts
 * import { rankSkills } from '@skillstoke/author/internal'
 *
 * const skills = [{ name: 'forms', description: 'Fills in PDF forms.' }, { name: 'images', description: 'Merges scans.' }]
 * const { ranking } = rankSkills('merge these scans', skills)
 * console.log(ranking.map(({ skill, words }) => `${skill}: ${words}`)) // prints [ 'images: merge,scans' ]
 * ```
 */
export function rankSkills(message: string, skills: readonly TriggerSkill[]): MessageRanking {
  const best = SkillIndex.of(skills).rank(message).slice(0, MAX_SKILLS)
  const ranking = best.map(({ skill, score, words }) => ({ skill: skill.name, score, words }))
  return { message, isEstimated: isEnglish(message), ranking }
}
