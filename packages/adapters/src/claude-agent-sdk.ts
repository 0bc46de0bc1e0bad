/// <reference lib="esnext.disposable" preserve="true" />

// `@skillstoke/adapters/claude-agent-sdk`: live skills in agents of the Claude Agent SDK.

import {
  type DeliveryMode,
  type RebaseOptions,
  SkillError,
  type SkillRuntime,
  type SkillScope,
  type ToolDefinition,
  type ToolResult,
} from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { ClaudeAgents } from './claude-agent-sdk/agents.ts'
import { createHooks } from './claude-agent-sdk/hooks.ts'
import { type ClaudeQueryOptions, mergeOptions, type OwnOptions } from './claude-agent-sdk/options.ts'
import { type SkillCall, SkillServer } from './claude-agent-sdk/server.ts'
import type { ClaudeState, ClaudeStateStore } from './claude-agent-sdk/state.ts'
import { LiveChat, LiveConversation, type LiveOptions } from './live-conversation.ts'

export { type ClaudeState, type ClaudeStateStore, toStateStore } from './claude-agent-sdk/state.ts'

export interface ClaudeAgentOptions extends Omit<LiveOptions, 'instructions' | 'resume' | 'delivery'> {
  /** `rebuild` is not possible, because a running Claude Code keeps its system prompt. @default 'append' */
  readonly delivery?: Exclude<DeliveryMode, 'rebuild'>
  /**
   * The types of subagents that get a catalog of skills, with their scopes. A subagent sees the skills that both its
   * scope and the scope of the agent that starts it include. A subagent of another type gets no catalog, but may load
   * the skills of the agent that starts it.
   * @default none
   */
  readonly agents?: Readonly<Record<string, SkillScope>>
  /** The limits of the skills that come back after a compaction. @default `maxTokens: 8_000` */
  readonly rebase?: RebaseOptions
  /**
   * Keeps the conversation when the process ends. Claude Code itself keeps the messages.
   * @default another process starts a new conversation
   */
  readonly store?: ClaudeStateStore
}

interface ClaudeAgentSettings {
  readonly agents: Readonly<Record<string, SkillScope>>
  readonly rebase: RebaseOptions
  readonly isEnforced: boolean
  readonly store: ClaudeStateStore | undefined
  /** Opens a conversation that the store knows, or a copy of one. */
  readonly open: (id: string, stored?: ClaudeState, isFork?: boolean) => ClaudeAgent
}

/** The answer to a call without the hook that names the agent. A subagent must not call with the scope of its parent. */
const UNKNOWN_CALLER =
  'The hook PreToolUse did not run before this call, so the agent that calls is unknown. Tell the user to allow hooks.'

/**
 * One conversation of the Claude Agent SDK with live skills. Changes of skills reach the model before its next call.
 * Run one `query()` of the conversation at a time.
 *
 * @example
 * ```ts no-run
 * import { query } from '@anthropic-ai/claude-agent-sdk'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { claudeAgent } from '@skillstoke/adapters/claude-agent-sdk'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using live = await claudeAgent(skills, { id: 'chat-1', agents: { helper: { include: ['support-*'] } } })
 * const agents = { helper: { description: 'Helps with support.', prompt: 'You help.' } }
 * const messages = query({ prompt: 'Ask the helper.', options: live.options({ agents }) })
 * for await (const message of messages) if (message.type === 'result') console.log(live.sessionId)
 * ```
 */
export class ClaudeAgent extends LiveChat {
  readonly #settings: ClaudeAgentSettings
  readonly #agents: ClaudeAgents
  /** What the options of each query contain. A compaction does not change the catalog in the system prompt. */
  readonly #own: Omit<OwnOptions, 'sessionId' | 'isFork' | 'tools'>
  /** The commands of loaded skills, which stay the same within a query. */
  #commands: readonly ToolDefinition[] = []
  #sessionId: string | undefined
  /** True until Claude Code has copied the session. */
  #isFork: boolean
  /** The state that was saved last, as JSON. */
  #saved: string | undefined

  /** Use `claudeAgent()`. */
  constructor(live: LiveConversation, settings: ClaudeAgentSettings, stored?: ClaudeState, isFork = false) {
    super(live.session)
    const { tools, catalog: systemCatalog } = live.session
    const { agents: scopes, rebase, isEnforced } = settings
    const catalog = stored?.catalog ?? systemCatalog
    const agents = new ClaudeAgents(live, scopes)
    const save = async (sessionId: string): Promise<void> => await this.#save(sessionId)
    const hooks = createHooks({
      agents,
      systemCatalog: catalog,
      rebase,
      isEnforced,
      save,
    })
    const listTools = (): readonly ToolDefinition[] => [...tools, ...this.#commands]
    const server = new SkillServer(listTools, async call => await this.#execute(call))
    this.#settings = settings
    this.#agents = agents
    this.#own = { catalog, server, scopes, hooks }
    this.#sessionId = stored?.sessionId
    this.#isFork = isFork
  }

  /** The id of Claude Code's session; `undefined` before the first prompt. */
  get sessionId(): string | undefined {
    return this.#sessionId
  }

  /**
   * Returns your options for `query()` with the catalog, the skill tools and the hooks of this conversation. The second
   * `query()` resumes the first, unless your options contain `resume`, `continue` or `sessionId`.
   * @throws {SkillError} INVALID_OPTION if you have an MCP server with the name "skills", or the option `forkSession`
   */
  options<Yours extends ClaudeQueryOptions = Record<never, never>>(yours?: Yours): Yours {
    if (yours?.['forkSession'] === true)
      throw new SkillError(
        'INVALID_OPTION',
        'forkSession is true; call fork(), and pass the options of the fork',
      )
    this.#commands = this.session.commandTools()
    const tools = [...this.session.tools, ...this.#commands]
    const own: OwnOptions = { ...this.#own, tools, sessionId: this.#sessionId, isFork: this.#isFork }
    return mergeOptions(yours ?? ({} as Yours), own)
  }

  /**
   * Opens a copy of this conversation, which goes its own way. Its first `query()` copies the session of Claude Code.
   * Call `fork()` between two queries.
   * @param sessionId the copy, if `forkSession()` of the SDK has already created it
   * @throws {SkillError} INVALID_OPTION, DUPLICATE_SESSION
   */
  fork(id: string, sessionId?: string): ClaudeAgent {
    const known = sessionId ?? this.#sessionId
    const { catalog } = this.#own
    const stored = known === undefined ? known : { sessionId: known, catalog, session: this.session.state() }
    return this.#settings.open(id, stored, sessionId === undefined && known !== undefined)
  }

  async #execute({ name, input, toolUseId, signal }: SkillCall): Promise<ToolResult> {
    const { main } = this.#agents
    const caller = toolUseId === undefined ? main : this.#agents.findCaller(toolUseId)
    if (caller === undefined) return { text: UNKNOWN_CALLER, isError: true }
    const { session } = caller.live
    const tools = caller === main ? [...session.tools, ...this.#commands] : session.tools
    const tool = tools.find(each => each.name === name)
    if (tool !== undefined) return await tool.execute(input, { signal, callId: toolUseId })
    const names = tools.map(each => each.name)
    return { text: session.describeUnknownTool(name, names), isError: true }
  }

  async #save(sessionId: string): Promise<void> {
    this.#sessionId = sessionId
    this.#isFork = false
    const { store } = this.#settings
    if (store === undefined) return
    const session = this.session.state()
    const { catalog } = this.#own
    const state: ClaudeState = { sessionId, session, ...(session.catalog.text !== catalog && { catalog }) }
    const text = JSON.stringify(state)
    if (text === this.#saved) return
    await store.save(this.session.id, state)
    this.#saved = text
  }
}

/**
 * Opens a conversation with live skills for the Claude Agent SDK. A conversation that the store knows goes on where it
 * ended.
 * @throws {SkillError} INVALID_OPTION; DUPLICATE_SESSION when an open conversation has the same id
 *
 * @example
 * ```ts no-run
 * import { query } from '@anthropic-ai/claude-agent-sdk'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { claudeAgent } from '@skillstoke/adapters/claude-agent-sdk'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using live = await claudeAgent(skills, { id: 'chat-1' })
 * const messages = query({ prompt: 'Which skills do you have?', options: live.options({ maxTurns: 20 }) })
 * for await (const message of messages) if (message.type === 'result') console.log(message.subtype)
 * ```
 */
export async function claudeAgent(
  skills: SkillRuntime,
  { agents = {}, rebase = {}, store, ...options }: ClaudeAgentOptions,
): Promise<ClaudeAgent> {
  if ((options.delivery as DeliveryMode | undefined) === 'rebuild')
    throw new SkillError('INVALID_OPTION', 'delivery is "rebuild"; use "append", "silent" or "pinned"')
  const isEnforced = options.allowedTools === 'enforce'
  const settings: ClaudeAgentSettings = {
    ...{ agents, rebase, store, isEnforced },
    open: (id, stored, isFork) => {
      const resume = defined({ resume: stored?.session })
      return new ClaudeAgent(
        LiveConversation.open(skills, { ...options, id, ...resume }),
        settings,
        stored,
        isFork,
      )
    },
  }
  return settings.open(options.id, (await store?.load(options.id)) ?? undefined)
}
