import type { ScopeTest } from '../catalog/scope.ts'
import type { Generation } from '../registry/generation.ts'
import type { Skill } from '../skill/skill.ts'

/** Finds the served skill with this name. If there is no such skill, finds the skill whose folder has this name. */
export function findByNameOrFolder(
  generation: Generation,
  name: string,
  isInScope: ScopeTest,
): Skill | undefined {
  const exact = generation.find(name)
  if (exact !== undefined) return isInScope(exact.name) ? exact : undefined
  return generation.list().find(skill => skill.location.split('/').at(-1) === name && isInScope(skill.name))
}

/**
 * Returns the name under which a conversation knows a skill. This is usually the skill's own name. If another skill is
 * served under the skill's own name, returns the requested name instead.
 */
export function toKnownName(generation: Generation, skill: Skill, asked: string): string {
  return generation.find(skill.name) === skill ? skill.name : asked
}
