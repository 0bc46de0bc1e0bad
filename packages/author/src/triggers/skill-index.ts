import { compareText } from '@skillstoke/core/internal'
import { MEAN_LENGTH } from '../words/background-counts.ts'
import { spellings } from '../words/content-words.ts'
import { type Rarity, rarityBeside } from '../words/rarity.ts'
import { type SkillWords, type TriggerSkill, wordsOf } from './skill-words.ts'

/** A skill that shares words with a message. */
export interface RankedSkill {
  readonly skill: TriggerSkill
  /** BM25 score. The rarity of words comes from public skills too, so scores of different catalogs are comparable. */
  readonly score: number
  /** The shared words as the message spells them, the most important first. */
  readonly words: readonly string[]
}

// The usual constants of BM25.
const K1 = 1.2
const B = 0.75
const BODY_WEIGHT = 0.1

type Postings = ReadonlyMap<string, readonly TriggerSkill[]>

/** Ranks skills for messages. Only skills that share a word with the message are looked at. */
export class SkillIndex {
  readonly rarity: Rarity
  readonly #described: Postings
  #instructed: Postings | undefined
  readonly #skills: readonly TriggerSkill[]

  private constructor(skills: readonly TriggerSkill[]) {
    this.#skills = skills
    this.#described = toPostings(skills, ({ counts }) => counts)
    const counts = new Map([...this.#described].map(([word, having]) => [word, having.length]))
    this.rarity = rarityBeside(counts, skills.length)
  }

  /** Returns the index of a list of skills. The same list has the same index. */
  static of(skills: readonly TriggerSkill[]): SkillIndex {
    const found = indexes.get(skills)
    if (found !== undefined) return found
    const made = new SkillIndex(skills)
    indexes.set(skills, made)
    return made
  }

  /**
   * Ranks the skills by the words that a message shares with names and descriptions, best first.
   * @param isBodyRead also counts the words of instructions, with a tenth of their weight
   */
  rank(message: string, isBodyRead = false): RankedSkill[] {
    const words = spellings(message)
    const found = new Set<TriggerSkill>()
    const instructed = isBodyRead ? this.#readBodies() : undefined
    for (const word of words.keys())
      for (const postings of [this.#described, instructed])
        for (const skill of postings?.get(word) ?? []) found.add(skill)
    return [...found]
      .map(skill => this.#score(skill, words, isBodyRead))
      .sort((a, b) => b.score - a.score || compareText(a.skill.name, b.skill.name))
  }

  #score(skill: TriggerSkill, words: ReadonlyMap<string, string>, isBodyRead: boolean): RankedSkill {
    const own = wordsOf(skill)
    const shared = [...words].map(([word, spelling]) => ({
      spelling,
      weight: this.rarity(word) * saturate(word, own, isBodyRead),
    }))
    const sorted = shared.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight)
    const score = sorted.reduce((sum, { weight }) => sum + weight, 0)
    return { skill, score, words: sorted.map(({ spelling }) => spelling) }
  }

  #readBodies(): Postings {
    this.#instructed ??= toPostings(this.#skills, ({ body }) => body)
    return this.#instructed
  }
}

const indexes = new WeakMap<readonly TriggerSkill[], SkillIndex>()

function saturate(word: string, own: SkillWords, isBodyRead: boolean): number {
  const described = own.counts.get(word) ?? 0
  const count = described + (isBodyRead ? BODY_WEIGHT * (own.body.get(word) ?? 0) : 0)
  const norm = K1 * (1 - B + (B * own.length) / MEAN_LENGTH)
  return (count * (K1 + 1)) / (count + norm)
}

function toPostings(
  skills: readonly TriggerSkill[],
  read: (words: SkillWords) => ReadonlyMap<string, number>,
): Postings {
  const postings = new Map<string, TriggerSkill[]>()
  for (const skill of skills)
    for (const word of read(wordsOf(skill)).keys()) {
      const having = postings.get(word)
      if (having === undefined) postings.set(word, [skill])
      else having.push(skill)
    }
  return postings
}
