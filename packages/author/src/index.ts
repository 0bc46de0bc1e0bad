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
