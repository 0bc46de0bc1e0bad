import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import type { Generation } from '../registry/generation.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import { type Diagnostic, isError } from '../skill/diagnostic.ts'

/**
 * Conditions that the host requires. If a condition is not met, the runtime throws, although the runtime could still
 * serve skills.
 */
export interface Demands {
  /** True if all names must be unique. */
  readonly isUnique: boolean
  /** True if every found skill must be valid. */
  readonly isValid: boolean
}

/**
 * @throws {SkillError} SOURCE_MISSING, SKILL_INVALID or DUPLICATE_SKILL, the first of these that applies;
 * `data.reports` lists all skills with that fault
 */
export function assertDemands(demands: Demands, generation: Generation, failures: readonly unknown[]): void {
  for (const failure of failures) if (SkillError.isInstance(failure, 'SOURCE_MISSING')) throw failure
  const { isUnique, isValid } = demands
  if (isValid) assertNone(generation, isError, 'SKILL_INVALID')
  if (isUnique) assertNone(generation, ({ code }) => code === 'SKILL_SHADOWED', 'DUPLICATE_SKILL')
}

function assertNone(
  generation: Generation,
  isRefused: (diagnostic: Diagnostic) => boolean,
  code: 'SKILL_INVALID' | 'DUPLICATE_SKILL',
): void {
  const reports = generation.reports().filter(report => report.diagnostics.some(isRefused))
  const [first] = reports
  if (first === undefined) return
  const more = reports.length > 1 ? ` (and ${reports.length - 1} more)` : ''
  throw new SkillError(code, `skill ${quote(first.name)}: ${reasonOf(first, isRefused)}${more}`, {
    data: { reports },
  })
}

function reasonOf(report: SkillReport, isRefused: (diagnostic: Diagnostic) => boolean): string {
  const found = report.diagnostics.find(isRefused)
  const { message = '', path, line } = found ?? {}
  return `${path === undefined ? '' : `${path}${line === undefined ? '' : `:${line}`}: `}${message}`
}
