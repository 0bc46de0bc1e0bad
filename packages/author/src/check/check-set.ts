import { renderCatalog, type Skill } from '@skillstoke/core'
import { type CheckOptions, toFindings } from './check-skill.ts'
import type { Finding } from './finding.ts'

/** Tokens of the catalog that clients list whole: two percent of a context of 200,000 tokens. */
const DEFAULT_BUDGET = 4000

/** How several skills are checked. */
export interface CheckSetOptions extends CheckOptions {
  /** Maximum size of the catalog in tokens. If it is given, a larger catalog is a warning. @default 4,000, as a remark */
  readonly budget?: number
}

/** Checks what concerns several skills. The findings have no path if they concern all skills. */
export function checkSet(skills: readonly Skill[], options: CheckSetOptions = {}): readonly Finding[] {
  const { budget, countTokens = text => Math.ceil(text.length / 4) } = options
  const listed = skills.filter(({ extra }) => extra['disable-model-invocation'] !== true)
  const { tokens } = renderCatalog(listed, { countTokens, maxTokens: Number.MAX_SAFE_INTEGER })
  const most = budget ?? DEFAULT_BUDGET
  if (tokens <= most) return []
  return toFindings(
    [
      {
        code: 'CATALOG_TOO_LARGE',
        severity: budget === undefined ? 'info' : 'warning',
        message: `the catalog of ${listed.length} skills has ${tokens.toLocaleString('en')} tokens; ${most.toLocaleString('en')} are listed whole`,
        fix: 'shorten the longest descriptions, or give each agent a scope; "stoke budget" shows the sizes',
      },
    ],
    options,
  )
}
