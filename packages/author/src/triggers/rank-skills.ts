import { compareText } from '@skillstoke/core/internal'
import { MEAN_LENGTH } from '../words/background-counts.ts'
import { spellings } from '../words/content-words.ts'
import { isEnglish, type Rarity, rarityBeside } from '../words/rarity.ts'
import { bodyWords, countSkills, describedWords, remember, type TriggerSkill } from './skill-words.ts'

/** A skill, and the words that it shares with a message as the message spells them, the most important first. */
export interface SharedWords {
  readonly skill: string
  readonly words: readonly string[]
}

/** A skill that shares words with a message. */
export interface RankedSkill extends SharedWords {
  /** BM25 score. The rarity of words comes from public skills too, so scores of different catalogs are comparable. */
  readonly score: number
}

/** The skills whose names and descriptions share words with a message, best first. */
export interface MessageRanking {
  readonly message: string
  /** False for a message that is not English. Its ranking then comes from borrowed words only. */
  readonly isEstimated: boolean
  readonly ranking: readonly RankedSkill[]
}

const MAX_SKILLS = 5
// The usual constants of BM25.
const K1 = 1.2
const B = 0.75
const BODY_WEIGHT = 0.1

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
  const ranking = rankAll(message, skills).slice(0, MAX_SKILLS)
  return { message, isEstimated: isEnglish(message), ranking }
}

/** Returns how much a word tells the skills of a list apart. */
export const rarityAmong: (skills: readonly TriggerSkill[]) => Rarity = remember(skills =>
  rarityBeside(countSkills(skills.map(describedWords)), skills.length),
)

/**
 * Ranks the skills that share words with a message, best first.
 * @param isBodyRead also counts the words of instructions, with a tenth of their weight
 */
export function rankAll(
  message: string,
  skills: readonly TriggerSkill[],
  isBodyRead = false,
): readonly RankedSkill[] {
  const rarity = rarityAmong(skills)
  const words = [...spellings(message)].map(([word, spelling]) => ({ word, spelling, rarity: rarity(word) }))
  return skills
    .map(skill => {
      const saturate = saturationOf(skill, isBodyRead)
      const weighed = words.map(each => ({ ...each, weight: each.rarity * saturate(each.word) }))
      const shared = weighed.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight)
      const score = shared.reduce((sum, { weight }) => sum + weight, 0)
      return { skill: skill.name, score, words: shared.map(({ spelling }) => spelling) }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || compareText(a.skill, b.skill))
}

/** Returns how far a word of a skill counts. A second occurrence counts less, as does a word of a long description. */
function saturationOf(skill: TriggerSkill, isBodyRead: boolean): (word: string) => number {
  const described = describedWords(skill)
  const body = isBodyRead ? bodyWords(skill) : undefined
  const norm = K1 * (1 - B + (B * lengthOf(skill)) / MEAN_LENGTH)
  return word => {
    const count = (described.get(word) ?? 0) + BODY_WEIGHT * (body?.get(word) ?? 0)
    return (count * (K1 + 1)) / (count + norm)
  }
}

const lengthOf = remember((skill: TriggerSkill) =>
  describedWords(skill)
    .values()
    .reduce((sum, count) => sum + count, 0),
)
