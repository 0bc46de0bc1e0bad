import { contentStems } from '../words/content-words.ts'
import { cutNegativeClauses } from '../words/negative-clauses.ts'

/** What the estimate reads of a skill. */
export interface TriggerSkill {
  readonly name: string
  readonly description: string
  /** Label of the source that the skill comes from. */
  readonly source?: string
  /** The instructions. Without them, nothing is said about words that only the instructions have. */
  readonly body?: string
}

/** The words of one skill, as stems. */
export interface SkillWords {
  /** Words of the name and of the positive part of the description, with their weighted counts. */
  readonly counts: ReadonlyMap<string, number>
  readonly length: number
  /** Words of the clauses that say when not to use the skill. */
  readonly excluded: ReadonlySet<string>
  /** Words of the first part of the instructions, with their counts. */
  readonly body: ReadonlyMap<string, number>
}

const NAME_WEIGHT = 3
const MAX_BODY_CHARACTERS = 6_000
const known = new WeakMap<TriggerSkill, SkillWords>()

/** Returns the words of a skill. The result is kept as long as the skill object. */
export function wordsOf(skill: TriggerSkill): SkillWords {
  const found = known.get(skill)
  if (found !== undefined) return found
  const { positive, negative } = cutNegativeClauses(skill.description)
  const counts = countStems(skill.name, NAME_WEIGHT, positive)
  const made = {
    counts,
    length: counts.values().reduce((sum, count) => sum + count, 0),
    excluded: new Set(negative.flatMap(contentStems)),
    body: countStems('', 0, skill.body?.slice(0, MAX_BODY_CHARACTERS) ?? ''),
  }
  known.set(skill, made)
  return made
}

/** Counts the stems of a name, each with a weight, and of another text. */
export function countStems(name: string, nameWeight: number, text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const word of contentStems(name)) counts.set(word, (counts.get(word) ?? 0) + nameWeight)
  for (const word of contentStems(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}
