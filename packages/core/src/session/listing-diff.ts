import type { ScopeTest } from '../catalog/scope.ts'
import { compareText } from '../skill/compare.ts'
import type { Skill } from '../skill/skill.ts'

/** How what a conversation may see differs from what it was told. Each list is sorted by name. */
export interface ListingDiff {
  readonly added: readonly Skill[]
  readonly removed: readonly Skill[]
  /** Same name, other description. */
  readonly redescribed: readonly Skill[]
}

/** Compares two lists of skills sorted by name; costs one step a skill, and the scope is asked for differences only. */
export function diffListings(
  before: readonly Skill[],
  after: readonly Skill[],
  isInScope: ScopeTest,
): ListingDiff {
  if (before === after) return { added: [], removed: [], redescribed: [] }
  const added: Skill[] = []
  const removed: Skill[] = []
  const redescribed: Skill[] = []
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
    if (order < 0) removed.push(before[i++] as Skill)
    else if (order > 0) added.push(after[j++] as Skill)
    else {
      if (old?.description !== now?.description) redescribed.push(now as Skill)
      i++
      j++
    }
  }
  const scoped = (skills: readonly Skill[]): Skill[] => skills.filter(skill => isInScope(skill.name))
  return { added: scoped(added), removed: scoped(removed), redescribed: scoped(redescribed) }
}
