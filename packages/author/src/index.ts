// Exports the checks and tests of skills. The export blocks below are ordered by hand.

// For editors and pages: findings.
export type { Finding, FindingEdit, TextEdit } from './check/finding.ts'
export type { CheckCode, FindingCode } from './check/finding-table.ts'

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
export {
  ADVICE_KINDS,
  type AdviceKind,
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
