import { CATALOG_FORMATS, type CatalogFormat, type CatalogFormatName } from '../catalog/catalog-format.ts'
import { approximateTokens, type SkillCatalog, type TokenCounter } from '../catalog/render-catalog.ts'
import { createScopeTest } from '../catalog/scope.ts'
import { defined } from '../defined.ts'
import type { Generation } from '../registry/generation.ts'
import type { SkillReport } from '../registry/skill-report.ts'
import { isModelInvocable } from '../skill/invocation.ts'
import type { Skill } from '../skill/skill.ts'
import type { Viewing } from './answering.ts'
import { type SkillRow, type SkillTokens, toRow } from './skill-row.ts'

/** The values of `SkillVisibility`. */
export const VISIBILITIES = ['listed', 'unlisted', 'hidden'] as const

/**
 * What the model of a new conversation sees of a served skill. `listed`: name and description are in the catalog.
 * `unlisted`: the skill is over the budget, so only search finds it. `hidden`: only people invoke the skill.
 */
export type SkillVisibility = (typeof VISIBILITIES)[number]

/** How much of its budget the catalog of a new conversation uses, and how many skills in scope have each visibility. */
export interface CatalogUse extends Readonly<Record<SkillVisibility, number>> {
  readonly tokens: number
  /** Whether `tokens` is an estimate, because no vocabulary was loaded. */
  readonly isEstimate: boolean
  readonly maxTokens: number
}

/** What new conversations see of the skills of one generation. */
export interface CatalogView {
  readonly use: CatalogUse
  /** Returns null for a folder that is not served, and for a skill that is out of scope. */
  readonly visibilityOf: (report: Pick<SkillReport, 'name' | 'serving'>) => SkillVisibility | null
  /** Converts a report to a row with estimated tokens. */
  readonly toRow: (report: SkillReport) => SkillRow
}

/** Renders the catalog of a new conversation, and finds out what its model sees of each skill. */
export function viewCatalog(
  { skills, scope, catalog: { format, maxTokens, measure } }: Viewing,
  generation: Generation = skills.current,
): CatalogView {
  const catalog = skills.forConversation(defined({ scope, pinned: generation })).catalog()
  const isInScope = createScopeTest(scope)
  const seen = seeSkills(
    generation.list().filter(({ name }) => isInScope(name)),
    catalog,
  )
  const visibilityOf: CatalogView['visibilityOf'] = ({ name, serving }) =>
    serving === undefined ? null : (seen.get(name) ?? null)
  return {
    use: { ...measure(catalog), maxTokens, ...countSeen(seen) },
    visibilityOf,
    toRow: report => {
      const skill = report.serving === undefined ? undefined : generation.find(report.name)
      const tokens = skill === undefined ? null : estimateTokens(skill, format)
      return { ...toRow(report, tokens), visibility: visibilityOf(report) }
    },
  }
}

/** Returns what a model with this catalog sees of the skills in its scope, by name. */
export function seeSkills(
  skills: readonly Skill[],
  catalog: SkillCatalog,
): ReadonlyMap<string, SkillVisibility> {
  // The format `none` lists no skill.
  const listed = new Set(catalog.text === '' ? [] : catalog.listed)
  const see = (skill: Skill): SkillVisibility =>
    isModelInvocable(skill) ? (listed.has(skill.name) ? 'listed' : 'unlisted') : 'hidden'
  return new Map(skills.map(skill => [skill.name, see(skill)]))
}

export function countSeen(seen: ReadonlyMap<string, SkillVisibility>): Record<SkillVisibility, number> {
  const counts = { listed: 0, unlisted: 0, hidden: 0 }
  for (const visibility of seen.values()) counts[visibility]++
  return counts
}

/** Counts the tokens that the name and the description of a skill take in the catalog. A hidden skill takes none. */
export function countEntry(skill: Skill, format: CatalogFormatName, countTokens: TokenCounter): number {
  if (!isModelInvocable(skill)) return 0
  const render: CatalogFormat = CATALOG_FORMATS[format]
  return countTokens(render([skill], 0, [])) - countTokens(render([], 0, []))
}

/** Estimates the tokens of a skill without reading its files. */
function estimateTokens(skill: Skill, format: CatalogFormatName): SkillTokens {
  const { size = 0 } = skill.files.find(({ path }) => path === skill.skillFile) ?? {}
  const body = Math.max(0, size - skill.name.length - skill.description.length)
  return { listed: countEntry(skill, format, approximateTokens), body: Math.ceil(body / 4), isEstimate: true }
}
