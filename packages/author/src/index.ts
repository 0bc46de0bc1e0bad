// Exports the checks and the estimates of tests, which need no model. The export blocks below are ordered by hand.

// For editors, pages and programs: the findings about skills.
export { type CheckOptions, checkSkill, type Severities } from './check/check-skill.ts'
export { type CheckSetOptions, checkSet } from './check/check-set.ts'
export type { CheckedFile, OtherSkill, SkillToCheck } from './check/checked-skill.ts'
export { applyEdits } from './check/core-edits.ts'
export type { Finding, FindingEdit, TextEdit } from './check/finding.ts'
export {
  CHECKS,
  type CheckCode,
  type CheckRow,
  type ClientProfile,
  type Example,
  type FindingCode,
  PROFILES,
  type Profile,
  type Severity,
} from './check/finding-table.ts'

// The tests in the folder `evals/` of a skill.
export type {
  AnswerTest,
  Expectation,
  SkillTests,
  TestFault,
  TestPlace,
  TriggerKind,
  TriggerTest,
} from './evals/skill-tests.ts'
export { readSkillTests, type TestText } from './evals/read-skill-tests.ts'
export { type AddedTest, addTest, type NewTest, toTriggerEvals } from './evals/write-tests.ts'

// Estimates from words, without a model: which message loads which skill, and which skills collide.
export {
  type AdviceKind,
  estimateTriggers,
  type TriggerCase,
  type TriggerEstimate,
  type Verdict,
  type VerdictCounts,
} from './triggers/estimate-triggers.ts'
export {
  type CollidingSkill,
  type Collision,
  type CollisionKind,
  type CollisionOptions,
  findCollisions,
  type LostMessage,
} from './triggers/find-collisions.ts'
export type { SharedWords } from './triggers/rank-skills.ts'
export type { TriggerSkill } from './triggers/skill-words.ts'

// For programs that create skills.
export { type NewFile, type NewSkill, renderNewSkill, type SkillTemplate } from './new/render-new-skill.ts'
