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

/** Stems with their weighted counts. */
type WordCounts = ReadonlyMap<string, number>

type WordReader = (skill: TriggerSkill) => WordCounts

const MAX_BODY_CHARACTERS = 6_000

/** Returns the words of the name and of the whole description, as two skills are compared. */
export const comparedWords: WordReader = remember(({ name, description }) => countStems(name, 2, description))

/** Returns the words of the name and of the positive part of the description, as a message is compared. */
export const describedWords: WordReader = remember(({ name, description }) =>
  countStems(name, 3, cutNegativeClauses(description).positive),
)

/** Returns the words of the first part of the instructions. */
export const bodyWords: WordReader = remember(({ body = '' }) =>
  countStems('', 0, body.slice(0, MAX_BODY_CHARACTERS)),
)

/** Returns the words of the clauses that say when not to use a skill. */
export function excludedWords({ description }: TriggerSkill): ReadonlySet<string> {
  return new Set(cutNegativeClauses(description).negative.flatMap(contentStems))
}

/** Counts how many skills have each word. */
export function countSkills(words: readonly WordCounts[]): WordCounts {
  const counts = new Map<string, number>()
  for (const each of words) for (const word of each.keys()) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/** Returns a function that keeps each result as long as the object that it belongs to. */
export function remember<Of extends object, T>(make: (of: Of) => T): (of: Of) => T {
  const known = new WeakMap<Of, T>()
  return of => {
    const result = known.get(of) ?? make(of)
    known.set(of, result)
    return result
  }
}

/** Counts the stems of a name, each with a weight, and of another text. */
function countStems(name: string, nameWeight: number, text: string): WordCounts {
  const counts = new Map<string, number>()
  for (const word of contentStems(name)) counts.set(word, (counts.get(word) ?? 0) + nameWeight)
  for (const word of contentStems(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}
