import type { Skill } from '../skill/skill.ts'

/** A tool of the agent. This library uses only the name of the tool. */
export interface NamedTool {
  readonly name: string
}

/**
 * A mapping from each skill to the tools that the host provides for it.
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
  /** Returns the tools of a skill, or an empty list. The binding calls `resolve` again for each new revision. */
  resolve(skill: Skill): readonly Tool[] | Promise<readonly Tool[]>
}

/** A map from the name of a skill to its tool or tools. */
export type ToolMap<Tool extends NamedTool = NamedTool> = Readonly<Record<string, Tool | readonly Tool[]>>

/** True if a value has a method `resolve`. */
export function isToolResolver(value: unknown): value is ToolResolver {
  return typeof value === 'object' && value !== null && typeof (value as ToolResolver).resolve === 'function'
}

/** Returns a given resolver, or creates a resolver for a map. A skill that is not in the map has no tools. */
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
