import { type Change, diffLines, diffWordsWithSpace } from 'diff'
import type { SkillDiff } from 'skillstoke/client'

/** A line of one text. Parts are marked if the line of the other text lacks them. */
export interface ComparedLine {
  readonly number: number
  readonly parts: readonly { readonly text: string; readonly isChanged: boolean }[]
}

/** A line of both texts beside each other. One side is absent for a line that was added or removed. */
export interface LinePair {
  readonly isEqual: boolean
  readonly before: ComparedLine | undefined
  readonly after: ComparedLine | undefined
}

/** Longer lines are compared as a whole, because words take too long. */
const MAX_LINE = 20_000
/** Bounds the work for texts without a common line. */
const TIMEOUT_MS = 500

/** The two texts of a file. Null if the file does not exist. */
export type FileTexts = SkillDiff['texts'][number]

const compared = new WeakMap<FileTexts, readonly LinePair[]>()

/** Compares the two texts of a file. Several parts of a view ask for the same file. */
export function compareFile(texts: FileTexts): readonly LinePair[] {
  const pairs = compared.get(texts) ?? compareTexts(texts.before ?? '', texts.after ?? '')
  compared.set(texts, pairs)
  return pairs
}

/** Compares two texts by lines, and changed lines by words. */
export function compareTexts(before: string, after: string): readonly LinePair[] {
  const pairs: LinePair[] = []
  let [old, now] = [0, 0]
  let removed: readonly string[] = []
  const add = (left: readonly string[], right: readonly string[], isEqual: boolean): void => {
    for (let index = 0; index < Math.max(left.length, right.length); index++) {
      const [from, to] = [left[index], right[index]]
      const words = from === undefined || to === undefined || isEqual ? [] : compareWords(from, to)
      const side = (text: string | undefined, other: 'added' | 'removed'): ComparedLine['parts'] =>
        words.length === 0
          ? [{ text: text ?? '', isChanged: !isEqual }]
          : words
              .filter(word => !word[other])
              .map(word => ({ text: word.value, isChanged: word.added || word.removed }))
      pairs.push({
        isEqual,
        before: from === undefined ? undefined : { number: ++old, parts: side(from, 'added') },
        after: to === undefined ? undefined : { number: ++now, parts: side(to, 'removed') },
      })
    }
  }
  const whole = [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ]
  for (const { value, added, removed: isRemoved } of diffLines(before, after, { timeout: TIMEOUT_MS }) ??
    whole) {
    const lines = value.replace(/\r?\n$/, '').split(/\r\n|\n|\r/)
    if (isRemoved) removed = lines
    else {
      add(removed, added ? lines : [], false)
      removed = []
      if (!added) add(lines, lines, true)
    }
  }
  add(removed, [], false)
  return pairs
}

export function compareWords(from: string, to: string): readonly Change[] {
  return from.length + to.length > MAX_LINE ? [] : diffWordsWithSpace(from, to)
}

/** Counts the lines that only one text has. */
export function countLines(pairs: readonly LinePair[]): { readonly added: number; readonly removed: number } {
  const changed = pairs.filter(({ isEqual }) => !isEqual)
  return {
    added: changed.filter(({ after }) => after !== undefined).length,
    removed: changed.filter(({ before }) => before !== undefined).length,
  }
}
