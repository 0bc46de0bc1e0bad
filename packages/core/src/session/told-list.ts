import { listForModel } from '../catalog/catalog-cache.ts'
import type { ScopeTest } from '../catalog/scope.ts'
import type { Hasher } from '../host.ts'
import type { Generation } from '../registry/generation.ts'
import { isModelInvocable } from '../skill/invocation.ts'
import { diffAnnounced, diffListings, type ListingDiff } from './listing-diff.ts'
import { type Announced, descriptionKey } from './session-state.ts'

/** The names and descriptions that a conversation was told at once. Immutable. */
export interface ToldList {
  has(name: string): boolean
  /** Compares the list with a generation. */
  diff(now: Generation): ListingDiff
  /** Returns the names, sorted, each with the key of its description. */
  announced(): Announced
}

/** The list of a generation. */
export function toldListOf(generation: Generation, isInScope: ScopeTest, hasher: Hasher): ToldList {
  let announced: Announced | undefined
  return {
    has(name) {
      const skill = isInScope(name) ? generation.find(name) : undefined
      return skill !== undefined && isModelInvocable(skill)
    },
    diff: now => diffListings(generation.list(), now.list(), isInScope),
    announced: () =>
      (announced ??= listForModel(generation.list(), isInScope).map(
        skill => [skill.name, descriptionKey(skill, hasher)] as const,
      )),
  }
}

/** The list of a stored conversation. */
export function storedList(announced: Announced, isInScope: ScopeTest, hasher: Hasher): ToldList {
  const names = new Set(announced.map(([name]) => name))
  return {
    has: name => names.has(name),
    diff: now => diffAnnounced(announced, now.list(), isInScope, skill => descriptionKey(skill, hasher)),
    announced: () => announced,
  }
}
