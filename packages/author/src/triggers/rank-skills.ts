import { compareText } from '@skillstoke/core/internal'
import { MEAN_LENGTH } from '../words/background-counts.ts'
import { spellings } from '../words/content-words.ts'
import { isEnglish, type Rarity, rarityBeside } from '../words/rarity.ts'
import { bodyWords, countSkills, describedWords, remember, type TriggerSkill } from './skill-words.ts'
import { WordIndex, type WordVector } from './word-index.ts'

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

/** A skill that shares words with a message. */
export interface RankedSkill {
  readonly skill: TriggerSkill
  /** BM25 score. The rarity of words comes from public skills too, so scores of different catalogs are comparable. */
  readonly score: number
  /** The shared words as the message spells them, the most important first. */
  readonly words: readonly string[]
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
  const best = indexOf(skills).rank(message).slice(0, MAX_SKILLS)
  const ranking = best.map(({ skill, score, words }) => ({ skill: skill.name, score, words }))
  return { message, isEstimated: isEnglish(message), ranking }
}

type IndexReader = (skills: readonly TriggerSkill[]) => SkillIndex

/** Returns the index of the names and descriptions of a list of skills. The same list has the same index. */
export const indexOf: IndexReader = remember(skills => new SkillIndex(skills, false))

/** Returns the index that has the words of the instructions, too. */
export const indexWithBodies: IndexReader = remember(skills => new SkillIndex(skills, true))

/** Ranks skills for messages. */
export class SkillIndex {
  readonly rarity: Rarity
  readonly #skills: readonly TriggerSkill[]
  readonly #vectors: readonly WordVector[]
  readonly #index: WordIndex

  /** @param isBodyRead also counts the words of instructions, with a tenth of their weight */
  constructor(skills: readonly TriggerSkill[], isBodyRead: boolean) {
    this.#skills = skills
    this.rarity = rarityBeside(countSkills(skills.map(describedWords)), skills.length)
    this.#vectors = skills.map(skill => this.#weigh(skill, isBodyRead))
    this.#index = new WordIndex(this.#vectors)
  }

  /** Ranks the skills that share words with a message, best first. */
  rank(message: string): readonly RankedSkill[] {
    const words = spellings(message)
    const wanted = new Map([...words.keys()].map(word => [word, 1]))
    return this.#index
      .find(wanted, Number.MIN_VALUE)
      .map(([place, score]) => {
        const weight = (word: string): number => this.#vectors[place]?.get(word) ?? 0
        const shared = [...words].filter(([word]) => weight(word) > 0)
        const sorted = shared.sort(([a], [b]) => weight(b) - weight(a))
        const skill = this.#skills[place] as TriggerSkill
        return { skill, score, words: sorted.map(([, spelling]) => spelling) }
      })
      .sort((a, b) => b.score - a.score || compareText(a.skill.name, b.skill.name))
  }

  /** Returns what each word of a skill adds to the score of a message. */
  #weigh(skill: TriggerSkill, isBodyRead: boolean): WordVector {
    const counts = new Map(describedWords(skill))
    const length = counts.values().reduce((sum, count) => sum + count, 0)
    const norm = K1 * (1 - B + (B * length) / MEAN_LENGTH)
    if (isBodyRead)
      for (const [word, count] of bodyWords(skill))
        counts.set(word, (counts.get(word) ?? 0) + BODY_WEIGHT * count)
    for (const [word, count] of counts)
      counts.set(word, (this.rarity(word) * count * (K1 + 1)) / (count + norm))
    return counts
  }
}
