import { BACKGROUND_COUNTS, BACKGROUND_SKILLS } from './background-counts.ts'
import { splitWords } from './content-words.ts'
import { stem } from './stem.ts'
import { STOP_WORDS } from './stop-words.ts'

/** How much a word tells skills apart, from the share of skills that have it. */
export type Rarity = (word: string) => number

const BACKGROUND: ReadonlyMap<string, number> = new Map(
  BACKGROUND_COUNTS.trim()
    .split('\n')
    .map(line => line.split(' '))
    .flatMap(([count, ...words]) => words.map(word => [word, Number(count)])),
)

/** Counts of public skills are added to those of the catalog, because a small catalog has no rare words. */
export function rarityBeside(counts: ReadonlyMap<string, number>, skills: number): Rarity {
  const total = BACKGROUND_SKILLS + skills
  return word => rarityOf((BACKGROUND.get(word) ?? 0) + (counts.get(word) ?? 0), total)
}

/** The inverse document frequency of BM25. */
export function rarityOf(count: number, total: number): number {
  return Math.log(1 + (total - count + 0.5) / (count + 0.5))
}

// Words that are also words of other languages, so they do not show that a text is English.
const SHARED_WORDS: ReadonlySet<string> = new Set(
  'a am an as be can he her i in me no on so was we will'.split(' '),
)
const LEAST_WORDS = 3
const LEAST_SHARE = 1 / 3

/**
 * Whether enough words of a text are ordinary English words. The estimate compares English words only, so it says nothing
 * about other texts.
 */
export function isEnglish(text: string): boolean {
  const words = splitWords(text)
  if (words.length < LEAST_WORDS && /^[\x20-\x7E]*$/.test(text)) return true
  const known = words.filter(
    word => (STOP_WORDS.has(word) && !SHARED_WORDS.has(word)) || BACKGROUND.has(stem(word)),
  )
  return words.length > 0 && known.length >= words.length * LEAST_SHARE
}
