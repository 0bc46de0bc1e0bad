import type { ScopeTest } from '../catalog/scope.ts'
import type { Generation } from '../registry/generation.ts'
import type { Skill } from '../skill/skill.ts'

/** Finds the served skill of a name. If no skill has the name, finds the skill whose folder has it. */
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
 * Returns the name under which a conversation knows a skill. That is its own name, or, if another source serves that
 * name, the name in the request.
 */
export function toKnownName(generation: Generation, skill: Skill, asked: string): string {
  return generation.find(skill.name) === skill ? skill.name : asked
}
