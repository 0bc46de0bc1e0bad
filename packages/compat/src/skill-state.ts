import { compareText } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import type { ExoSkill } from './exo-skill.ts'

/** Names of skills that were added, removed or modified between two states. Each list is sorted. */
export interface NameChanges {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly modified: readonly string[]
}

/**
 * Returns a SHA-256 digest, 64 hexadecimal digits, of all fields of a skill except its path.
 *
 * @example
 * ```ts
 * import { fingerprintSkill, Skill } from '@skillstoke/compat'
 *
 * const skill = new Skill({ name: 'maps', description: 'Finds routes.', path: 'skills/maps/SKILL.md' })
 * const moved = new Skill({ ...skill, path: 'skills/travel/maps/SKILL.md' })
 * console.log(fingerprintSkill(skill) === fingerprintSkill(moved)) // prints true
 * ```
 */
export function fingerprintSkill(skill: ExoSkill): string {
  const { name, description, usage, toolList, skillType, active } = skill
  return digest([name, description, usage, sortKeys(toolList), skillType, active])
}

/** Returns a digest of all fields of a skill, including its path. */
export function stateOf(skill: ExoSkill): string {
  return digest([fingerprintSkill(skill), skill.path])
}

/** Compares two maps from skill names to the digests of the skills. */
export function compareStates(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): NameChanges {
  const names = [...after.keys()].sort(compareText)
  return {
    added: names.filter(name => !before.has(name)),
    removed: [...before.keys()].filter(name => !after.has(name)).sort(compareText),
    modified: names.filter(name => before.has(name) && before.get(name) !== after.get(name)),
  }
}

/** Returns the SHA-256 digest of a JSON value. */
export function digest(value: unknown): string {
  return nodeHasher.sha256(JSON.stringify(value))
}

/** Sorts the keys of all maps, so that their order does not change the digest. */
function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortKeys)
  return Object.entries(value)
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, item]) => [key, sortKeys(item)])
}
