import type { SkillTests, TriggerKind, TriggerTest } from '../evals/skill-tests.ts'
import { contentStems, spellings } from '../words/content-words.ts'
import { isEnglish } from '../words/rarity.ts'
import { type Advice, giveAdvice } from './advice.ts'
import { type RankedSkill, SkillIndex } from './skill-index.ts'
import { type TriggerSkill, wordsOf } from './skill-words.ts'

/** What the words of a message say about a skill. The estimate asks no model, so no verdict is a pass. */
export const VERDICTS = ['likely', 'unsure', 'no match in words', 'not estimated'] as const
export type Verdict = (typeof VERDICTS)[number]

/** A skill, and the words that it shares with a message: the two to four most important ones. */
export interface SharedWords {
  readonly skill: string
  readonly words: readonly string[]
}

/** The estimate for one message. */
export interface TriggerCase extends TriggerTest {
  readonly verdict: Verdict
  readonly score: number
  /** Place of the skill, counted from 1. Null if the skill shares no word with the message. */
  readonly rank: number | null
  /** How far the score is above the best other skill; negative if another skill is first. */
  readonly margin: number
  /** The words that the skill shares with the message, the most important first. */
  readonly words: readonly string[]
  /** The place if the instructions are read as well. Null without instructions, or without a shared word. */
  readonly bodyRank: number | null
  /** Words of the message that the instructions have and the description has not. */
  readonly bodyWords: readonly string[]
  /** Words of the message that the skill excludes, for example in "Do not use for ...". */
  readonly excludedWords: readonly string[]
  /** Share of the words of the message that the name or the description has. */
  readonly overlap: number
  /** The best skill, and the next one. */
  readonly winner: SharedWords | null
  readonly runnerUp: SharedWords | null
}

/** How many messages of one kind have each verdict. */
export type VerdictCounts = Readonly<Record<Verdict, number>>

/** What the words of its tests say about a skill. */
export interface TriggerEstimate {
  readonly skill: string
  readonly cases: readonly TriggerCase[]
  readonly counts: Readonly<Record<TriggerKind, VerdictCounts>>
  /** Share of the words of the fires that come from the name or the description. Null without fires. */
  readonly copiedShare: number | null
  /** How often the verdict agrees with real runs. Null if no run is known. */
  readonly agreement: { readonly agreed: number; readonly of: number } | null
  readonly advice: readonly Advice[]
}

const LIKELY_SCORE = 10
const LEAST_SCORE = 5
const LAST_RANK = 3
const MAX_WORDS = 4

/**
 * Estimates from words alone which messages would load a skill. Compares the messages with the names and descriptions of
 * all skills, so that the answer says which skill a message would load instead.
 * @param skills the skills that a model sees, the tested skill among them
 *
 * @example
 * ```ts
 * import { estimateTriggers, readSkillTests } from '@skillstoke/author'
 *
 * const skills = [{ name: 'forms', description: 'Fills in PDF forms.' }, { name: 'images', description: 'Merges scans.' }]
 * const tests = readSkillTests('forms', [{ path: 'evals/tests.yaml', text: 'fires: [Please fill in this PDF form]' }])
 * const [first] = estimateTriggers(skills, tests).cases
 * console.log(first?.verdict, first?.words) // prints likely [ 'form', 'fill', 'pdf' ]
 * ```
 */
export function estimateTriggers(skills: readonly TriggerSkill[], tests: SkillTests): TriggerEstimate {
  const skill = skills.find(({ name }) => name === tests.skill)
  const cases = skill === undefined ? [] : tests.triggers.map(test => estimate(test, skill, skills))
  const fires = cases.filter(({ kind }) => kind === 'fires')
  const copiedShare =
    fires.length === 0
      ? null
      : shareOf(
          fires.map(({ message }) => message),
          skill,
        )
  return {
    skill: tests.skill,
    cases,
    counts: {
      fires: countVerdicts(fires),
      silent: countVerdicts(cases.filter(({ kind }) => kind === 'silent')),
    },
    copiedShare,
    agreement: findAgreement(cases),
    advice: giveAdvice(cases, copiedShare),
  }
}

function estimate(test: TriggerTest, skill: TriggerSkill, skills: readonly TriggerSkill[]): TriggerCase {
  const index = SkillIndex.of(skills)
  const ranked = index.rank(test.message)
  const place = ranked.findIndex(each => each.skill === skill)
  const own = ranked[place]
  const score = own?.score ?? 0
  const rank = own === undefined ? null : place + 1
  const best = ranked.find(each => each.skill !== skill)?.score ?? 0
  const bodyPlace =
    skill.body === undefined ? -1 : index.rank(test.message, true).findIndex(each => each.skill === skill)
  const isEstimated = isEnglish(test.message) && isEnglish(skill.description)
  return {
    ...test,
    verdict: isEstimated ? judge(rank, score) : 'not estimated',
    ...{ score, rank, margin: score - best, words: own?.words ?? [] },
    bodyRank: bodyPlace === -1 ? null : bodyPlace + 1,
    ...findOtherWords(test.message, skill, index),
    overlap: shareOf([test.message], skill),
    winner: toShared(ranked[0]),
    runnerUp: toShared(ranked[1]),
  }
}

function judge(rank: number | null, score: number): Verdict {
  if (rank === 1 && score >= LIKELY_SCORE) return 'likely'
  return rank === null || rank > LAST_RANK || score < LEAST_SCORE ? 'no match in words' : 'unsure'
}

function findOtherWords(
  message: string,
  skill: TriggerSkill,
  { rarity }: SkillIndex,
): Pick<TriggerCase, 'bodyWords' | 'excludedWords'> {
  const { counts, body, excluded } = wordsOf(skill)
  const words = [...spellings(message)].sort(([a], [b]) => rarity(b) - rarity(a))
  const having = (test: (word: string) => boolean): readonly string[] =>
    words.filter(([word]) => test(word)).map(([, spelling]) => spelling)
  return {
    bodyWords: having(word => body.has(word) && !counts.has(word)),
    excludedWords: having(word => excluded.has(word)),
  }
}

function shareOf(messages: readonly string[], skill: TriggerSkill | undefined): number {
  const words = messages.flatMap(contentStems)
  if (skill === undefined || words.length === 0) return 0
  return words.filter(word => wordsOf(skill).counts.has(word)).length / words.length
}

function countVerdicts(cases: readonly TriggerCase[]): VerdictCounts {
  const counts = Object.fromEntries(VERDICTS.map(verdict => [verdict, 0])) as Record<Verdict, number>
  for (const { verdict } of cases) counts[verdict]++
  return counts
}

function findAgreement(cases: readonly TriggerCase[]): TriggerEstimate['agreement'] {
  const known = cases.filter(each => each.triggerRate !== undefined && each.verdict !== 'not estimated')
  const agreed = known.filter(each => (each.verdict === 'likely') === (each.triggerRate ?? 0) >= 0.5)
  return known.length === 0 ? null : { agreed: agreed.length, of: known.length }
}

export function toShared(ranked: RankedSkill | undefined): SharedWords | null {
  return ranked === undefined ? null : { skill: ranked.skill.name, words: ranked.words.slice(0, MAX_WORDS) }
}
