// `@skillstoke/author/trials`: tests with a model. The export blocks below are ordered by hand.

export { renderAnswerReport } from './trials/answer-report.ts'
// What a model answers.
export {
  type AnswerCell,
  type AnswerColumn,
  type AnswerOptions,
  type AnswerRow,
  type AnswerTrials,
  JUDGE_PROMPT,
  runAnswerTrials,
} from './trials/answer-trials.ts'
// What was measured, and what it cost.
export { estimateTrials } from './trials/estimate-trials.ts'
export type { JobOptions, JobReport, TrialEstimate } from './trials/run-jobs.ts'
export type { Spent, TokenPrice } from './trials/spending-meter.ts'
export type { TrialRun } from './trials/trial.ts'
export { openTrialStore, type Score, type TrialStore } from './trials/trial-store.ts'
// Which skills a model loads.
export {
  type AskedModel,
  runTriggerTrials,
  type TriggerTrial,
  type TriggerTrials,
} from './trials/trigger-trials.ts'
