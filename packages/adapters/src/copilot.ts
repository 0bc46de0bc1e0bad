/// <reference lib="esnext.disposable" preserve="true" />

// `@skillstoke/adapters/copilot`: live skills in sessions of `@github/copilot-sdk`.

import {
  type DeliveryMode,
  type RebaseOptions,
  SkillError,
  type SkillRuntime,
  type SkillScope,
  type SkillSession,
} from '@skillstoke/core'
import { defined, untilAborted, waitAtMost } from '@skillstoke/core/internal'
import { systemClock } from '@skillstoke/core/source'
import { type CopilotCall, type CopilotConfig, mergeConfig } from './copilot/config.ts'
import { type CopilotEvent, isCompaction } from './copilot/history.ts'
import { CopilotMember } from './copilot/member.ts'
import { LiveChat, type LiveOptions } from './live-conversation.ts'
import { RecentMap } from './recent-map.ts'
import { assertNoClash } from './skill-tools.ts'

export interface CopilotOptions
  extends Omit<LiveOptions, 'instructions' | 'resume' | 'delivery' | 'commandTools'> {
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
interface CopilotClient<Config, Session> {
  start(): Promise<void>
  createSession(config: Config): Promise<Session>
  resumeSession(sessionId: string, config: Config): Promise<Session>
  getSessionMetadata(sessionId: string): Promise<object | undefined>
}

/** The part of the SDK's `CopilotSession` that the adapter uses. */
interface CopilotSession {
  getEvents(): Promise<readonly object[]>
}

type CopilotSettings = Required<Pick<CopilotOptions, 'agents'>> & Pick<CopilotOptions, 'rebase'>

/** After these events, messages may be missing in the conversation. */
const INTERRUPTION = /^(?:abort|session\.(?:context_cleared|error|snapshot_rewind))$/

/** How long a tool call waits for the event of its start. */
const START_TIMEOUT_MS = 5_000

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
  /** The agents that call a tool now, by the id of the call, because neither hooks nor handlers of tools name the agent. */
  readonly #calls = new Map<string, CopilotMember>()
  /** The answers of the calls that run, by the id of the call, because the runtime may send a call twice. */
  readonly #answers = new Map<string, Promise<string>>()
  /** Tool calls that arrived before their start was reported, by the id of the call. */
  readonly #early = new Map<string, () => void>()
  #opened: CopilotSession | undefined

  /** Use `copilot()`. */
  constructor(session: SkillSession, settings: CopilotSettings) {
    super(session)
    this.#settings = settings
    const readEvents = async (): Promise<readonly CopilotEvent[]> =>
      ((await this.#opened?.getEvents()) ?? []) as readonly CopilotEvent[]
    this.#main = new CopilotMember(session, { ...settings, isListed: true, readEvents })
  }

  /**
   * Resumes the session of this conversation, or creates it, with your configuration and the skill tools and hooks of
   * the adapter. The id of the session is the id of the conversation, unless your configuration contains a `sessionId`.
   * @throws {SkillError} INVALID_OPTION if you have a tool with the name of a skill tool, or if the record in the event
   * log is damaged; errors of the SDK
   */
  async open<Config extends CopilotConfig, Session extends CopilotSession>(
    client: CopilotClient<Config, Session>,
    config: Config,
  ): Promise<Session> {
    const { sessionId = this.session.id, tools = [] } = config
    const names = tools.map(({ name }) => name)
    assertNoClash(this.session, names)
    const merged = mergeConfig(
      { ...config, sessionId },
      {
        main: this.#main,
        subagents: this.#subagents,
        execute: this.#execute.bind(this),
        receive: this.#receive.bind(this),
      },
    )
    await client.start()
    const isKnown = (await client.getSessionMetadata(sessionId)) !== undefined
    const opened = await (isKnown ? client.resumeSession(sessionId, merged) : client.createSession(merged))
    this.#opened = opened
    await this.#main.follow()
    return opened
  }

  /** Called with each event. A tool call can arrive before the event of its start, because they are sent separately. */
  #receive(event: CopilotEvent): void {
    const { type, agentId, data } = event
    const { toolCallId = '' } = data
    if (type === 'subagent.started') this.#start(event)
    const member = agentId === undefined ? this.#main : this.#subagents.get(agentId)
    if (member === undefined) return
    if (type === 'tool.execution_start') {
      this.#calls.set(toolCallId, member)
      this.#early.get(toolCallId)?.()
    }
    if (type === 'tool.execution_complete') {
      this.#calls.delete(toolCallId)
      this.#answers.delete(toolCallId)
    }
    if (isCompaction(event)) member.hasCatalog = false
    if (INTERRUPTION.test(type)) member.isStale = true
  }

  /** Opens the conversation of a subagent. */
  #start({ agentId = '', data: { agentName = '', toolCallId = '' } }: CopilotEvent): void {
    const { agents, rebase } = this.#settings
    const starter = this.#calls.get(toolCallId) ?? this.#main
    const scope = Object.hasOwn(agents, agentName) ? agents[agentName] : undefined
    const session = starter.session.child({ id: `${this.session.id}/${agentId}`, ...defined({ scope }) })
    const options = { ...defined({ rebase }), isListed: scope !== undefined }
    this.#subagents.use(agentId, new CopilotMember(session, options))
  }

  async #execute(name: string, input: unknown, call: CopilotCall): Promise<string> {
    const { toolCallId } = call
    const answer = this.#answers.get(toolCallId) ?? this.#run(name, input, call)
    this.#answers.set(toolCallId, answer)
    try {
      return await answer
    } finally {
      if (!this.#calls.has(toolCallId)) this.#answers.delete(toolCallId)
    }
  }

  async #run(name: string, input: unknown, { toolCallId, signal }: CopilotCall): Promise<string> {
    if (!this.#calls.has(toolCallId)) {
      const start = new Promise<void>(resolve => this.#early.set(toolCallId, resolve))
      const wait = waitAtMost(systemClock, START_TIMEOUT_MS, start)
      await (signal ? untilAborted(signal, wait) : wait).finally(() => this.#early.delete(toolCallId))
    }
    const answer = await this.#calls.get(toolCallId)?.execute(name, input, { callId: toolCallId, signal })
    // The start of the call was not reported. A subagent must not call with the scope of its parent.
    return answer ?? 'The agent that makes this call is unknown. Call the tool again.'
  }
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
  if ((options as Partial<LiveOptions>).commandTools === true)
    throw new SkillError(
      'INVALID_OPTION',
      'commandTools is not possible: the tools of a session never change',
    )
  return new CopilotAgent(skills.session({ ...options, skillToolName }), { agents, ...defined({ rebase }) })
}
