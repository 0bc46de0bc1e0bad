import type { Skill } from '../skill/skill.ts'

/** A tool of the agent. Only its name matters here. */
export interface NamedTool {
  readonly name: string
}

/**
 * The mapping from skills to tools of the host.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, type NamedTool, type ToolResolver } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * const tools: ToolResolver<NamedTool> = { resolve: ({ name }) => [{ name: `open_${name}` }] }
 * const agent = { addTool: ({ name }: NamedTool) => console.log(`added ${name}`), removeTool() {} }
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * await skills.bind(agent, { tools }) // prints added open_support-pdf
 * ```
 */
export interface ToolResolver<Tool extends NamedTool = NamedTool> {
  /** Returns the tools of a skill, or an empty list. Called again for each new revision. */
  resolve(skill: Skill): readonly Tool[] | Promise<readonly Tool[]>
}

/** Tools by the name of the skill, one or several for each. */
export type ToolMap<Tool extends NamedTool = NamedTool> = Readonly<Record<string, Tool | readonly Tool[]>>

/** True if a value has the shape of a resolver. */
export function isToolResolver(value: unknown): value is ToolResolver {
  return typeof value === 'object' && value !== null && typeof (value as ToolResolver).resolve === 'function'
}

/** Returns a resolver that reads a map. Skills without an entry have no tools. */
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
