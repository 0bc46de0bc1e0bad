import { type Rarity, rarityBeside, rarityOf } from '../words/rarity.ts'
import { comparedWords, countSkills, type TriggerSkill } from './skill-words.ts'
import { WordIndex, type WordVector } from './word-index.ts'

/** Two skills with similar names and descriptions. */
export interface SimilarPair {
  readonly a: TriggerSkill
  readonly b: TriggerSkill
  readonly cosine: number
}

/** A smaller source has no rare words of its own. */
const LEAST_OF_SOURCE = 8

/**
 * The likeness of names and descriptions. A word counts as little as it does among public skills or among the skills of
 * its own source, so that phrases which a whole collection uses do not make its skills alike.
 */
export class Likeness {
  readonly #skills: readonly TriggerSkill[]
  readonly #rarity: Rarity
  readonly #ofSource = new Map<string | undefined, Rarity>()

  constructor(skills: readonly TriggerSkill[]) {
    this.#skills = skills
    this.#rarity = rarityBeside(countSkills(skills.map(comparedWords)), skills.length)
    for (const [source, members] of Map.groupBy(skills, each => each.source)) {
      if (members.length < LEAST_OF_SOURCE) continue
      const counts = countSkills(members.map(comparedWords))
      this.#ofSource.set(source, word => rarityOf(counts.get(word) ?? 0, members.length))
    }
  }

  /** Returns the weights of the words of a skill. The vector has the length 1. */
  vectorOf(skill: TriggerSkill): WordVector {
    const own = this.#ofSource.get(skill.source) ?? this.#rarity
    const vector = new Map<string, number>()
    for (const [word, count] of comparedWords(skill))
      vector.set(word, (1 + Math.log(count)) * Math.min(this.#rarity(word), own(word)))
    const length = Math.hypot(...vector.values()) || 1
    for (const [word, weight] of vector) vector.set(word, weight / length)
    return vector
  }

  /** Finds the pairs whose cosine is at least `least`, each once. If skills are asked for, one of the two is among them. */
  findPairs(least: number, asked?: readonly TriggerSkill[]): readonly SimilarPair[] {
    const index = new WordIndex(this.#skills.length)
    for (const skill of asked ?? []) index.add(this.vectorOf(skill))
    // Without asked skills, each skill is compared with those before it.
    const indexed = asked ?? this.#skills
    const places = new Map(indexed.map((skill, place) => [skill, place]))
    return this.#skills.flatMap(b => {
      const vector = this.vectorOf(b)
      const end = places.get(b) ?? indexed.length
      const found = index.find(vector, least).filter(([place]) => place < end)
      if (asked === undefined) index.add(vector)
      return found.map(([place, cosine]) => ({ a: indexed[place] as TriggerSkill, b, cosine }))
    })
  }
}
