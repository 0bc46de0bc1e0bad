/// <reference lib="esnext.disposable" preserve="true" />

// `@skillstoke/adapters/openai-agents`: live skills in agents of the OpenAI Agents SDK.

import type { RebaseOptions, SkillRuntime, SkillSession } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { type AddedMessage, type HistoryItem, toUserMessage } from './history-place.ts'
import { LiveChat, type LiveChildOptions, type LiveOptions } from './live-conversation.ts'
import { OpenaiHistory, type OpenaiHistoryState } from './openai-agents/history.ts'
import { createRunHooks, histories, requireHooks } from './openai-agents/run.ts'
import type { OpenaiAgent, OpenaiRunHooks, OpenaiRunSettings, OpenaiTool } from './openai-agents/sdk.ts'
import { guardTools, toFunctionTool } from './openai-agents/tools.ts'
import { assertNoClash } from './skill-tools.ts'
import { noteAnswers } from './told-history.ts'

export { bindableAgent } from './openai-agents/bindable.ts'

export interface OpenaiAgentsOptions extends Omit<LiveOptions, 'instructions' | 'resume'> {
  /** How many tokens of loaded skills come back after a compaction. @default { maxTokens: 8_000 } */
  readonly rebase?: RebaseOptions
  /** The value that `state()` returned when the conversation was stored. @default a new conversation */
  readonly resume?: OpenaiAgentsState
}

/** The options of a subagent's conversation. */
interface OpenaiAgentsChildOptions extends Omit<LiveChildOptions, 'instructions'> {
  /** The value that `state()` of the child returned. @default a new conversation */
  readonly resume?: OpenaiAgentsState
}

/** A stored conversation without its messages, as a JSON value. */
export type OpenaiAgentsState = OpenaiHistoryState

interface ChatSettings {
  readonly isEnforced: boolean
  readonly rebase: RebaseOptions | undefined
  /** True once the conversation, its parent or a child created the options of a run. */
  hasOptions?: boolean
}

/**
 * One conversation with live skills. Your code, the SDK or the provider stores the history. The adapter adds its notices
 * to each request, always at the same places. Before each model call, it compares its record with the history, so a turn
 * that was not stored leaves no trace.
 *
 * @example
 * ```ts
 * import { Agent } from '@openai/agents'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { openaiAgents } from '@skillstoke/adapters/openai-agents'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using chat = openaiAgents(skills, { id: 'chat-1' })
 * const agent = chat.agent(new Agent({ name: 'Helper', instructions: 'You help.' }))
 * console.log(agent.tools[0]?.name) // prints skill
 * const stored = JSON.stringify(chat.state()) // store it with the history
 * using later = openaiAgents(skills, { id: 'chat-1', resume: JSON.parse(stored) })
 * console.log(later.session.catalog === chat.session.catalog) // prints true
 * ```
 */
export class OpenaiAgentsChat extends LiveChat {
  readonly #settings: ChatSettings
  readonly #history: OpenaiHistory
  readonly #tools: readonly object[]
  /** The commands of loaded skills, which stay the same within a run. */
  readonly #commands = new WeakMap<object, readonly OpenaiTool[]>()

  /** Use `openaiAgents()` or `child()`. */
  constructor(session: SkillSession, settings: ChatSettings, state?: OpenaiHistoryState) {
    super(session)
    this.#settings = settings
    const history = new OpenaiHistory(session, settings.rebase, state)
    this.#history = history
    const tools = noteAnswers(session, (entries, callId) => {
      if (!history.isRemote) history.add({ callId, entries })
    })
    this.#tools = tools.map(toFunctionTool)
  }

  /**
   * Returns a copy of the agent that also has the skill tools. If `options()` was never called, a run of the copy
   * fails with `INVALID_OPTION`; a later run without them fails before its second model call. Event listeners are not copied. With `allowedTools: 'enforce'`, adds a guardrail to the function
   * tools.
   * @throws {SkillError} INVALID_OPTION if a tool of the agent has the name of a skill tool
   */
  agent<Agent extends OpenaiAgent>(agent: Agent): Agent {
    assertNoClash(
      this.session,
      agent.tools.map(({ name }) => name),
    )
    const copy = agent.clone({ tools: [...agent.tools, ...this.#tools] } as never) as Agent
    histories.set(copy, this.#history)
    const getAllTools = copy.getAllTools.bind(copy)
    copy.getAllTools = async (run, ...rest) => {
      const tools = await getAllTools(run, ...rest)
      const names = tools.map(({ name }) => name)
      return [...tools, ...this.#readCommands(run).filter(({ name }) => !names.includes(name))]
    }
    requireHooks(copy, this.#history, this.#settings)
    if (this.#settings.isEnforced) guardTools(copy)
    return copy
  }

  /**
   * Returns the options of one `run()`, merged with your own options. The options also serve the agents of children, so
   * an agent may hand off to them.
   */
  options<Settings extends object>(
    settings: Settings & OpenaiRunSettings = {} as Settings,
  ): Settings & OpenaiRunHooks {
    this.#settings.hasOptions = true
    return { ...settings, ...createRunHooks(settings) }
  }

  /**
   * Starts over with a summary or with compacted items, and returns the new history. The next request has a new catalog.
   * Skills that were loaded come back at their newest revisions.
   */
  async compact<Item extends HistoryItem = never>(
    summary: string | readonly Item[],
    options?: RebaseOptions,
  ): Promise<(Item | AddedMessage)[]> {
    const items = typeof summary === 'string' ? [toUserMessage(summary)] : [...summary]
    await this.#history.restore(items, options)
    return items
  }

  /** Returns the state to store with the history, as a JSON value. */
  state(): OpenaiAgentsState {
    return this.#history.state()
  }

  #readCommands(run: object): readonly OpenaiTool[] {
    const commands = this.#commands.get(run) ?? this.session.commandTools().map(toFunctionTool)
    this.#commands.set(run, commands)
    return commands
  }

  /** Opens the conversation of a subagent. The subagent sees the skills that both scopes include. */
  child({ resume, ...options }: OpenaiAgentsChildOptions): OpenaiAgentsChat {
    const session = this.session.child({ ...options, ...defined({ resume: resume?.session }) })
    return new OpenaiAgentsChat(session, this.#settings, resume)
  }
}

/**
 * Opens a conversation with live skills for the OpenAI Agents SDK.
 * @throws {SkillError} CLOSED, INVALID_OPTION; DUPLICATE_SESSION when an open session has the same id
 *
 * @example
 * ```ts no-run
 * import { Agent, run } from '@openai/agents'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { openaiAgents } from '@skillstoke/adapters/openai-agents'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using chat = openaiAgents(skills, { id: 'chat-1' })
 * const agent = chat.agent(new Agent({ name: 'Helper', instructions: 'You help.' }))
 * const { finalOutput } = await run(agent, 'Use the skill "support-pdf".', chat.options())
 * console.log(finalOutput)
 * ```
 */
export function openaiAgents(
  skills: SkillRuntime,
  { rebase, resume, ...options }: OpenaiAgentsOptions,
): OpenaiAgentsChat {
  const session = skills.session({ ...options, ...defined({ resume: resume?.session }) })
  return new OpenaiAgentsChat(session, { isEnforced: options.allowedTools === 'enforce', rebase }, resume)
}
