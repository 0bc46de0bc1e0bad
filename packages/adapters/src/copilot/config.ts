import type { ToolContext } from '@skillstoke/core'
import { joinTexts } from '../live-conversation.ts'
import type { RecentMap } from '../recent-map.ts'
import { type CopilotEvent, RECORD } from './history.ts'
import type { CopilotMember } from './member.ts'

/** The part of a session's configuration that the adapter merges with its own. All other fields stay as they are. */
export interface CopilotConfig {
  readonly sessionId?: string | undefined
  readonly tools?: readonly { readonly name: string }[] | undefined
  readonly availableTools?: readonly string[] | { toArray(): string[] } | undefined
  readonly hooks?: object | undefined
  readonly onEvent?: ((event: never) => void) | undefined
}

/** A call of a tool by the SDK. */
export type CopilotCall = Pick<ToolContext, 'signal'> & { readonly toolCallId: string }

/** What the configuration needs of the conversation. */
interface Conversation {
  readonly main: CopilotMember
  /** The subagents whose start was reported. */
  readonly subagents: Pick<RecentMap<CopilotMember>, 'get'>
  /** Returns the text for the model. */
  readonly execute: (tool: string, input: unknown, call: CopilotCall) => Promise<string>
  /** Called with each event. */
  readonly receive: (event: CopilotEvent) => void
}

/** The fields of hooks that the adapter uses. `sessionId` is the id of the session, or of the subagent. */
type HookInput = Readonly<Record<'sessionId' | 'prompt' | 'toolName', string>> & {
  readonly toolArgs: unknown
}
type HookOutput = Readonly<Record<string, unknown>> & HookTexts
type HookTexts = Readonly<
  Partial<Record<'modifiedPrompt' | 'additionalContext' | 'permissionDecision', string>>
>

type Hook = (input: HookInput, invocation: { readonly sessionId: string }) => unknown
type Hooks = Readonly<Record<string, Hook | undefined>>

/** What an event means for the agent that caused it. Returns what the adapter adds to the output of the host's hook. */
type OwnHook = (member: CopilotMember, input: HookInput, theirs: HookOutput) => Promise<HookOutput>

/** The runtime ignores what hooks add to such a prompt. */
const NOTIFICATION = '<system_notification>'

const onResult: OwnHook = async member => ({ additionalContext: await member.continueTurn() })

const OWN_HOOKS: Readonly<Record<string, OwnHook>> = {
  async onUserPromptSubmitted(member, { prompt }, { modifiedPrompt = prompt }) {
    if (modifiedPrompt.startsWith(NOTIFICATION)) return {}
    const additionalContext = await member.beginTurn(modifiedPrompt)
    return { additionalContext, [RECORD]: member.takeRecord() }
  },
  async onPreToolUse(member, { toolName, toolArgs }, { permissionDecision }) {
    const refusal = member.session.checkTool(toolName, toolArgs)
    if (refusal === undefined || permissionDecision === 'deny') return {}
    // The runtime calls no other hook for a refused call.
    const additionalContext = await member.continueTurn()
    return { additionalContext, permissionDecision: 'deny', permissionDecisionReason: refusal }
  },
  onPostToolUse: onResult,
  onPostToolUseFailure: onResult,
  onSessionEnd: member => Promise.resolve({ [RECORD]: member.takeRecord() }),
}

/** Returns the configuration with the skill tools and the hooks of the adapter. */
export function mergeConfig<Config extends CopilotConfig>(yours: Config, conversation: Conversation): Config {
  const { tools = [], availableTools = [], hooks = {}, onEvent } = yours
  const own = conversation.main.session.tools.map(({ name, description, inputSchema: parameters, hints }) => {
    const handler = conversation.execute.bind(undefined, name)
    const skipPermission = hints?.readOnly !== false
    return { name, description, parameters, handler, defer: 'never', skipPermission }
  })
  const available = 'toArray' in availableTools ? availableTools.toArray() : availableTools
  // The adapter does not depend on the SDK, so it does not name the SDK's own types of tools and hooks.
  return {
    ...yours,
    tools: [...tools, ...own],
    ...(yours.availableTools && { availableTools: [...available, ...own.map(({ name }) => name)] }),
    hooks: { ...hooks, ...mergeHooks(hooks as Hooks, conversation) },
    onEvent: (event: CopilotEvent) => {
      conversation.receive(event)
      onEvent?.(event as never)
    },
  }
}

/** Runs the hook of the host first. Like the SDK, ignores a hook that fails. */
function mergeHooks(theirs: Hooks, { main, subagents }: Conversation): Hooks {
  const merge = (hook: OwnHook, yours: Hook = () => undefined): Hook => {
    const run = async (...event: Parameters<Hook>): Promise<unknown> => await yours(...event)
    return async (input, invocation) => {
      const output = ((await run(input, invocation).catch(() => undefined)) ?? {}) as HookOutput
      const member = input.sessionId === invocation.sessionId ? main : subagents.get(input.sessionId)
      const added = await member?.hooks.run(async () => await hook(member, input, output))
      const additionalContext = joinTexts(output.additionalContext, added?.additionalContext) || undefined
      return { ...output, ...added, additionalContext }
    }
  }
  return Object.fromEntries(
    Object.entries(OWN_HOOKS).map(([event, hook]) => [event, merge(hook, theirs[event])]),
  )
}
