import { compareText } from '../skill/compare.ts'
import { diffSkills, type SkillFacet } from '../skill/diff-skills.ts'
import type { Skill } from '../skill/skill.ts'
import type { Generation } from './generation.ts'
import type { SkillReport } from './skill-report.ts'

/** A visible change of one skill. */
export type SkillChange =
  | { readonly kind: 'added'; readonly name: string; readonly skill: Skill }
  | {
      readonly kind: 'modified'
      readonly name: string
      readonly oldSkill: Skill
      readonly newSkill: Skill
      readonly facets: readonly SkillFacet[]
    }
  | { readonly kind: 'removed'; readonly name: string; readonly skill: Skill }

/** The step from one generation to a later one. */
export interface RegistryUpdate {
  readonly previous: Generation
  readonly generation: Generation
  /** Net changes of the served skills: first added, then removed, then modified skills, each group sorted by name. */
  readonly changes: readonly SkillChange[]
  /** Reports of folders whose problems changed, even if no served skill changed. */
  readonly reports: readonly SkillReport[]
}

/** Returns the change of the skill that a name refers to, or `undefined` if readers see no difference. */
export function toChange(
  name: string,
  before: Skill | undefined,
  after: Skill | undefined,
): SkillChange | undefined {
  if (before === after) return undefined
  if (before === undefined) return { kind: 'added', name, skill: after as Skill }
  if (after === undefined) return { kind: 'removed', name, skill: before }
  const facets = diffSkills(before, after)
  return facets.length === 0
    ? undefined
    : { kind: 'modified', name, oldSkill: before, newSkill: after, facets }
}

/**
 * Returns the net changes from one generation to a later one, in the order of an update.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, diffGenerations, MemorySource } from '@skillstoke/core'
 *
 * const source = new MemorySource({ label: 'mine' }, [{ name: 'greet', description: 'Use when greeting.' }])
 * await using skills = await createSkillRuntime({ sources: [source] })
 * const before = skills.current
 * source.put({ name: 'maps', description: 'Finds routes.' })
 * source.remove('greet')
 * const changes = diffGenerations(before, await skills.fresh())
 * console.log(changes.map(({ kind, name }) => `${kind} ${name}`)) // prints [ 'added maps', 'removed greet' ]
 * ```
 */
export function diffGenerations(before: Generation, after: Generation): readonly SkillChange[] {
  return changesOf(
    [...before.list(), ...after.list()].map(skill => skill.name),
    before,
    after,
  )
}

/** Returns the changes of the skills with these names. Repeated names count once. */
function changesOf(names: readonly string[], before: Generation, after: Generation): readonly SkillChange[] {
  const changes = [...new Set(names)].map(name => toChange(name, before.find(name), after.find(name)))
  return sortChanges(changes.filter(change => change !== undefined))
}

const ORDER = { added: 0, removed: 1, modified: 2 } as const

export function sortChanges(changes: readonly SkillChange[]): readonly SkillChange[] {
  return changes.toSorted((a, b) => ORDER[a.kind] - ORDER[b.kind] || compareText(a.name, b.name))
}

/** Merges two consecutive updates into one. Changes that cancel each other are dropped. */
export function mergeUpdates(first: RegistryUpdate, second: RegistryUpdate): RegistryUpdate {
  const names = [...first.changes, ...second.changes].map(change => change.name)
  const reports = new Map(
    [...first.reports, ...second.reports].map(each => [`${each.source}\0${each.location}`, each]),
  )
  return {
    previous: first.previous,
    generation: second.generation,
    changes: changesOf(names, first.previous, second.generation),
    reports: [...reports.values()],
  }
}
