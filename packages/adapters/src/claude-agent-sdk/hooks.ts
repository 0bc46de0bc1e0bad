import type { RebaseOptions } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import { joinTexts } from '../live-conversation.ts'
import type { ClaudeAgents, ClaudeCallEvent, ClaudeMember } from './agents.ts'
import { createContextHook, createLongContextHooks } from './context.ts'

/** The input of a hook. The adapter uses these fields of the SDK's inputs. */
interface HookInput extends ClaudeCallEvent {
  readonly session_id: string
  readonly prompt: string
  readonly source: string
  readonly tool_calls: readonly ClaudeCallEvent[]
}

type ClaudeHook = (input: HookInput, id: string | undefined) => Promise<object>

/** An entry of `options.hooks`. */
export interface ClaudeHookMatcher {
  readonly hooks: readonly ClaudeHook[]
  readonly onFailure?: 'block'
}

/** What the hooks need of the conversation. */
export interface HookedConversation {
  readonly agents: ClaudeAgents
  /** The catalog in the system prompt of the main agent. */
  readonly systemCatalog: string
  /** Prefix of the names by which Claude Code calls the skill tools. */
  readonly toolPrefix: string
  readonly rebase: RebaseOptions
  /** True if a tool call must not run when its hook fails. */
  readonly isEnforced: boolean
  /** Stores the conversation. */
  save(sessionId: string): Promise<void>
}

/** Returns the hooks that keep the agents of a Claude Code session up to date, by event. */
export function createHooks(conversation: HookedConversation): Record<string, ClaudeHookMatcher[]> {
  const handlers = new HookHandlers(conversation)
  const { isEnforced } = conversation
  return {
    UserPromptSubmit: [{ hooks: createLongContextHooks('UserPromptSubmit', handlers.onPrompt) }],
    PreToolUse: [{ hooks: [handlers.onCall], ...(isEnforced && { onFailure: 'block' as const }) }],
    PostToolBatch: [{ hooks: [createContextHook('PostToolBatch', handlers.onBatch)] }],
    SubagentStart: [{ hooks: createLongContextHooks('SubagentStart', handlers.onSubagent) }],
    SessionStart: [{ hooks: createLongContextHooks('SessionStart', handlers.onSession) }],
    Stop: [{ hooks: [handlers.onStop] }],
    StopFailure: [{ hooks: [handlers.onStop] }],
  }
}

/** What each event means for the agents. The text that a handler returns enters the conversation of its agent. */
class HookHandlers {
  readonly #conversation: HookedConversation
  readonly #agents: ClaudeAgents

  constructor(conversation: HookedConversation) {
    this.#conversation = conversation
    this.#agents = conversation.agents
  }

  readonly onPrompt = async (input: HookInput): Promise<string | undefined> => {
    const member = this.#agents.find(input)
    if (member.isMain) {
      // A prompt that another hook blocks is not in the transcript. The next prompt then reports the changes again.
      member.live.beginTurn()
      await this.#conversation.save(input.session_id)
    }
    return joinTexts(await readInvoked(member, input.prompt), await takeNotice(member))
  }

  readonly onCall = async (input: HookInput): Promise<object> => {
    const { live, isMain } = this.#agents.noteCall(input)
    if (isMain) live.keepTurn()
    // The skill tools check their calls themselves.
    if (input.tool_name.startsWith(this.#conversation.toolPrefix)) return {}
    const refusal = live.session.checkTool(input.tool_name, input.tool_input)
    if (refusal === undefined) return {}
    const decision = { permissionDecision: 'deny', permissionDecisionReason: refusal }
    return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } }
  }

  readonly onBatch = async (input: HookInput): Promise<string | undefined> => {
    this.#agents.endCalls(input.tool_calls)
    await this.#keep(input)
    return await takeNotice(this.#agents.find(input))
  }

  readonly onStop = async (input: HookInput): Promise<object> => {
    await this.#keep(input)
    return {}
  }

  readonly onSubagent = async (input: HookInput): Promise<string | undefined> => {
    const { live, hasCatalog } = this.#agents.find(input)
    live.session.beginTurn()
    // When a subagent goes on after its end, Claude Code ignores this text.
    return hasCatalog ? live.session.catalog : undefined
  }

  readonly onSession = async (input: HookInput): Promise<string | undefined> => {
    const isCleared = input.source === 'clear'
    if (!isCleared && input.source !== 'compact') return undefined
    const member = this.#agents.find(input)
    const restored = await member.live.rebase(isCleared ? { maxTokens: 0 } : this.#conversation.rebase)
    await this.#keep(input)
    return joinTexts(this.#readCatalog(member), restored)
  }

  /** Records that the messages of the main agent's turn are in the transcript. */
  async #keep(input: HookInput): Promise<void> {
    const member = this.#agents.find(input)
    if (!member.isMain) return
    member.live.keepTurn()
    await this.#conversation.save(input.session_id)
  }

  /** Returns the catalog after a compaction, if the agent does not have it in its system prompt. */
  #readCatalog({ live, isMain, hasCatalog }: ClaudeMember): string | undefined {
    const { catalog } = live.session
    if (!isMain) return hasCatalog ? catalog : undefined
    if (catalog === this.#conversation.systemCatalog) return undefined
    const now = catalog === '' ? 'None.' : catalog
    return `These skills are available now, instead of the skills in the system prompt:\n\n${now}`
  }
}

/** Returns the instructions of the skill that a prompt invokes with `/` and its name. */
async function readInvoked({ live }: ClaudeMember, prompt: string): Promise<string | undefined> {
  const { skill, text } = await live.session.expandSlash(prompt)
  if (skill === undefined) return undefined
  return `The message of the user invokes the skill ${quote(skill.name)}:\n\n${text}`
}

async function takeNotice({ live, hasCatalog }: ClaudeMember): Promise<string | undefined> {
  if (!hasCatalog && live.session.ledger.entries().length === 0) return undefined
  return await live.takeNotice()
}
