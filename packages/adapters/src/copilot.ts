/// <reference lib="esnext.disposable" preserve="true" />

// `@skillstoke/adapters/copilot`: live skills in sessions of `@github/copilot-sdk`.

import {
  type DeliveryMode,
  type RebaseOptions,
  SkillError,
  type SkillRuntime,
  type SkillScope,
  type ToolResult,
} from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import {
  type CopilotCall,
  type CopilotConfig,
  type CopilotHookInput,
  type CopilotHookOutput,
  mergeConfig,
  type OwnConfig,
  type OwnHook,
} from './copilot/config.ts'
import { type CopilotEvent, isCompaction, RECORD } from './copilot/history.ts'
import { CopilotMember } from './copilot/member.ts'
import { joinTexts, LiveChat, LiveConversation, type LiveOptions } from './live-conversation.ts'
import { RecentMap } from './recent-map.ts'
import { assertNoClash } from './skill-tools.ts'

export interface CopilotOptions extends Omit<LiveOptions, 'instructions' | 'resume' | 'delivery'> {
  /** `rebuild` is not possible, because the catalog is a part of the conversation. @default 'append' */
  readonly delivery?: Exclude<DeliveryMode, 'rebuild'>
  /** Name of the tool that loads skills. The runtime has a tool of its own with the name `skill`. @default 'load_skill' */
  readonly skillToolName?: string
  /**
   * The names of custom agents that get a catalog of skills, with their scopes. A subagent sees the skills that both its
   * scope and the scope of the agent that starts it include. A subagent with another name gets no catalog, but may load
   * the skills of the agent that starts it.
   * @default none
   */
  readonly agents?: Readonly<Record<string, SkillScope>>
  /** How many tokens of loaded skills come back after a compaction. @default { maxTokens: 8_000 } */
  readonly rebase?: RebaseOptions
}

/** The part of the SDK's `CopilotClient` that the adapter uses. */
export interface CopilotClient<Config, Session> {
  createSession(config: Config): Promise<Session>
  resumeSession(sessionId: string, config: Config): Promise<Session>
  getSessionMetadata(sessionId: string): Promise<object | undefined>
}

/** The part of the SDK's `CopilotSession` that the adapter uses. */
export interface CopilotSession {
  getEvents(): Promise<readonly { readonly type: string; readonly data: object }[]>
}

/** A tool call that runs. */
interface RunningCall {
  readonly member: CopilotMember
  answer?: Promise<ToolResult>
}

interface CopilotSettings {
  readonly agents: Readonly<Record<string, SkillScope>>
  readonly rebase: RebaseOptions | undefined
}

/** The answer to a call whose start was not reported. A subagent must not call with the scope of its parent. */
const UNKNOWN_CALLER = 'The agent that makes this call is unknown. Call the tool again.'

/** After these events, messages may be missing in the conversation. */
const INTERRUPTIONS: readonly string[] = [
  'abort',
  'session.context_cleared',
  'session.error',
  'session.snapshot_rewind',
]

/** The runtime ignores what hooks add to such a prompt. */
const NOTIFICATION = '<system_notification>'

/** A subagent may go on after its end, so its conversation stays open until so many others were active after it. */
const MAX_SUBAGENTS = 100

/**
 * One conversation of the Copilot SDK with live skills. Changes of skills reach the model before its next call. The
 * record of the conversation is in the event log of the session.
 *
 * @example
 * ```ts no-run
 * import { CopilotClient } from '@github/copilot-sdk'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { copilot } from '@skillstoke/adapters/copilot'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using live = copilot(skills, { id: 'chat-1', agents: { helper: { include: ['support-*'] } } })
 * const customAgents = [{ name: 'helper', description: 'Helps with support.', prompt: 'You help.' }]
 * await using session = await live.open(new CopilotClient(), { model: 'gpt-6-mini', customAgents })
 * console.log((await session.sendAndWait('Ask the helper.'))?.data.content)
 * ```
 */
export class CopilotAgent extends LiveChat {
  readonly #settings: CopilotSettings
  readonly #main: CopilotMember
  readonly #subagents = new RecentMap<CopilotMember>(MAX_SUBAGENTS, ({ session }) => session.close())
  /** The running tool calls by their ids. Hooks and handlers of tools do not name the agent. */
  readonly #calls = new Map<string, RunningCall>()
  #opened: Promise<CopilotSession> | undefined

  /** Use `copilot()`. */
  constructor({ session }: LiveConversation, settings: CopilotSettings) {
    super(session)
    this.#settings = settings
    const readEvents = async (): Promise<readonly CopilotEvent[]> => {
      const opened = await this.#opened
      return ((await opened?.getEvents()) ?? []) as readonly CopilotEvent[]
    }
    this.#main = new CopilotMember(session, { rebase: settings.rebase, isListed: true, readEvents })
  }

  /**
   * Resumes the session of this conversation, or creates it, with your configuration and the skill tools, hooks and
   * listener of the adapter. The id of the session is the id of the conversation, unless your configuration contains a
   * `sessionId`.
   * @throws {SkillError} INVALID_OPTION if you have a tool with the name of a skill tool; errors of the SDK
   */
  async open<Config extends CopilotConfig, Session extends CopilotSession>(
    client: CopilotClient<Config, Session>,
    config: Config,
  ): Promise<Session> {
    assertNoClash(
      this.session,
      (config.tools ?? []).map(({ name }) => name),
    )
    const { sessionId = this.session.id } = config
    const merged = mergeConfig({ ...config, sessionId }, this.#own())
    const isKnown = (await client.getSessionMetadata(sessionId)) !== undefined
    this.#main.distrust()
    const opened = isKnown ? client.resumeSession(sessionId, merged) : client.createSession(merged)
    this.#opened = opened
    return await opened
  }

  #own(): OwnConfig {
    const bind =
      (run: MemberHook): OwnHook =>
      (input, theirs, isMain) => {
        const member = isMain ? this.#main : this.#subagents.get(input.sessionId)
        return member === undefined ? theirs : run(member, input, theirs)
      }
    return {
      tools: this.session.tools,
      scopes: this.#settings.agents,
      hooks: {
        onUserPromptSubmitted: bind(onPrompt),
        onPreToolUse: bind(onCall),
        onPostToolUse: bind(onResult),
        onPostToolUseFailure: bind(onResult),
        onSessionEnd: bind(onEnd),
      },
      execute: async (...call) => await this.#execute(...call),
      receive: event => this.#receive(event),
    }
  }

  #receive(event: CopilotEvent): void {
    const { type, agentId, data } = event
    const { toolCallId = '' } = data
    if (type === 'subagent.started' && agentId !== undefined) this.#start(agentId, event)
    const member = agentId === undefined ? this.#main : this.#subagents.get(agentId)
    if (member === undefined) return
    if (type === 'tool.execution_start') this.#calls.set(toolCallId, { member })
    if (type === 'tool.execution_complete') {
      this.#calls.delete(toolCallId)
      if (data.success === true) member.settle(toolCallId)
    }
    if (isCompaction(event)) member.forgetCatalog()
    if (INTERRUPTIONS.includes(type)) member.distrust()
  }

  /** Opens the conversation of a subagent. */
  #start(id: string, { data: { agentName = '', toolCallId = '' } }: CopilotEvent): void {
    const { agents, rebase } = this.#settings
    const starter = this.#calls.get(toolCallId)?.member ?? this.#main
    const scope = Object.hasOwn(agents, agentName) ? agents[agentName] : undefined
    const session = starter.session.child({ id: `${this.session.id}/${id}`, ...defined({ scope }) })
    this.#subagents.use(id, new CopilotMember(session, { rebase, isListed: scope !== undefined }))
  }

  async #execute(name: string, input: unknown, { toolCallId, signal }: CopilotCall): Promise<string> {
    const call = this.#calls.get(toolCallId)
    if (call === undefined) return UNKNOWN_CALLER
    // The runtime requests each call of a subagent twice.
    call.answer ??= call.member.execute(name, input, { callId: toolCallId, ...defined({ signal }) })
    return (await call.answer).text
  }
}

/** What an event means for the agent that caused it. Completes the output of the host's hook. */
type MemberHook = (
  member: CopilotMember,
  input: CopilotHookInput,
  theirs: CopilotHookOutput,
) => CopilotHookOutput | Promise<CopilotHookOutput>

const onPrompt: MemberHook = async (member, { prompt }, theirs) => {
  const { modifiedPrompt = prompt } = theirs
  if (modifiedPrompt.startsWith(NOTIFICATION)) return theirs
  const added = await member.beginTurn(modifiedPrompt)
  return addRecord(member, addContext(theirs, added))
}

const onCall: MemberHook = async (member, { toolName, toolArgs }, theirs) => {
  // The skill tools check their calls themselves.
  if (theirs.permissionDecision === 'deny' || member.tools.some(({ name }) => name === toolName))
    return theirs
  const refusal = member.session.checkTool(toolName, toolArgs)
  if (refusal === undefined) return theirs
  // The runtime calls no other hook for a refused call.
  const output = addContext(theirs, await member.continueTurn())
  return { ...output, permissionDecision: 'deny', permissionDecisionReason: refusal }
}

const onResult: MemberHook = async (member, _input, theirs) => addContext(theirs, await member.continueTurn())

const onEnd: MemberHook = (member, _input, theirs) => addRecord(member, theirs)

function addContext(theirs: CopilotHookOutput, text: string): CopilotHookOutput {
  const additionalContext = joinTexts(theirs.additionalContext, text)
  return additionalContext === '' ? theirs : { ...theirs, additionalContext }
}

function addRecord(member: CopilotMember, theirs: CopilotHookOutput): CopilotHookOutput {
  const parts = member.takeRecord()
  return parts.length === 0 ? theirs : { ...theirs, [RECORD]: parts }
}

/**
 * Opens a conversation with live skills for the Copilot SDK. The catalog is in the first message, the skill tools are
 * among the tools of the session, and changes reach the model before its next call.
 * @throws {SkillError} CLOSED, INVALID_OPTION; DUPLICATE_SESSION when an open conversation has the same id
 *
 * @example
 * ```ts no-run
 * import { CopilotClient } from '@github/copilot-sdk'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { copilot } from '@skillstoke/adapters/copilot'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using live = copilot(skills, { id: 'chat-1' })
 * await using session = await live.open(new CopilotClient(), { model: 'gpt-6-mini' })
 * console.log((await session.sendAndWait('Which skills do you have?'))?.data.content)
 * ```
 */
export function copilot(
  skills: SkillRuntime,
  { agents = {}, rebase, skillToolName = 'load_skill', ...options }: CopilotOptions,
): CopilotAgent {
  if ((options.delivery as DeliveryMode | undefined) === 'rebuild')
    throw new SkillError('INVALID_OPTION', 'delivery is "rebuild"; use "append", "silent" or "pinned"')
  return new CopilotAgent(LiveConversation.open(skills, { ...options, skillToolName }), { agents, rebase })
}
