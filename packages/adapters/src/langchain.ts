// `@skillstoke/adapters/langchain`: live skills in agents of LangChain and deepagents.

import type {
  RebaseOptions,
  SessionOptions,
  SkillRuntime,
  SkillScope,
  ToolDefinition,
} from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import type { LangChainGraphState, LangChainMessage } from './langchain/messages.ts'
import { StoredStarts } from './langchain/starts.ts'
import type { LangChainThread, LangChainUpdate } from './langchain/thread.ts'
import { type LangChainRuntime, LangChainThreads, taskOf } from './langchain/threads.ts'
import {
  gateCall,
  type LangChainToolFactory,
  type LangChainToolRequest,
  type LangChainWrapper,
  toLangChainTools,
} from './langchain/tools.ts'
import { assertNoClash, withoutNames } from './skill-tools.ts'

/** The part of Zod's `z` that the adapter uses. */
interface LangChainZod {
  any(): unknown
  object(shape: { _skillstoke: never; _skillstokeTold: never }): unknown
}

export interface LangChainOptions<Tool> extends Omit<SessionOptions, 'id' | 'resume'> {
  /** The function `tool` of LangChain. Agents accept only tools that this function created. */
  readonly tool: LangChainToolFactory<Tool>
  /** Zod's `z`. Middleware of LangChain declares its state as a schema of Zod. */
  readonly z: LangChainZod
  /** Limits the text of the loaded skills that return after a compaction. @default 8,000 tokens */
  readonly rebase?: RebaseOptions
}

/** The part of a model call that the adapter uses. */
interface ModelRequest {
  readonly state: LangChainGraphState
  readonly messages: readonly LangChainMessage[]
  readonly tools: readonly object[]
  readonly runtime: LangChainRuntime
  readonly systemMessage: { readonly text: string; concat(text: string): unknown }
}

/** A hook of LangChain that may change the state of the graph. */
type Hook = (state: LangChainGraphState, runtime: LangChainRuntime) => Promise<LangChainUpdate | undefined>

/** The conversation of a hook, with the state of the graph and the name of the step. */
interface Entered {
  readonly state: LangChainGraphState
  readonly thread: LangChainThread
  readonly step: string
}

/** A middleware for `createAgent` and `createDeepAgent`. */
export interface LangChainMiddleware<Tool> {
  readonly name: 'skillstoke'
  /** A schema of Zod. The type is `undefined`, so that the private state is not part of the agent's types. */
  readonly stateSchema: undefined
  readonly tools: Tool[]
  readonly beforeAgent: Hook
  readonly beforeModel: Hook
  readonly wrapModelCall: LangChainWrapper<ModelRequest>
  readonly afterAgent: Hook
  /** Present only with `allowedTools: 'enforce'` or `commandTools`. */
  readonly wrapToolCall?: LangChainWrapper<LangChainToolRequest>
}

/**
 * Creates middleware that gives agents of LangChain and deepagents live skills. Call the returned function once for each
 * agent and each subagent, with the scope of that agent. An agent sees the skills that this scope, the scope of the
 * factory and the scope of its parent include. The middleware adds the catalog to the system prompt, adds the skill
 * tools, and adds changes of skills to the messages before the next model call. The checkpoint of a thread contains the
 * state of its conversation; with a `store`, it contains only a reference to the catalog.
 * @throws {SkillError} CLOSED, INVALID_OPTION
 *
 * @example
 * ```ts no-run
 * import { MemorySaver } from '@langchain/langgraph'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { langchain } from '@skillstoke/adapters/langchain'
 * import { directory } from '@skillstoke/core/node'
 * import { createAgent, tool } from 'langchain'
 * import { z } from 'zod'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const skillstoke = langchain(skills, { tool, z })
 * const agent = createAgent({ model: 'openai:gpt-6-mini', middleware: [skillstoke()], checkpointer: new MemorySaver() })
 * const question = { role: 'user' as const, content: 'Use the skill "support-pdf".' }
 * await agent.invoke({ messages: [question] }, { configurable: { thread_id: 'chat-1' } })
 * ```
 */
export function langchain<Tool>(
  skills: SkillRuntime,
  { tool, z, rebase, ...options }: LangChainOptions<Tool>,
): (agent?: { readonly scope?: SkillScope }) => LangChainMiddleware<Tool> {
  const threads = new LangChainThreads(skills, options, rebase)
  const starts = new StoredStarts()
  return ({ scope } = {}) => {
    const enter = async (given: LangChainGraphState, runtime: LangChainRuntime): Promise<Entered> => {
      const state = await starts.recall(given, runtime.store)
      return { state, thread: threads.at(runtime, state, scope), step: taskOf(runtime) }
    }
    /** Creates a hook whose update goes into the graph's state. */
    const hook =
      (update: (entered: Entered, runtime: LangChainRuntime) => Promise<LangChainUpdate | undefined>): Hook =>
      async (state, runtime) =>
        await starts.keep(await update(await enter(state, runtime), runtime), runtime.store)
    const tools = toLangChainTools(
      skills.tools(defined({ skillToolName: options.skillToolName })),
      tool,
      async (definition, input, runtime) => {
        const { state, thread, step } = await enter(runtime.state as LangChainGraphState, runtime)
        return await thread.callTool(definition, input, step, { ...runtime, state })
      },
    )
    const wrapToolCall: LangChainWrapper<LangChainToolRequest> = async (request, handler) => {
      const { state, thread, step } = await enter(request.state, request.runtime)
      const isOwn = request.tool === undefined
      const command = isOwn && thread.commands.find(({ name }) => name === request.toolCall.name)
      const call = command ? { ...request, tool: toCommandTool(command) } : request
      return await gateCall(call, handler, await thread.checkTool(state, step, request.toolCall), tool)
    }
    const toCommandTool = (definition: ToolDefinition): object =>
      toLangChainTools([definition], tool, async (_, input, { toolCallId: callId, signal, writer }) => {
        const answer = await definition.execute(input, { signal, callId, onProgress: writer ?? undefined })
        const { text, ...artifact } = answer
        return [text, artifact]
      })[0] as object
    return {
      name: 'skillstoke',
      stateSchema: z.object({
        _skillstoke: z.any() as never,
        _skillstokeTold: z.any() as never,
      }) as undefined,
      tools,
      beforeAgent: hook(async ({ state, thread, step }) => await thread.begin(state, step)),
      beforeModel: hook(async ({ state, thread, step }) => await thread.prepare(state, step)),
      async wrapModelCall(request, handler) {
        const { messages, systemMessage } = request
        const { state, thread, step } = await enter(request.state, request.runtime)
        assertNoClash(thread.session, namesOf(request.tools, tools))
        const text = await thread.system(state, messages, step)
        const commands = withoutNames(thread.commands, namesOf(request.tools, []))
        const all = { ...request, tools: [...request.tools, ...commands.map(toCommandTool)] }
        if (text === '') return await handler(all)
        const separator = systemMessage.text === '' ? '' : '\n\n'
        return await handler({ ...all, systemMessage: systemMessage.concat(separator + text) })
      },
      afterAgent: hook(async ({ state, thread, step }, runtime) => {
        const update = await thread.finish(state, step)
        threads.end(runtime, state)
        return update
      }),
      ...((options.allowedTools === 'enforce' || options.commandTools === true) && { wrapToolCall }),
    }
  }
}

/** Returns the names of the tools that are not among the skill tools. */
function namesOf(tools: readonly object[], own: readonly unknown[]): string[] {
  return tools.flatMap(tool => (own.includes(tool) || !('name' in tool) ? [] : String(tool.name)))
}
