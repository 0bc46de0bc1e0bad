import type { Skill } from '../skill/skill.ts'

/** Anything that an agent knows as a tool; only its name matters here. */
export interface NamedTool {
  readonly name: string
}

/** Says which tools of the host belong to a skill. */
export interface ToolResolver<Tool extends NamedTool = NamedTool> {
  /** The tools of a skill, none when it needs none. Called again when the skill is another revision. */
  resolve(skill: Skill): readonly Tool[] | Promise<readonly Tool[]>
}

/** Tools by the name of the skill: one, or several. */
export type ToolMap<Tool extends NamedTool = NamedTool> = Readonly<Record<string, Tool | readonly Tool[]>>

/** Whether a value has the shape of a resolver. */
export function isToolResolver(value: unknown): value is ToolResolver {
  return typeof value === 'object' && value !== null && typeof (value as ToolResolver).resolve === 'function'
}

/** A resolver that looks in a map; skills that are not in it have no tools. */
export function toToolResolver<Tool extends NamedTool>(
  tools: ToolResolver<Tool> | ToolMap<Tool>,
): ToolResolver<Tool> {
  if (isToolResolver(tools)) return tools
  return {
    resolve({ name }) {
      const found = Object.hasOwn(tools, name) ? tools[name] : undefined
      if (found === undefined) return []
      return Array.isArray(found) ? (found as readonly Tool[]) : [found as Tool]
    },
  }
}
