import type { ScopeTest } from '../catalog/scope.ts'
import type { Generation } from '../registry/generation.ts'
import { suggest } from '../skill/near-names.ts'
import type { Skill } from '../skill/skill.ts'
import { isAddressable, normalizeName } from '../skill/skill-name.ts'
import type { SkillReader } from './skill-reader.ts'

/** A name that a model asked for, and the generation that answers. */
export interface AskedName {
  readonly name: string
  readonly generation: Generation
}

/** Reads the folders again that may contain the requested skill. The name may begin with a slash. */
export async function askFor(requested: string, reader: SkillReader): Promise<AskedName> {
  const name = normalizeName(requested.replace(/^\s*\//, ''))
  return { name, generation: await (isAddressable(name) ? reader.refresh(name) : reader.fresh()) }
}

/** Finds the served skill with this name. If there is no such skill, finds the skill whose folder has this name. */
export function findByNameOrFolder(
  generation: Generation,
  name: string,
  isInScope: ScopeTest,
): Skill | undefined {
  if (!isAddressable(name)) return undefined
  const exact = generation.find(name)
  if (exact !== undefined) return isInScope(exact.name) ? exact : undefined
  return generation.list().find(skill => skill.location.split('/').at(-1) === name && isInScope(skill.name))
}

/** Returns the end of a message about a name that no skill in scope has; empty if no name is similar. */
export function suggestInScope({ name, generation }: AskedName, isInScope: ScopeTest): string {
  return suggest(
    name,
    generation.list().flatMap(each => (isInScope(each.name) ? each.name : [])),
  )
}

/**
 * Returns the name under which a conversation knows a skill. This is usually the skill's own name. If another skill is
 * served under the skill's own name, returns the requested name instead.
 */
export function toKnownName(generation: Generation, skill: Skill, asked: string): string {
  return generation.find(skill.name) === skill ? skill.name : asked
}
