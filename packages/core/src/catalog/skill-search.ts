import { compareText } from '../skill/compare.ts'
import type { Skill } from '../skill/skill.ts'
import { foldText } from '../skill/text.ts'
import type { ScopeTest } from './scope.ts'

export interface SearchHit {
  readonly skill: Skill
  /** BM25 score. Scores are comparable only within one search. */
  readonly score: number
}

// The usual constants of BM25. A word in the name counts more than a word in the description.
const K1 = 1.2
const B = 0.75
const NAME_WEIGHT = 3

interface IndexedSkill {
  readonly skill: Skill
  readonly words: ReadonlyMap<string, number>
  readonly length: number
  /**
   * Number of the query that computed `score`. Storing the score in this object is cheaper than creating a map of
   * scores for each query.
   */
  query: number
  score: number
}

/**
 * Ranked search over names and descriptions. The first search builds the index. Later searches update the index only
 * for skills that were added, changed or removed. If the host never searches, no index is built.
 */
export class SkillSearch {
  #skills: readonly Skill[] = []
  readonly #indexed = new Map<Skill, IndexedSkill>()
  readonly #postings = new Map<string, Map<IndexedSkill, number>>()
  #queries = 0
  #totalLength = 0

  /**
   * Returns the best matches in a sorted list of skills, best match first. Hits with equal scores are sorted by name.
   */
  search(
    skills: readonly Skill[],
    query: string,
    options: { readonly limit: number; readonly isInScope: ScopeTest },
  ): SearchHit[] {
    this.#follow(skills)
    this.#queries++
    const found: IndexedSkill[] = []
    for (const word of new Set(toWords(query))) this.#addScores(word, found)
    return selectBest(found, options.limit, options.isInScope)
  }

  #addScores(word: string, found: IndexedSkill[]): void {
    const posting = this.#postings.get(word)
    if (posting === undefined) return
    const count = this.#indexed.size
    const averageLength = this.#totalLength / count
    const rarity = Math.log(1 + (count - posting.size + 0.5) / (posting.size + 0.5))
    for (const [indexed, frequency] of posting) {
      const norm = K1 * (1 - B + (B * indexed.length) / averageLength)
      const score = (rarity * frequency * (K1 + 1)) / (frequency + norm)
      if (indexed.query === this.#queries) indexed.score += score
      else {
        indexed.query = this.#queries
        indexed.score = score
        found.push(indexed)
      }
    }
  }

  #follow(skills: readonly Skill[]): void {
    if (skills === this.#skills) return
    const listed = new Set(skills)
    for (const indexed of this.#indexed.values()) if (!listed.has(indexed.skill)) this.#remove(indexed)
    for (const skill of skills) if (!this.#indexed.has(skill)) this.#add(skill)
    this.#skills = skills
  }

  #add(skill: Skill): void {
    const words = new Map<string, number>()
    for (const word of toWords(skill.name)) words.set(word, (words.get(word) ?? 0) + NAME_WEIGHT)
    for (const word of toWords(skill.description)) words.set(word, (words.get(word) ?? 0) + 1)
    let length = 0
    for (const frequency of words.values()) length += frequency
    const indexed: IndexedSkill = { skill, words, length, query: 0, score: 0 }
    this.#indexed.set(skill, indexed)
    this.#totalLength += length
    for (const [word, frequency] of words) {
      const posting = this.#postings.get(word)
      if (posting === undefined) this.#postings.set(word, new Map([[indexed, frequency]]))
      else posting.set(indexed, frequency)
    }
  }

  #remove(indexed: IndexedSkill): void {
    this.#indexed.delete(indexed.skill)
    this.#totalLength -= indexed.length
    for (const word of indexed.words.keys()) {
      const posting = this.#postings.get(word)
      posting?.delete(indexed)
      if (posting?.size === 0) this.#postings.delete(word)
    }
  }
}

/** Returns the `limit` best hits, best hit first, without sorting all hits. */
function selectBest(found: readonly IndexedSkill[], limit: number, isInScope: ScopeTest): SearchHit[] {
  const best: IndexedSkill[] = []
  for (const indexed of found) {
    const last = best[best.length - 1]
    if (best.length >= limit && last !== undefined && byRank(indexed, last) >= 0) continue
    if (!isInScope(indexed.skill.name)) continue
    let at = best.length
    while (at > 0 && byRank(indexed, best[at - 1] as IndexedSkill) < 0) at--
    best.splice(at, 0, indexed)
    if (best.length > limit) best.pop()
  }
  return best.map(({ skill, score }) => ({ skill, score }))
}

function byRank(a: IndexedSkill, b: IndexedSkill): number {
  return b.score - a.score || compareText(a.skill.name, b.skill.name)
}

function toWords(text: string): string[] {
  return foldText(text).match(/[\p{L}\p{N}]+/gu) ?? []
}
