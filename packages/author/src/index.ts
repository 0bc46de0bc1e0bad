// Exports the checks and tests of skills. The export blocks below are ordered by hand.

// For editors, pages and programs: the findings about a skill.
export { type CheckSetOptions, checkSet } from './check/check-set.ts'
export { type CheckOptions, checkSkill, type Severities, toFindings } from './check/check-skill.ts'
export type { CheckedFile, OtherSkill, SkillToCheck } from './check/checked-skill.ts'
export { applyEdits } from './check/core-edits.ts'
export type { Finding, FindingEdit, TextEdit } from './check/finding.ts'
export {
  CHECKS,
  type CheckCode,
  type CheckRow,
  type Example,
  type FindingCode,
  PROFILES,
  type Profile,
} from './check/finding-table.ts'
export {
  type CheckedPath,
  countFindings,
  type FindingCounts,
  REPORT_FORMATS,
  type ReportFormat,
  renderReport,
} from './report/reports.ts'

// The tests in the folder `evals/` of a skill: reading, writing and converting them.
export {
  EXPECTATION_KINDS,
  TESTS_FILE,
  TRIGGER_KINDS,
  type AnswerTest,
  type Expectation,
  type ReadTests,
  type SkillTests,
  type TestFault,
  type TestPlace,
  type TriggerKind,
  type TriggerTest,
} from './evals/skill-tests.ts'
export { readSkillTests, type TestText } from './evals/read-skill-tests.ts'
export { type AddedTest, addTest, type NewTest, toTriggerEvals } from './evals/write-tests.ts'

// Estimates from words, without a model: which message loads which skill, and which skills collide.
export type { Advice } from './triggers/advice.ts'
export {
  estimateTriggers,
  type SharedWords,
  type TriggerCase,
  type TriggerEstimate,
  VERDICTS,
  type Verdict,
  type VerdictCounts,
} from './triggers/estimate-triggers.ts'
export {
  COLLISION_KINDS,
  type CollidingSkill,
  type Collision,
  type CollisionKind,
  type CollisionOptions,
  findCollisions,
  type LostMessage,
} from './triggers/find-collisions.ts'
export { type MessageRanking, rankSkills } from './triggers/rank-skills.ts'
export type { TriggerSkill } from './triggers/skill-words.ts'
export { listCompeting, readTestsOf, withBodies } from './triggers/tested-skills.ts'

// Tests with a model: which skills it loads, and what it answers.
export {
  type AnswerCell,
  type AnswerColumn,
  type AnswerOptions,
  type AnswerRow,
  type AnswerTrials,
  JUDGE_PROMPT,
  runAnswerTrials,
} from './trials/answer-trials.ts'
export { renderAnswerReport } from './trials/answer-report.ts'
export {
  type JobOptions,
  type JobReport,
  type Spent,
  type TokenPrice,
  toCost,
  type TrialCap,
  type TrialJob,
} from './trials/run-jobs.ts'
export type { TrialRun } from './trials/trial.ts'
export { openTrialStore, type Score, type TrialStore } from './trials/trial-store.ts'
export {
  type AskedModel,
  planTriggerTrials,
  readCatalog,
  runTriggerTrials,
  type TriggerTrial,
  type TriggerTrials,
} from './trials/trigger-trials.ts'

// For programs that create skills.
export {
  checkNewName,
  describeNewSkill,
  type NewFile,
  type NewSkill,
  renderNewSkill,
  SKILL_TEMPLATES,
  type SkillTemplate,
} from './new/render-new-skill.ts'
