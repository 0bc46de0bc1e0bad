import type { NamedTool, ToolMap } from '@skillstoke/core'
import { isToolResolver as hasResolve, toToolResolver } from '@skillstoke/core/internal'
import type { ExoSkill } from './exo-skill.ts'

/** Says which tools belong to a skill; anything with this method will do. */
export interface ToolResolver<Tool extends NamedTool = NamedTool> {
  resolve(skill: ExoSkill): readonly Tool[] | Promise<readonly Tool[]>
}

/** Whether a value is a resolver, and not a map in which `resolve` may be the name of a skill. */
export function isToolResolver(value: unknown): value is ToolResolver {
  return hasResolve(value)
}

/** Resolves by the name of the skill: a single tool counts as a list of one, an unknown name as none. */
export class DictToolResolver<Tool extends NamedTool = NamedTool> implements ToolResolver<Tool> {
  readonly #tools: ToolMap<Tool>

  constructor(tools: ToolMap<Tool>) {
    this.#tools = tools
  }

  resolve(skill: Pick<ExoSkill, 'name'>): readonly Tool[] {
    // A map is looked up at once; only resolvers may take their time.
    return toToolResolver(this.#tools).resolve(skill as never) as readonly Tool[]
  }
}
