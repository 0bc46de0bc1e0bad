import type { SkillTests, TriggerKind, TriggerTest } from '../evals/skill-tests.ts'
import { contentStems, spellings } from '../words/content-words.ts'
import { isEnglish, type Rarity } from '../words/rarity.ts'
import { type RankedSkill, rankAll, rarityAmong, type SharedWords } from './rank-skills.ts'
import { bodyWords, describedWords, excludedWords, type TriggerSkill } from './skill-words.ts'

/** What the words of a message say about a skill. The estimate asks no model, so no verdict is a pass. */
export const VERDICTS = ['likely', 'unsure', 'no match in words', 'not estimated'] as const
export type Verdict = (typeof VERDICTS)[number]

/**
 * What an author can do about a message, the cheapest first. `add-words`: the instructions have words of a missed message
 * that the description has not. `won-by-other`: another skill has more words of it. `near-miss`: the description shares
 * words with a message that should not load the skill.
 */
export const ADVICE_KINDS = ['add-words', 'won-by-other', 'near-miss'] as const
export type AdviceKind = (typeof ADVICE_KINDS)[number]

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
  /** The best skill, and the next one, with their four most important words. */
  readonly winner: SharedWords | null
  readonly runnerUp: SharedWords | null
  /** Empty if the verdict is the wanted one. */
  readonly advice: readonly AdviceKind[]
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
  /** True if the fires repeat so much of the description that they are easier than real messages. */
  readonly isCopied: boolean
  /** How often the verdict agrees with real runs. Null if no run is known. */
  readonly agreement: { readonly agreed: number; readonly of: number } | null
}

const LIKELY_SCORE = 10
const LEAST_SCORE = 5
const LAST_RANK = 3
const MAX_WORDS = 4
const MAX_COPIED_SHARE = 0.6

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
  const [fires, silent] = [cases.filter(isFire), cases.filter(each => !isFire(each))]
  const messages = fires.map(({ message }) => message).join('\n')
  const copiedShare = skill === undefined || messages === '' ? null : shareOf(messages, skill)
  return {
    skill: tests.skill,
    cases,
    counts: { fires: countVerdicts(fires), silent: countVerdicts(silent) },
    copiedShare,
    isCopied: (copiedShare ?? 0) > MAX_COPIED_SHARE,
    agreement: findAgreement(cases),
  }
}

function isFire({ kind }: TriggerTest): boolean {
  return kind === 'fires'
}

function estimate(test: TriggerTest, skill: TriggerSkill, skills: readonly TriggerSkill[]): TriggerCase {
  const { message } = test
  const ranked = rankAll(message, skills)
  const own = ranked.find(each => each.skill === skill.name)
  const score = own?.score ?? 0
  const rank = rankOf(skill, ranked)
  const isEstimated = isEnglish(message) && isEnglish(skill.description)
  const found = {
    ...test,
    verdict: isEstimated ? judge(rank, score) : 'not estimated',
    score,
    rank,
    margin: score - (ranked.find(each => each !== own)?.score ?? 0),
    words: own?.words ?? [],
    bodyRank: skill.body === undefined ? null : rankOf(skill, rankAll(message, skills, true)),
    ...findOtherWords(message, skill, rarityAmong(skills)),
    overlap: shareOf(message, skill),
    winner: toShared(ranked[0]),
    runnerUp: toShared(ranked[1]),
  } as const
  return { ...found, advice: adviseAbout(found) }
}

function rankOf(skill: TriggerSkill, ranked: readonly RankedSkill[]): number | null {
  const place = ranked.findIndex(each => each.skill === skill.name)
  return place === -1 ? null : place + 1
}

function judge(rank: number | null, score: number): Verdict {
  if (rank === 1 && score >= LIKELY_SCORE) return 'likely'
  return rank === null || rank > LAST_RANK || score < LEAST_SCORE ? 'no match in words' : 'unsure'
}

function adviseAbout(found: Omit<TriggerCase, 'advice'>): readonly AdviceKind[] {
  const { verdict, bodyWords, rank, winner } = found
  if (verdict === 'not estimated' || isFire(found) === (verdict === 'likely')) return []
  if (!isFire(found)) return ['near-miss']
  return [
    ...(bodyWords.length > 0 ? (['add-words'] as const) : []),
    ...(winner !== null && rank !== 1 ? (['won-by-other'] as const) : []),
  ]
}

function findOtherWords(
  message: string,
  skill: TriggerSkill,
  rarity: Rarity,
): Pick<TriggerCase, 'bodyWords' | 'excludedWords'> {
  const words = [...spellings(message)].sort(([a], [b]) => rarity(b) - rarity(a))
  const having = (test: (word: string) => boolean): readonly string[] =>
    words.filter(([word]) => test(word)).map(([, spelling]) => spelling)
  const excluded = excludedWords(skill)
  return {
    bodyWords: having(word => bodyWords(skill).has(word) && !describedWords(skill).has(word)),
    excludedWords: having(word => excluded.has(word)),
  }
}

function shareOf(message: string, skill: TriggerSkill): number {
  const words = contentStems(message)
  return words.filter(word => describedWords(skill).has(word)).length / (words.length || 1)
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

function toShared(ranked: RankedSkill | undefined): SharedWords | null {
  return ranked === undefined ? null : { skill: ranked.skill, words: ranked.words.slice(0, MAX_WORDS) }
}
