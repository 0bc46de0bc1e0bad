import type { RebaseOptions } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import { joinTexts } from '../live-conversation.ts'
import type { ClaudeAgents, ClaudeCallEvent, ClaudeMember } from './agents.ts'
import { createContextHook, createLongContextHooks } from './context.ts'
import { TOOL_PREFIX } from './options.ts'

/** The input of a hook. The adapter uses these fields of the SDK's inputs. */
interface HookInput extends ClaudeCallEvent {
  readonly session_id: string
  readonly prompt: string
  readonly source: string
  readonly tool_calls: readonly ClaudeCallEvent[]
}

type ClaudeHook = (input: HookInput, id: string | undefined) => Promise<object>

/** An entry of `options.hooks`. */
interface ClaudeHookMatcher {
  readonly hooks: readonly ClaudeHook[]
  readonly onFailure?: 'block'
}

/** What the hooks need of the conversation. */
export interface HookedConversation {
  readonly agents: ClaudeAgents
  /** The catalog in the system prompt of the main agent. */
  readonly systemCatalog: string
  readonly rebase: RebaseOptions
  /** True if a tool call must not run when its hook fails. */
  readonly isEnforced: boolean
  /** Stores the conversation. */
  readonly save: (sessionId: string) => Promise<void>
}

/** Returns the hooks that keep the agents of a Claude Code session up to date, by event. */
export function createHooks(conversation: HookedConversation): Record<string, ClaudeHookMatcher[]> {
  const { isEnforced } = conversation
  const bind =
    <Result>(handler: Handler<Result>) =>
    async (input: HookInput): Promise<Result> =>
      await handler(input, conversation.agents.find(input), conversation)
  return {
    UserPromptSubmit: [{ hooks: createLongContextHooks('UserPromptSubmit', bind(onPrompt)) }],
    PreToolUse: [{ hooks: [bind(onCall)], ...(isEnforced && { onFailure: 'block' as const }) }],
    PostToolBatch: [{ hooks: [createContextHook('PostToolBatch', bind(onBatch))] }],
    SubagentStart: [{ hooks: createLongContextHooks('SubagentStart', bind(onSubagent)) }],
    SessionStart: [{ hooks: createLongContextHooks('SessionStart', bind(onSession)) }],
    Stop: [{ hooks: [bind(onStop)] }],
    StopFailure: [{ hooks: [bind(onStop)] }],
  }
}

/** What an event means for the agent that caused it. A text that a handler returns enters the conversation of the agent. */
type Handler<Result> = (
  input: HookInput,
  member: ClaudeMember,
  conversation: HookedConversation,
) => Result | Promise<Result>

const onPrompt: Handler<string> = async ({ prompt, session_id }, member, { save }) => {
  if (member.isMain) {
    // A prompt that another hook blocks is not in the transcript. The next prompt then reports the changes again.
    member.live.beginTurn()
    await save(session_id)
  }
  return joinTexts(await readInvoked(member, prompt), await takeNotice(member))
}

const onCall: Handler<object> = (input, member, { agents }) => {
  agents.noteCall(input, member)
  if (member.isMain) member.live.keepTurn()
  // The skill tools check their calls themselves.
  if (input.tool_name.startsWith(TOOL_PREFIX)) return {}
  const refusal = member.live.session.checkTool(input.tool_name, input.tool_input)
  if (refusal === undefined) return {}
  const decision = { permissionDecision: 'deny', permissionDecisionReason: refusal }
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } }
}

const onBatch: Handler<string | undefined> = async (input, member, conversation) => {
  conversation.agents.endCalls(input.tool_calls)
  await keep(input, member, conversation)
  return await takeNotice(member)
}

const onStop: Handler<object> = async (...event) => {
  await keep(...event)
  return {}
}

const onSubagent: Handler<string | undefined> = (_input, { live, hasCatalog }) => {
  live.session.beginTurn()
  // When a subagent goes on after its end, Claude Code ignores this text.
  return hasCatalog ? live.session.catalog : undefined
}

const onSession: Handler<string | undefined> = async (input, member, conversation) => {
  const isCleared = input.source === 'clear'
  if (!isCleared && input.source !== 'compact') return undefined
  const restored = await member.live.rebase(isCleared ? { maxTokens: 0 } : conversation.rebase)
  await keep(input, member, conversation)
  return joinTexts(readCatalog(member, conversation), restored)
}

/** Records that the messages of the main agent's turn are in the transcript. */
const keep: Handler<void> = async ({ session_id }, member, { save }) => {
  if (!member.isMain) return
  member.live.keepTurn()
  await save(session_id)
}

/** Returns the catalog after a compaction, if the agent does not have it in its system prompt. */
function readCatalog(
  { live, isMain, hasCatalog }: ClaudeMember,
  { systemCatalog }: HookedConversation,
): string | undefined {
  const { catalog } = live.session
  if (!isMain) return hasCatalog ? catalog : undefined
  if (catalog === systemCatalog) return undefined
  const now = catalog === '' ? 'None.' : catalog
  return `These skills are available now, instead of the skills in the system prompt:\n\n${now}`
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
