/// <reference lib="esnext.disposable" preserve="true" />

// `@skillstoke/adapters/pi`: live skills in agents of pi.

import type { RebaseOptions, SkillRuntime, SkillSession } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { LiveChat, type LiveChildOptions, type LiveOptions } from './live-conversation.ts'
import { attach } from './pi/attach.ts'
import { assertAgent, type PiAgent } from './pi/sdk.ts'
import { type PiSkillTool, toPiTool } from './pi/tools.ts'
import { noteAnswers } from './told-history.ts'
import { type HistoryState, TrackedHistory } from './tracked-history.ts'

export interface PiOptions extends Omit<LiveOptions, 'instructions' | 'resume'> {
  /** An `Agent` of `@earendil-works/pi-agent-core`, with its messages if the conversation continues. */
  readonly agent: PiAgent
  /** How many tokens of loaded skills come back after a compaction. @default { maxTokens: 8_000 } */
  readonly rebase?: RebaseOptions
  /** The value that `state()` returned when the messages were stored. @default a new conversation */
  readonly resume?: PiState | undefined
}

type PiSettings = Pick<PiOptions, 'agent' | 'rebase' | 'resume'>

/** The options of a subagent's conversation. */
interface PiChildOptions extends Omit<LiveChildOptions, 'instructions'>, PiSettings {}

/** A stored conversation without its messages, as a JSON value. */
export type PiState = HistoryState

/**
 * One conversation with live skills. The agent or your code stores the messages. The adapter adds the catalog and its
 * notices to each request, always at the same places. Before each model call, it compares its record with the messages,
 * so a turn that was removed leaves no trace.
 *
 * @example
 * ```ts no-run
 * import { Agent } from '@earendil-works/pi-agent-core'
 * import { builtinModels } from '@earendil-works/pi-ai/providers/all'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { pi } from '@skillstoke/adapters/pi'
 *
 * const models = builtinModels()
 * const model = models.getModel('openai', 'gpt-6-mini')
 * const options = { initialState: { ...(model && { model }) }, streamFn: models.streamSimple.bind(models) }
 * const [agent, helper] = [new Agent(options), new Agent(options)]
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using live = pi(skills, { agent, id: 'chat-1' })
 * using child = live.child({ agent: helper, id: 'chat-1/helper', scope: { include: ['support-*'] } })
 * await helper.prompt('Use the skill "support-pdf".')
 * console.log(child.session.ledger.find('support-pdf')?.name)
 * ```
 */
export class PiChat extends LiveChat {
  /** The skill tools, which the agent has. If you assign other tools to the agent later, add these again. */
  readonly tools: readonly PiSkillTool[]
  readonly #history: TrackedHistory
  readonly #rebase: RebaseOptions | undefined
  readonly #detach: () => void

  /** Use `pi()` or `child()`. */
  constructor(session: SkillSession, { agent, rebase, resume }: PiSettings) {
    super(session)
    const history = new TrackedHistory(session, rebase, resume)
    const tools = noteAnswers(session, (entries, callId) => history.add({ callId, entries }))
    this.tools = tools.map(toPiTool)
    this.#history = history
    this.#rebase = rebase
    this.#detach = attach(agent, history, this.tools)
  }

  /** Opens the conversation of a subagent. The subagent sees the skills that both scopes include. */
  child({ agent, rebase = this.#rebase, resume, ...options }: PiChildOptions): PiChat {
    assertAgent(agent)
    const session = this.session.child({ ...options, ...defined({ resume: resume?.session }) })
    return open(session, { agent, ...defined({ rebase, resume }) })
  }

  /** Returns the state to store with the messages, as a JSON value. */
  state(): PiState {
    return this.#history.state()
  }

  /** Ends the conversation in this process, and removes the tools and the hooks from the agent. Idempotent. */
  override close(): void {
    super.close()
    this.#detach()
  }
}

/**
 * Keeps the skills of an agent of pi live. The catalog is in the system prompt, the skill tools are among the tools of
 * the agent, and changes reach the model before its next call. The messages of the agent contain no notices.
 * @throws {SkillError} CLOSED, INVALID_OPTION; DUPLICATE_SESSION when an open session has the same id
 *
 * @example
 * ```ts no-run
 * import { Agent } from '@earendil-works/pi-agent-core'
 * import { builtinModels } from '@earendil-works/pi-ai/providers/all'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { pi } from '@skillstoke/adapters/pi'
 *
 * const models = builtinModels()
 * const model = models.getModel('openai', 'gpt-6-mini')
 * const initialState = { systemPrompt: 'You help.', ...(model && { model }) }
 * const agent = new Agent({ initialState, streamFn: models.streamSimple.bind(models) })
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using live = pi(skills, { agent, id: 'chat-1' })
 * await agent.prompt('Use the skill "support-pdf".')
 * const stored = JSON.stringify({ messages: agent.state.messages, skills: live.state() })
 * console.log(stored.length)
 * ```
 */
export function pi(skills: SkillRuntime, { agent, rebase, resume, ...options }: PiOptions): PiChat {
  assertAgent(agent)
  const session = skills.session({ ...options, ...defined({ resume: resume?.session }) })
  return open(session, { agent, ...defined({ rebase, resume }) })
}

/** Closes the session if the agent cannot have it, so that its id is free again. */
function open(session: SkillSession, settings: PiSettings): PiChat {
  try {
    return new PiChat(session, settings)
  } catch (error) {
    session.close()
    throw error
  }
}
