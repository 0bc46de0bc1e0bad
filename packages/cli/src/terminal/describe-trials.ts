import type {
  AnswerTrials,
  Score,
  Spent,
  TrialEstimate,
  TriggerTrial,
  TriggerTrials,
} from '@skillstoke/author/trials'
import { shortDigest } from '@skillstoke/core/internal'
import { formatIndented, joinWords, paint, quoteMessage, toTerminalLine } from './output.ts'

/** Describes what a model did with the messages of a skill. */
export function* describeTrials(trials: TriggerTrials, against?: Score): Generator<string> {
  yield summarizeTrials(trials, against)
  const failed = trials.trials.filter(({ passed }) => passed === false)
  if (failed.length > 0) yield formatIndented(failed.map(toCells))
}

/** One line with the score of a skill, and what it cost. */
export function summarizeTrials(
  { skill, passed, total, interval, known, spent }: TriggerTrials,
  against?: Score,
): string {
  const name = paint('bold', toTerminalLine(skill))
  if (total === 0) return `${name}  no message was answered`
  const score =
    against === undefined || against.total !== total
      ? `${passed} of ${total}`
      : `${against.passed} -> ${passed} of ${total} against ${shortDigest(against.revision)}`
  const [low, high] = interval.map(each => Math.round(each * 100))
  return `${name}  ${score}  ${paint('dim', `(95 % interval ${low} to ${high} %; ${spent.calls} asked, ${known} known, ${formatSpent(spent)})`)}`
}

/** Returns the line that says what a run will ask. */
export function describePlan(
  { calls, known, ...spent }: TrialEstimate,
  { maxCalls, maxCost }: { readonly maxCalls: number; readonly maxCost?: number },
): string {
  return `will ask about ${calls} ${calls === 1 ? 'time' : 'times'} (${known} known): about ${formatSpent(spent)}; at most ${maxCalls} calls${maxCost === undefined ? '' : ` or $${maxCost}`}`
}

function formatSpent({
  inputTokens,
  outputTokens = 0,
  cost,
}: Omit<TrialEstimate, 'calls' | 'known'> & Partial<Spent>): string {
  const tokens = (inputTokens + outputTokens).toLocaleString('en')
  return `${tokens} tokens${cost === undefined ? '' : `, $${cost.toFixed(2)}`}`
}

function toCells({ kind, message, loads, runs, others }: TriggerTrial): string[] {
  const what = kind === 'fires' ? 'missed' : 'fired'
  const instead = others.length === 0 ? '' : `loaded ${joinWords(others)}`
  return [paint('red', what), quoteMessage(message), `${loads} of ${runs} loads`, instead]
}

/** Describes the answers: a row for each message, and a column for each way to answer. */
export function* describeAnswers({ skill, columns, rows }: AnswerTrials): Generator<string> {
  yield `${paint('bold', toTerminalLine(skill))}  answers`
  const table = rows.map(({ message, cells }) => [
    quoteMessage(message),
    ...cells.map(
      ({ passed, runs, tokens, ms, cost }) =>
        `${passed} of ${runs}, ${tokens} tokens, ${(ms / 1000).toFixed(1)} s${cost === undefined ? '' : `, $${cost.toFixed(4)}`}`,
    ),
  ])
  yield formatIndented([['MESSAGE', ...columns.map(each => each.toUpperCase())], ...table])
  for (const { message, cells } of rows)
    for (const [index, { failures }] of cells.entries())
      if (index > 0 && failures.length > 0)
        yield `  ${quoteMessage(message)}, ${columns[index]}: ${toTerminalLine(failures.join('; '))}`
}
