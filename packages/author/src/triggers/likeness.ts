import { rarityBeside, rarityOf } from '../words/rarity.ts'
import { countStems, type TriggerSkill } from './skill-words.ts'

/** Two skills with similar names and descriptions. */
export interface SimilarPair {
  readonly a: TriggerSkill
  readonly b: TriggerSkill
  readonly cosine: number
}

/** The weights of the words of a skill. The vector has the length 1. */
type WordVector = ReadonlyMap<string, number>

/** The part of the index that belongs to a word: places of skills, and the weights that the word has there. */
interface Posting {
  readonly places: number[]
  readonly weights: number[]
}

const NAME_WEIGHT = 2
/** A smaller source has no rare words of its own. */
const LEAST_OF_SOURCE = 8
/** The part of the least cosine that may come from words outside of the index. */
const UNINDEXED = 0.4
const counted = new WeakMap<TriggerSkill, ReadonlyMap<string, number>>()

/**
 * The likeness of names and descriptions. A word counts as little as it does among public skills or among the skills of
 * its own source, so that phrases which a whole collection uses do not make its skills alike.
 */
export class Likeness {
  readonly #skills: readonly TriggerSkill[]
  readonly #frequency: ReadonlyMap<string, number>
  readonly #rarity: ReadonlyMap<string, number>
  readonly #ofSource = new Map<string | undefined, ReadonlyMap<string, number>>()

  constructor(skills: readonly TriggerSkill[]) {
    this.#skills = skills
    this.#frequency = countSkills(skills)
    const rarity = rarityBeside(this.#frequency, skills.length)
    this.#rarity = new Map([...this.#frequency.keys()].map(word => [word, rarity(word)]))
    for (const [source, members] of Map.groupBy(skills, each => each.source)) {
      if (members.length < LEAST_OF_SOURCE) continue
      const counts = countSkills(members)
      this.#ofSource.set(
        source,
        new Map([...counts].map(([word, count]) => [word, rarityOf(count, members.length)])),
      )
    }
  }

  vectorOf(skill: TriggerSkill): WordVector {
    const vector = new Map<string, number>()
    const length = this.#weigh(skill, (word, weight) => vector.set(word, weight))
    for (const [word, weight] of vector) vector.set(word, weight / length)
    return vector
  }

  /** Finds the skills that are like one skill. Makes no vectors of the others, because that takes long. */
  findLike(skill: TriggerSkill, least: number): readonly SimilarPair[] {
    const own = this.vectorOf(skill)
    return this.#skills.flatMap(other => {
      let product = 0
      const length = this.#weigh(other, (word, weight) => {
        product += weight * (own.get(word) ?? 0)
      })
      const cosine = product / length
      return other === skill || cosine < least ? [] : [{ a: skill, b: other, cosine }]
    })
  }

  /** Passes the weight of each word of a skill. Returns the length of their vector. */
  #weigh(skill: TriggerSkill, take: (word: string, weight: number) => void): number {
    const own = this.#ofSource.get(skill.source)
    let squares = 0
    for (const [word, count] of countWords(skill)) {
      const rarity = Math.min(this.#rarity.get(word) ?? 0, own?.get(word) ?? Number.POSITIVE_INFINITY)
      const weight = (1 + Math.log(count)) * rarity
      squares += weight ** 2
      take(word, weight)
    }
    return Math.sqrt(squares) || 1
  }

  /**
   * Finds all pairs that are alike. Few pairs are compared, because the most frequent words of each skill are left out of
   * the index as long as they alone add little (Bayardo, Ma, Srikant: "Scaling up all pairs similarity search", 2007).
   */
  findPairs(least: number): readonly SimilarPair[] {
    const index = new Map<string, Posting>()
    const vectors: WordVector[] = []
    const scores = new Float64Array(this.#skills.length)
    const pairs: SimilarPair[] = []
    for (const [second, skill] of this.#skills.entries()) {
      const vector = this.vectorOf(skill)
      for (const first of addScores(vector, index, scores)) {
        const isCandidate = (scores[first] as number) >= least * (1 - UNINDEXED)
        scores[first] = 0
        const cosine = isCandidate ? dot(vector, vectors[first] as WordVector) : 0
        if (cosine >= least) pairs.push({ a: this.#skills[first] as TriggerSkill, b: skill, cosine })
      }
      vectors.push(vector)
      this.#addToIndex(vector, second, index, least * UNINDEXED)
    }
    return pairs
  }

  #addToIndex(vector: WordVector, place: number, index: Map<string, Posting>, leastLength: number): void {
    const frequency = (word: string): number => this.#frequency.get(word) ?? 0
    let squares = 0
    for (const [word, weight] of [...vector].sort(([a], [b]) => frequency(b) - frequency(a))) {
      squares += weight ** 2
      if (squares < leastLength ** 2) continue
      const posting = index.get(word) ?? { places: [], weights: [] }
      if (posting.places.length === 0) index.set(word, posting)
      posting.places.push(place)
      posting.weights.push(weight)
    }
  }
}

/** Adds the products of indexed words to the scores. Returns the places whose score is above 0. */
function addScores(
  vector: WordVector,
  index: ReadonlyMap<string, Posting>,
  scores: Float64Array,
): readonly number[] {
  const found: number[] = []
  for (const [word, weight] of vector) {
    const posting = index.get(word)
    if (posting === undefined) continue
    for (let i = 0; i < posting.places.length; i++) {
      const place = posting.places[i] as number
      if (scores[place] === 0) found.push(place)
      scores[place] = (scores[place] as number) + weight * (posting.weights[i] as number)
    }
  }
  return found
}

function dot(a: WordVector, b: WordVector): number {
  let sum = 0
  for (const [word, weight] of a) sum += weight * (b.get(word) ?? 0)
  return sum
}

function countWords(skill: TriggerSkill): ReadonlyMap<string, number> {
  const known = counted.get(skill)
  if (known !== undefined) return known
  const counts = countStems(skill.name, NAME_WEIGHT, skill.description)
  counted.set(skill, counts)
  return counts
}

function countSkills(skills: readonly TriggerSkill[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const skill of skills)
    for (const word of countWords(skill).keys()) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}
