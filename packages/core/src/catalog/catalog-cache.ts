import type { Generation } from '../registry/generation.ts'
import { isModelInvocable } from '../skill/invocation.ts'
import type { Skill } from '../skill/skill.ts'
import { type CatalogFormatName, locationOf } from './catalog-format.ts'
import { type CatalogOptions, renderCatalog, type SkillCatalog } from './render-catalog.ts'
import { createScopeTest, isUnrestricted, keyOfScope, type ScopeTest, type SkillScope } from './scope.ts'

interface CachedCatalog {
  readonly isInScope: ScopeTest
  /** The skills of the generation, and those of them that the catalog shows. */
  readonly skills: readonly Skill[]
  readonly shown: readonly Skill[]
  readonly catalog: SkillCatalog
}

/** Catalogs by scope. Renders a catalog again only if one of its entries changed. */
export class CatalogCache {
  readonly #options: CatalogOptions
  readonly #byScope = new Map<string, CachedCatalog>()

  constructor(options: CatalogOptions) {
    this.#options = options
  }

  /**
   * Returns the catalog of a generation for one scope. Returns the same catalog object until the text of the catalog
   * changes.
   * @param format another format with the same budget
   */
  render(generation: Generation, scope: SkillScope | undefined, format?: CatalogFormatName): SkillCatalog {
    const key = `${format ?? ''} ${keyOfScope(scope)}`
    const options = format === undefined ? this.#options : { ...this.#options, format }
    const skills = generation.list()
    const cached = this.#byScope.get(key)
    if (cached?.skills === skills) return cached.catalog
    const isInScope = cached?.isInScope ?? createScopeTest(scope)
    const shown = listForModel(skills, isInScope)
    const isSame = cached !== undefined && isSameListing(cached.shown, shown)
    const catalog = isSame ? cached.catalog : renderCatalog(shown, options)
    this.#byScope.set(key, { isInScope, skills, shown, catalog })
    return catalog
  }
}

/** Returns the skills of a generation that a scope allows. */
export function listInScope(skills: readonly Skill[], isInScope: ScopeTest): readonly Skill[] {
  return isUnrestricted(isInScope) ? skills : skills.filter(skill => isInScope(skill.name))
}

/** Returns the skills of a generation that a model in this scope may find by itself. */
export function listForModel(skills: readonly Skill[], isInScope: ScopeTest): readonly Skill[] {
  return skills.filter(skill => isModelInvocable(skill) && isInScope(skill.name))
}

function isSameListing(before: readonly Skill[], after: readonly Skill[]): boolean {
  return (
    before.length === after.length && before.every((skill, index) => looksSame(skill, after[index] as Skill))
  )
}

function looksSame(a: Skill, b: Skill): boolean {
  return a === b || (a.name === b.name && a.description === b.description && locationOf(a) === locationOf(b))
}
