import { contentStems } from '../words/content-words.ts'
import { type Rarity, rarityBeside, rarityOf } from '../words/rarity.ts'
import type { TriggerSkill } from './skill-words.ts'

/** Two skills with similar names and descriptions, by their places in the list. */
export interface SimilarPair {
  readonly first: number
  readonly second: number
  readonly cosine: number
}

/** The weighted words of a skill, the word of most skills first. The vector has the length 1. */
type WordVector = ReadonlyMap<string, number>

const NAME_WEIGHT = 2
/** A smaller source has no rare words of its own. */
const LEAST_OF_SOURCE = 8
const counted = new WeakMap<TriggerSkill, ReadonlyMap<string, number>>()

/**
 * Weights of the words of skills. A word counts as little as it does among public skills or among the skills of its own
 * source, so that phrases which a whole collection uses do not make its skills alike.
 */
export class Likeness {
  readonly #skills: readonly TriggerSkill[]
  readonly #all: ReadonlyMap<string, number>
  readonly #rarity: Rarity
  readonly #ofSource = new Map<
    string | undefined,
    { readonly size: number; readonly counts: ReadonlyMap<string, number> }
  >()

  constructor(skills: readonly TriggerSkill[]) {
    this.#skills = skills
    this.#all = countSkills(skills)
    this.#rarity = rarityBeside(this.#all, skills.length)
    for (const [source, members] of Map.groupBy(skills, each => each.source))
      if (members.length >= LEAST_OF_SOURCE)
        this.#ofSource.set(source, { size: members.length, counts: countSkills(members) })
  }

  vectorOf(skill: TriggerSkill): WordVector {
    const own = this.#ofSource.get(skill.source)
    const weigh = (word: string, count: number): number => {
      const among =
        own === undefined ? Number.POSITIVE_INFINITY : rarityOf(own.counts.get(word) ?? 0, own.size)
      return (1 + Math.log(count)) * Math.min(this.#rarity(word), among)
    }
    const weights = [...countWords(skill)].map(([word, count]) => [word, weigh(word, count)] as const)
    const length = Math.hypot(...weights.map(([, weight]) => weight)) || 1
    const frequency = (word: string): number => this.#all.get(word) ?? 0
    return new Map(
      weights
        .map(([word, weight]) => [word, weight / length] as const)
        .sort(([a], [b]) => frequency(b) - frequency(a) || (a < b ? -1 : 1)),
    )
  }

  /** Finds the skills that are like one skill. */
  findLike(place: number, least: number): readonly SimilarPair[] {
    const own = this.vectorOf(this.#skills[place] as TriggerSkill)
    return this.#skills.flatMap((skill, other) => {
      if (other === place || ![...countWords(skill).keys()].some(word => own.has(word))) return []
      const cosine = dot(own, this.vectorOf(skill))
      return cosine < least ? [] : [{ first: Math.min(place, other), second: Math.max(place, other), cosine }]
    })
  }

  /**
   * Finds all pairs that are alike. The words of most skills are left out of the index as long as they alone cannot make a
   * pair alike (Bayardo, Ma, Srikant: "Scaling up all pairs similarity search", 2007), so few pairs are compared.
   */
  findPairs(least: number): readonly SimilarPair[] {
    const index = new Map<string, { readonly place: number; readonly weight: number }[]>()
    const unindexed: WordVector[] = []
    const scores = new Float64Array(this.#skills.length)
    const pairs: SimilarPair[] = []
    for (const [second, skill] of this.#skills.entries()) {
      const vector = this.vectorOf(skill)
      const found: number[] = []
      for (const [word, weight] of vector)
        for (const entry of index.get(word) ?? []) {
          if (scores[entry.place] === 0) found.push(entry.place)
          scores[entry.place] = (scores[entry.place] as number) + weight * entry.weight
        }
      for (const first of found) {
        const cosine = (scores[first] as number) + dot(unindexed[first] as WordVector, vector)
        scores[first] = 0
        if (cosine >= least) pairs.push({ first, second, cosine })
      }
      unindexed.push(addToIndex(vector, second, least, index))
    }
    return pairs
  }
}

/** Adds the rare words to the index. Returns the others, whose vector is shorter than the least cosine. */
function addToIndex(
  vector: WordVector,
  place: number,
  least: number,
  index: Map<string, { readonly place: number; readonly weight: number }[]>,
): WordVector {
  const rest = new Map<string, number>()
  let squares = 0
  for (const [word, weight] of vector) {
    squares += weight ** 2
    if (squares < least ** 2) rest.set(word, weight)
    else if (index.has(word)) index.get(word)?.push({ place, weight })
    else index.set(word, [{ place, weight }])
  }
  return rest
}

function dot(a: WordVector, b: WordVector): number {
  let sum = 0
  for (const [word, weight] of a) sum += weight * (b.get(word) ?? 0)
  return sum
}

export function countWords(skill: TriggerSkill): ReadonlyMap<string, number> {
  const known = counted.get(skill)
  if (known !== undefined) return known
  const counts = new Map<string, number>()
  for (const [text, weight] of [
    [skill.name, NAME_WEIGHT],
    [skill.description, 1],
  ] as const)
    for (const word of contentStems(text)) counts.set(word, (counts.get(word) ?? 0) + weight)
  counted.set(skill, counts)
  return counts
}

function countSkills(skills: readonly TriggerSkill[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const skill of skills)
    for (const word of countWords(skill).keys()) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}
