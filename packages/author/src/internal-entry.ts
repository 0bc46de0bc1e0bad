// `@skillstoke/author/internal`: exports for the other packages of this repository. Any release may change or remove an
// export.

// For `stoke check`, `stoke list` and the dev server.
export { toFindings } from './check/check-skill.ts'
// For `stoke check --since`.
export { countTextEntry } from './check/count-entry.ts'
// For `stoke fleet publish`.
export { findSecrets } from './check/rules/secret-rules.ts'
// For `stoke test`, `stoke collisions` and the dev server.
export { mayHaveTests } from './evals/read-skill-tests.ts'
export { TESTS_FILE } from './evals/skill-tests.ts'
// For `stoke new`.
export { describeNewSkill, SKILL_TEMPLATES } from './new/render-new-skill.ts'
export {
  type CheckedPath,
  countFindings,
  type FindingCounts,
  REPORT_FORMATS,
  type ReportFormat,
  renderReport,
} from './report/reports.ts'
export { ADVICE_KINDS } from './triggers/estimate-triggers.ts'
export { type MessageRanking, rankSkills } from './triggers/rank-skills.ts'
export { listCompeting, readTestsOf } from './triggers/tested-skills.ts'
