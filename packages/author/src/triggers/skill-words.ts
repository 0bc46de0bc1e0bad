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
  readonly bodyLength: number
}

const NAME_WEIGHT = 3
const MAX_BODY_CHARACTERS = 6_000
const known = new WeakMap<TriggerSkill, SkillWords>()

/** Returns the words of a skill. The result is kept as long as the skill object. */
export function wordsOf(skill: TriggerSkill): SkillWords {
  const found = known.get(skill)
  if (found !== undefined) return found
  const { positive, negative } = cutNegativeClauses(skill.description)
  const counts = new Map<string, number>()
  let length = 0
  for (const [text, weight] of [
    [skill.name, NAME_WEIGHT],
    [positive, 1],
  ] as const)
    length += addWords(text, weight, counts)
  const body = new Map<string, number>()
  const bodyLength = addWords(skill.body?.slice(0, MAX_BODY_CHARACTERS) ?? '', 1, body)
  const made = { counts, length, excluded: new Set(negative.flatMap(contentStems)), body, bodyLength }
  known.set(skill, made)
  return made
}

/** Returns the weighted number of words. */
function addWords(text: string, weight: number, counts: Map<string, number>): number {
  const words = contentStems(text)
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + weight)
  return words.length * weight
}
