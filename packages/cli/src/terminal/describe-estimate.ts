import type { Advice, MessageRanking, TriggerCase, TriggerEstimate, VerdictCounts } from '@skillstoke/author'
import { formatTable, paint, shorten, toTerminalLine } from './output.ts'

const MAX_CASES = 20
const MESSAGE_WIDTH = 60
const MAX_COPIED_SHARE = 0.6

const VERDICT_STYLES = {
  likely: 'yellow',
  unsure: 'yellow',
  'no match in words': 'red',
  'not estimated': 'dim',
} as const satisfies Record<TriggerCase['verdict'], unknown>

/** Describes the estimate of a skill: counts, each message that may need work, and advice. */
export function* describeEstimate(estimate: TriggerEstimate): Generator<string> {
  const { skill, cases, counts, copiedShare, agreement, advice } = estimate
  yield `${paint('bold', toTerminalLine(skill))}  ${paint('dim', 'words only, no model was asked')}`
  if (cases.length === 0) yield '  a model cannot load this skill by itself, so there is nothing to estimate'
  const fires = countOf(counts.fires)
  if (fires > 0)
    yield `  fires        ${counts.fires.likely} of ${fires} likely${listOthers(counts.fires, ['unsure', 'no match in words'])}`
  const silent = countOf(counts.silent)
  if (silent > 0)
    yield `  near misses  ${counts.silent['no match in words']} of ${silent} go elsewhere or match nothing${listOthers(counts.silent, ['unsure', 'likely'])}`
  if (copiedShare !== null) yield `  ${describeCopied(copiedShare)}`
  if (agreement !== null)
    yield `  the estimate agreed with real runs on ${agreement.agreed} of ${agreement.of}`
  const doubtful = cases.filter(
    ({ kind, verdict }) => verdict !== (kind === 'fires' ? 'likely' : 'no match in words'),
  )
  if (doubtful.length > 0) yield indent(formatTable(doubtful.slice(0, MAX_CASES).map(toCells)))
  if (doubtful.length > MAX_CASES) yield `  and ${doubtful.length - MAX_CASES} more; --json has all`
  for (const line of new Set(advice.map(describeAdvice))) yield `  ${line}`
}

/** One line about the tests of a skill, for a save. */
export function summarizeEstimate({ skill, counts }: TriggerEstimate): string {
  const parts = [
    [counts.fires.likely, countOf(counts.fires), 'fires likely'],
    [counts.silent['no match in words'], countOf(counts.silent), 'silent elsewhere'],
  ] as const
  const shown = parts.filter(([, all]) => all > 0).map(([good, all, what]) => `${good} of ${all} ${what}`)
  return `tests ${toTerminalLine(skill)}: ${shown.join(', ')} (words only)`
}

/** Describes which skills share words with a message. */
export function* describeRanking({ message, isEstimated, ranking }: MessageRanking): Generator<string> {
  yield quoteMessage(message)
  if (!isEstimated) yield '  not estimated: the message is not English'
  else if (ranking.length === 0) yield '  no skill has its words'
  else
    yield indent(
      formatTable(
        ranking
          .slice(0, 3)
          .map((each, place) => [`${place + 1}`, toTerminalLine(each.skill), joinWords(each.words)]),
      ),
    )
}

function countOf(counts: VerdictCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function listOthers(counts: VerdictCounts, verdicts: readonly (keyof VerdictCounts)[]): string {
  const shown = [...verdicts, 'not estimated' as const].filter(verdict => counts[verdict] > 0)
  return shown.map(verdict => `, ${counts[verdict]} ${verdict}`).join('')
}

function describeCopied(share: number): string {
  const warning = share > MAX_COPIED_SHARE ? ': they may be easier than real messages' : ''
  return `your fires take ${Math.round(share * 100)} % of their words from the description${warning}`
}

function toCells({ kind, verdict, message, isPrompt, ...rest }: TriggerCase): string[] {
  const marks = [...(kind === 'silent' ? ['near miss'] : []), ...(isPrompt ? ['prompt'] : [])]
  const reasons = kind === 'fires' ? explainMiss(rest) : explainNearMiss(rest)
  return [
    paint(VERDICT_STYLES[verdict], verdict),
    [...marks, quoteMessage(message)].join(' '),
    verdict === 'not estimated' ? 'the message or the description is not English' : reasons,
  ]
}

type Reasons = Pick<TriggerCase, 'rank' | 'words' | 'winner' | 'bodyWords' | 'excludedWords'>

function explainMiss({ rank, words, winner, bodyWords }: Reasons): string {
  const first =
    winner === null
      ? 'no skill has its words'
      : rank === 1
        ? `first, but only with ${joinWords(words)}`
        : `first: ${toTerminalLine(winner.skill)} (${joinWords(winner.words)})${words.length > 0 ? `, this skill (${joinWords(words)})` : ''}`
  return bodyWords.length === 0 ? first : `${first}; the body has: ${joinWords(bodyWords)}`
}

function explainNearMiss({ words, excludedWords }: Reasons): string {
  const excluded =
    excludedWords.length === 0
      ? 'nothing in the description excludes it'
      : `the description excludes ${joinWords(excludedWords)}`
  return `${joinWords(words)}; ${excluded}`
}

function describeAdvice(advice: Advice): string {
  switch (advice.kind) {
    case 'add-words':
      return `add these words to the description: ${joinWords(advice.words)}, for ${quoteMessage(advice.message)}`
    case 'won-by-other':
      return `${toTerminalLine(advice.skill)} wins ${quoteMessage(advice.message)} with ${joinWords(advice.words)}: say in both descriptions what the other does`
    case 'near-miss':
      return `${quoteMessage(advice.message)} shares ${joinWords(advice.words)}: say in the description what the skill is not for`
    case 'copied':
      return 'write messages as users would, in words that the description has not'
    default:
      return advice satisfies never
  }
}

function joinWords(words: readonly string[]): string {
  return toTerminalLine(words.slice(0, 4).join(', '))
}

function quoteMessage(message: string): string {
  return `"${shorten(message, MESSAGE_WIDTH)}"`
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ')
}
