import type { BindableAgent, NamedTool } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import type { AiHostTool } from './tools.ts'

/** A tool of the AI SDK with its name, as a tool resolver returns it for a skill. */
interface NamedAiTool extends NamedTool, AiHostTool {}

interface AiSdkAgentOptions {
  /** The agent's own instructions. @default '' */
  readonly instructions?: string
  /** The agent's own tools, which no binding replaces or removes. @default none */
  readonly tools?: Readonly<Record<string, AiHostTool>>
}

/** The arguments of `generateText` and `streamText` that follow the tools of the agent. */
interface AiSdkAgentArguments {
  // The values are tools of the host's SDK. The adapter only adds and removes them.
  readonly tools: Record<string, never>
  readonly instructions: string
  /** The instructions for version 6 of the AI SDK. */
  readonly system: string
  readonly prepareStep: () => { readonly instructions: string; readonly system: string }
}

/**
 * An AI SDK agent whose tools and instructions change between two steps of a run, as the skills of a binding change. Bind
 * it with `skills.bind()`, or with `SkillSyncManager` of `@skillstoke/compat`.
 *
 * @example
 * ```ts
 * import { createOfflineModel } from '@skillstoke/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { AiSdkAgent } from '@skillstoke/adapters/ai-sdk'
 * import { directory } from '@skillstoke/core/node'
 * import { generateText, jsonSchema, tool } from 'ai'
 *
 * const readPdf = tool({ inputSchema: jsonSchema({ type: 'object' }), execute: () => 'The text of the file.' })
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const agent = new AiSdkAgent({ instructions: 'You help.' })
 * await skills.bind(agent, { tools: { 'support-pdf': { name: 'read_pdf', ...readPdf } } })
 * await generateText({ model: createOfflineModel(), prompt: 'Hello.', ...agent.call() })
 * console.log(agent.toolNames) // prints [ 'read_pdf' ]
 * ```
 */
export class AiSdkAgent implements BindableAgent<NamedAiTool> {
  instructions: string
  /** The SDK reads this object before each step. */
  readonly #tools: Record<string, AiHostTool>

  constructor({ instructions = '', tools = {} }: AiSdkAgentOptions = {}) {
    this.instructions = instructions
    this.#tools = { ...tools }
  }

  /** The names of the current tools. */
  get toolNames(): readonly string[] {
    return Object.keys(this.#tools)
  }

  hasTool(name: string): boolean {
    return Object.hasOwn(this.#tools, name)
  }

  addTool({ name, ...tool }: NamedAiTool): void {
    const { execute } = tool
    const run: AiHostTool['execute'] = (input, call) => {
      // The SDK still runs a tool that was removed after the model had seen it.
      if (this.#tools[name] !== added)
        throw new Error(`the tool ${quote(name)} was removed because its skill changed`)
      return execute?.(input, call)
    }
    const added: AiHostTool = execute === undefined ? tool : { ...tool, execute: run }
    this.#tools[name] = added
  }

  removeTool(name: string): void {
    delete this.#tools[name]
  }

  /** Returns arguments for `generateText`, `streamText` or `ToolLoopAgent`. Each step uses the newest tools. */
  call(): AiSdkAgentArguments {
    const read: AiSdkAgentArguments['prepareStep'] = () => {
      const { instructions } = this
      return { instructions, system: instructions }
    }
    return { ...read(), tools: this.#tools as Record<string, never>, prepareStep: read }
  }
}
