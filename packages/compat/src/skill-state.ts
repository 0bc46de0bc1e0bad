import { compareText } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import type { ExoSkill } from './exo-skill.ts'

/** Names that came, went or changed between two moments, each list sorted. */
export interface NameChanges {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly modified: readonly string[]
}

/** SHA-256, 64 hexadecimal digits, over everything that a skill says of itself; where it is does not count. */
export function fingerprintSkill(skill: ExoSkill): string {
  const { name, description, usage, toolList, skillType, active } = skill
  return digest([name, description, usage, sortKeys(toolList), skillType, active])
}

/** The fingerprint of a skill together with where it is. */
export function stateOf(skill: ExoSkill): string {
  return digest([fingerprintSkill(skill), skill.path])
}

/** Compares the states of skills, by name. */
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

/** SHA-256 of a value that JSON can hold. */
export function digest(value: unknown): string {
  return nodeHasher.sha256(JSON.stringify(value))
}

/** In whatever order a map was written down, it is the same. */
function sortKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sortKeys)
  return Object.entries(value)
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, item]) => [key, sortKeys(item)])
}
