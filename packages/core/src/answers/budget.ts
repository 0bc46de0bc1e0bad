import type { CatalogFormatName } from '../catalog/catalog-format.ts'
import { renderCatalog, type TokenCounter } from '../catalog/render-catalog.ts'
import { isModelInvocable } from '../skill/invocation.ts'
import type { Skill } from '../skill/skill.ts'
import { CLIENT_LIMITS, type ClientLimit } from './client-limits.ts'
import { type CatalogUse, countEntry, countSeen, type SkillVisibility, seeSkills } from './visibility.ts'

export interface BudgetOptions {
  readonly format: CatalogFormatName
  readonly maxTokens: number
  readonly countTokens: TokenCounter
}

/** How much of a limit of a client the skills use. */
export interface LimitUse extends Pick<ClientLimit, 'client' | 'what' | 'unit' | 'limit'> {
  /** Size of the whole list, or of the longest entry. */
  readonly used: number
  /** Names of the skills whose entries exceed a limit for each entry. */
  readonly cut: readonly string[]
}

export interface SkillBudget {
  readonly catalog: CatalogUse
  /** Tokens of a catalog that lists every skill. */
  readonly neededTokens: number
  /** The costs, sorted by name as the catalog is. If the budget is too small, skills at the end are left out. */
  readonly skills: readonly {
    readonly name: string
    readonly visibility: SkillVisibility
    /** Tokens of the entry that the skill has or would have in the catalog. 0 for a hidden skill. */
    readonly listed: number
  }[]
  readonly limits: readonly LimitUse[]
}

/**
 * Computes what the skills cost in the catalog, and which limits they exceed.
 * @param skills the served skills in scope, sorted by name, with those that only people invoke
 */
export function computeBudget(skills: readonly Skill[], options: BudgetOptions): SkillBudget {
  const { format, maxTokens, countTokens } = options
  const visible = skills.filter(isModelInvocable)
  const catalog = renderCatalog(visible, { format, countTokens, maxTokens })
  const whole = renderCatalog(visible, { format, countTokens, maxTokens: Infinity })
  const seen = seeSkills(skills, catalog)
  return {
    catalog: { tokens: catalog.tokens, isEstimate: false, maxTokens, ...countSeen(seen) },
    neededTokens: whole.tokens,
    skills: skills.map(skill => ({
      name: skill.name,
      visibility: seen.get(skill.name) ?? 'unlisted',
      listed: countEntry(skill, format, countTokens),
    })),
    limits: CLIENT_LIMITS.map(limit => measureLimit(limit, skills, countTokens)),
  }
}

function measureLimit(
  { isPerEntry, entryOf, ...shown }: ClientLimit,
  skills: readonly Skill[],
  countTokens: TokenCounter,
): LimitUse {
  const sizeOf = (text: string): number => (shown.unit === 'tokens' ? countTokens(text) : text.length)
  const entries = skills.map(entryOf)
  const sizes = isPerEntry ? entries.map(sizeOf) : []
  return {
    ...shown,
    used: isPerEntry ? Math.max(0, ...sizes) : sizeOf(entries.filter(Boolean).join('\n')),
    cut: skills.filter((_, index) => (sizes[index] ?? 0) > shown.limit).map(({ name }) => name),
  }
}
