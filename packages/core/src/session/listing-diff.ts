import { listForModel } from '../catalog/catalog-cache.ts'
import type { ScopeTest } from '../catalog/scope.ts'
import { compareText } from '../skill/compare.ts'
import { isModelInvocable } from '../skill/invocation.ts'
import type { Skill } from '../skill/skill.ts'

/**
 * The difference between the skills that were reported to the conversation and the skills that it may see now. Each
 * list is sorted by name.
 */
export interface ListingDiff {
  readonly added: readonly Skill[]
  readonly removed: readonly string[]
  /** Skills with a changed description. */
  readonly redescribed: readonly Skill[]
}

/** The difference between two lists of skills. */
export interface FullListingDiff extends ListingDiff {
  /** All skills in both lists that differ, also those with another description. */
  readonly changed: readonly Skill[]
}

/**
 * Compares the skills that a model may find by itself in two lists, both sorted by name, in linear time. Calls
 * `isInScope` only for skills that differ.
 */
export function diffListings(
  before: readonly Skill[],
  after: readonly Skill[],
  isInScope: ScopeTest,
): FullListingDiff {
  if (before === after) return { added: [], removed: [], redescribed: [], changed: [] }
  const added: Skill[] = []
  const removed: Skill[] = []
  const changed: { readonly old: Skill; readonly now: Skill }[] = []
  let i = 0
  let j = 0
  while (i < before.length || j < after.length) {
    const old = before[i]
    const now = after[j]
    if (old === now) {
      i++
      j++
      continue
    }
    const order = old === undefined ? 1 : now === undefined ? -1 : compareText(old.name, now.name)
    const wasVisible = order <= 0 && isVisible(old)
    const isNowVisible = order >= 0 && isVisible(now)
    if (wasVisible && !isNowVisible) removed.push(old as Skill)
    else if (isNowVisible && !wasVisible) added.push(now as Skill)
    else if (isNowVisible && old?.revision !== now?.revision)
      changed.push({ old: old as Skill, now: now as Skill })
    if (order <= 0) i++
    if (order >= 0) j++
  }
  const scoped = (skills: readonly Skill[]): Skill[] => skills.filter(skill => isInScope(skill.name))
  const redescribed = changed.filter(({ old, now }) => old.description !== now.description)
  return {
    added: scoped(added),
    removed: scoped(removed).map(skill => skill.name),
    redescribed: scoped(redescribed.map(({ now }) => now)),
    changed: scoped(changed.map(({ now }) => now)),
  }
}

/**
 * Compares the skills that were announced to a stored conversation with a list of skills. Both inputs are sorted by
 * name.
 */
export function diffAnnounced(
  announced: readonly (readonly [name: string, description: string])[],
  after: readonly Skill[],
  isInScope: ScopeTest,
  keyOf: (skill: Skill) => string,
): ListingDiff {
  const before = new Map(announced)
  const scoped = listForModel(after, isInScope)
  const names = new Set(scoped.map(skill => skill.name))
  return {
    removed: [...before.keys()].filter(name => !names.has(name)),
    added: scoped.filter(skill => !before.has(skill.name)),
    redescribed: scoped.filter(skill => {
      const told = before.get(skill.name)
      return told !== undefined && told !== keyOf(skill)
    }),
  }
}

/** Returns whether a model may find the skill by itself. */
function isVisible(skill: Skill | undefined): boolean {
  return skill !== undefined && isModelInvocable(skill)
}
