// Exports the checks and tests of skills. The export blocks below are ordered by hand.

// For editors and pages: findings.
export type { Finding, FindingEdit, TextEdit } from './check/finding.ts'
export type { CheckCode, FindingCode } from './check/finding-table.ts'
