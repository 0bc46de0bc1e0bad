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
export type { JobOptions, JobReport, Spent, TokenPrice } from './trials/run-jobs.ts'
export type { TrialRun } from './trials/trial.ts'
export { openTrialStore, type Score, type TrialStore } from './trials/trial-store.ts'
// Which skills a model loads.
export {
  type AskedModel,
  estimateTrials,
  runTriggerTrials,
  type TrialEstimate,
  type TriggerTrial,
  type TriggerTrials,
} from './trials/trigger-trials.ts'
