import type { BindableAgent, NamedTool } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'

/** The part of an `Agent` whose tools and instructions a binding changes. */
interface BoundAgent<Tool extends NamedTool> {
  /** The SDK reads this list before each model call. */
  tools: Tool[]
  // Instructions may be a function, which a binding does not change.
  instructions: unknown
}

/**
 * Makes an agent bindable with `skills.bind()`, or with `SkillSyncManager` of `@skillstoke/compat`. The tools and the
 * instructions of the agent then follow the skills, also between two steps of a run. If the instructions are a function,
 * the binding does not change them.
 *
 * @example
 * ```ts
 * import { Agent, tool } from '@openai/agents'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { bindableAgent } from '@skillstoke/adapters/openai-agents'
 *
 * const type = 'object' as const
 * const parameters = { type, properties: {}, required: [], additionalProperties: true as const }
 * const readPdf = tool({ name: 'read_pdf', description: 'Reads.', parameters, strict: false, execute: () => 'Text.' })
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const agent = new Agent({ name: 'Helper', instructions: 'You help.' })
 * await skills.bind(bindableAgent(agent), { tools: { 'support-pdf': readPdf } })
 * console.log(agent.tools.map(({ name }) => name)) // prints [ 'read_pdf' ]
 * ```
 */
export function bindableAgent<Tool extends NamedTool>(agent: BoundAgent<Tool>): BindableAgent<Tool> {
  return {
    get instructions() {
      return typeof agent.instructions === 'string' ? agent.instructions : ''
    },
    set instructions(text) {
      if (typeof agent.instructions !== 'function') agent.instructions = text
    },
    hasTool: name => agent.tools.some(tool => tool.name === name),
    addTool(tool) {
      agent.tools = [...agent.tools, whilePresent(agent, tool)]
    },
    removeTool(name) {
      agent.tools = agent.tools.filter(tool => tool.name !== name)
    },
  }
}

/** Returns a tool that does not run after its removal, although the model has seen it. */
function whilePresent<Tool extends NamedTool>(agent: BoundAgent<Tool>, tool: Tool): Tool {
  const { invoke } = tool as { readonly invoke?: (...call: readonly unknown[]) => Promise<unknown> }
  if (invoke === undefined) return tool
  const added: Tool = {
    ...tool,
    invoke: async (...call: readonly unknown[]) =>
      agent.tools.includes(added)
        ? await invoke(...call)
        : `The tool ${quote(tool.name)} was removed because its skill changed.`,
  }
  return added
}
