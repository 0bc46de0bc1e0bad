// Exports the checks and tests of skills. The export blocks below are ordered by hand.

// For editors and pages: findings.
export type { Finding, FindingEdit, TextEdit } from './check/finding.ts'
export type { CheckCode, FindingCode } from './check/finding-table.ts'

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
