import type { TriggerCase, TriggerEstimate, Verdict, VerdictCounts } from '@skillstoke/author'
import { ADVICE_KINDS, type MessageRanking } from '@skillstoke/author/internal'
import { formatIndented, joinWords, paint, quoteMessage, toTerminalLine } from './output.ts'

const MAX_CASES = 20
const MAX_WORDS = 4
const MAX_RANKED = 3
const GOOD = { fires: 'likely', silent: 'no match in words' } as const

/** Describes the estimate of a skill: counts, and each message that may need work, the cheapest advice first. */
export function* describeEstimate(estimate: TriggerEstimate): Generator<string> {
  const { skill, cases, counts, copiedShare, isCopied, agreement } = estimate
  const { fires, silent } = counts
  yield `${paint('bold', toTerminalLine(skill))}  ${paint('dim', 'words only, no model was asked')}`
  if (cases.length === 0) yield '  a model cannot load this skill by itself, so there is nothing to estimate'
  yield* describeCounts('fires      ', fires, GOOD.fires, 'likely')
  yield* describeCounts('near misses', silent, GOOD.silent, 'go elsewhere or match nothing')
  if (agreement !== null)
    yield `  the estimate agreed with real runs on ${agreement.agreed} of ${agreement.of}`
  const doubtful = cases
    .filter(({ kind, verdict }) => verdict !== GOOD[kind])
    .sort((a, b) => orderOf(a) - orderOf(b))
  if (doubtful.length > 0) yield formatIndented(doubtful.slice(0, MAX_CASES).map(toCells))
  if (doubtful.length > MAX_CASES) yield `  and ${doubtful.length - MAX_CASES} more; --json has all`
  const share = `your fires take ${Math.round((copiedShare ?? 0) * 100)} % of their words from the description`
  if (copiedShare !== null)
    yield `  ${share}${isCopied ? ': they may be easier than real messages; write as users would' : ''}`
}

function orderOf({ advice: [first] }: TriggerCase): number {
  return first === undefined ? ADVICE_KINDS.length : ADVICE_KINDS.indexOf(first)
}

/** One line about the tests of a skill, for a save. */
export function summarizeEstimate({ skill, counts: { fires, silent } }: TriggerEstimate): string {
  const shown = [
    ...(sumOf(fires) > 0 ? [`${fires.likely} of ${sumOf(fires)} fires likely`] : []),
    ...(sumOf(silent) > 0 ? [`${silent['no match in words']} of ${sumOf(silent)} silent elsewhere`] : []),
  ]
  return `tests ${toTerminalLine(skill)}: ${shown.join(', ')} (words only)`
}

/** Describes which skills share words with a message. */
export function* describeRanking({ message, isEstimated, ranking }: MessageRanking): Generator<string> {
  yield quoteMessage(message)
  const rows = ranking
    .slice(0, MAX_RANKED)
    .map(({ skill, words }, place) => [`${place + 1}`, toTerminalLine(skill), joinShort(words)])
  if (!isEstimated) yield '  not estimated: the message is not English'
  else yield rows.length === 0 ? '  no skill has its words' : formatIndented(rows)
}

function sumOf(counts: VerdictCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

function* describeCounts(
  title: string,
  counts: VerdictCounts,
  good: Verdict,
  meaning: string,
): Generator<string> {
  const others = Object.entries(counts).filter(([verdict, count]) => verdict !== good && count > 0)
  const rest = others.map(([verdict, count]) => `, ${count} ${verdict}`).join('')
  if (sumOf(counts) > 0) yield `  ${title}  ${counts[good]} of ${sumOf(counts)} ${meaning}${rest}`
}

function toCells(each: TriggerCase): string[] {
  const { kind, verdict, message, isPrompt } = each
  const marks = `${kind === 'silent' ? 'near miss ' : ''}${isPrompt ? 'prompt ' : ''}`
  const reason = kind === 'fires' ? explainMiss(each) : explainNearMiss(each)
  return [
    paint(verdict === 'no match in words' ? 'red' : 'yellow', verdict),
    `${marks}${quoteMessage(message)}`,
    verdict === 'not estimated' ? 'the message or the description is not English' : reason,
  ]
}

function explainMiss({ rank, words, winner, bodyWords }: TriggerCase): string {
  const own = words.length === 0 ? '' : `, this skill (${joinShort(words)})`
  const first =
    winner === null
      ? 'no skill has its words'
      : rank === 1
        ? `first, but only with ${joinShort(words)}`
        : `first: ${toTerminalLine(winner.skill)} (${joinShort(winner.words)})${own}`
  return bodyWords.length === 0
    ? first
    : `${first}; add to the description, as the body has them: ${joinShort(bodyWords)}`
}

function explainNearMiss({ words, excludedWords }: TriggerCase): string {
  const excluded =
    excludedWords.length > 0
      ? `the description excludes ${joinShort(excludedWords)}`
      : 'nothing in the description excludes it'
  return `${joinShort(words)}; ${excluded}`
}

function joinShort(words: readonly string[]): string {
  return joinWords(words.slice(0, MAX_WORDS))
}
