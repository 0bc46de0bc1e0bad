import type { TriggerCase } from './estimate-triggers.ts'

/** What an author can do, from the cheapest and surest advice on. */
export type Advice =
  /** The instructions have words of a missed message that the description has not. */
  | { readonly kind: 'add-words'; readonly message: string; readonly words: readonly string[] }
  /** Another skill shares more words with a message that should load this skill. */
  | {
      readonly kind: 'won-by-other'
      readonly message: string
      readonly skill: string
      readonly words: readonly string[]
    }
  /** The description shares words with a message that should not load this skill. */
  | {
      readonly kind: 'near-miss'
      readonly message: string
      readonly words: readonly string[]
      /** Those words of the message that the description excludes. */
      readonly excluded: readonly string[]
    }
  /** The messages repeat the description, so they are easier than real ones. */
  | { readonly kind: 'copied'; readonly share: number }

const MAX_WORDS = 4
const MAX_COPIED_SHARE = 0.6

export function giveAdvice(cases: readonly TriggerCase[], copiedShare: number | null): readonly Advice[] {
  const missed = cases.filter(
    ({ kind, verdict }) => kind === 'fires' && (verdict === 'unsure' || verdict === 'no match in words'),
  )
  return [
    ...missed.flatMap(({ message, bodyWords }): Advice[] =>
      bodyWords.length === 0 ? [] : [{ kind: 'add-words', message, words: bodyWords.slice(0, MAX_WORDS) }],
    ),
    ...missed.flatMap(({ message, winner, rank }): Advice[] =>
      winner === null || rank === 1 ? [] : [{ kind: 'won-by-other', message, ...winner }],
    ),
    ...cases
      .filter(({ kind, verdict }) => kind === 'silent' && verdict === 'likely')
      .map(({ message, words, excludedWords: excluded }): Advice => {
        return { kind: 'near-miss', message, words: words.slice(0, MAX_WORDS), excluded }
      }),
    ...(copiedShare === null || copiedShare <= MAX_COPIED_SHARE
      ? []
      : [{ kind: 'copied', share: copiedShare } as const]),
  ]
}
