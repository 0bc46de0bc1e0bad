// `@skillstoke/adapters/mastra`: live skills in agents of `@mastra/core`.

import {
  type DeliveryMode,
  type RebaseOptions,
  type SessionOptions,
  SkillError,
  type SkillRuntime,
  type SkillScope,
  type SkillSession,
} from '@skillstoke/core'
import { checkOptions, defined, oneOf, quote } from '@skillstoke/core/internal'
import { withCacheBreakpoint } from './ai-sdk/cache-breakpoint.ts'
import { type AiHostTool, withGate } from './ai-sdk/tools.ts'
import { intersectScopes } from './live-conversation.ts'
import { MastraRun } from './mastra/run.ts'
import type { MastraMemory, MastraProcessor, MastraStep, MastraStepResult } from './mastra/sdk.ts'
import { MastraSessions, nextSessionId, readMemory, recall, SESSION_KEY } from './mastra/sessions.ts'
import { findForeign, unescapeSignals } from './mastra/signals.ts'
import { putMark, readThread, removeMarks } from './mastra/thread.ts'
import { type MastraTool, toMastraTool } from './mastra/tools.ts'
import { assertNoClash } from './skill-tools.ts'

type Delivery = Exclude<DeliveryMode, 'pinned'>

const DELIVERIES: readonly Delivery[] = ['append', 'rebuild', 'silent']

export interface MastraOptions extends Omit<SessionOptions, 'id' | 'resume' | 'delivery'> {
  /**
   * How changes reach a conversation. `pinned` is not available, because each run of an agent opens the session anew.
   * @default 'append'
   */
  readonly delivery?: Delivery
  /** How many tokens of loaded skills come back after a compaction. @default { maxTokens: 8_000 } */
  readonly rebase?: RebaseOptions
}

/** The options of a subagent. */
interface MastraChildOptions {
  /** The subagent sees the skills that this scope and the scope of its parent include. @default the parent's scope */
  readonly scope?: SkillScope
}

/**
 * The skills of one agent, or of several agents with the same scope. One object serves all threads. The state of each
 * conversation is in the metadata of the thread's messages.
 *
 * @example
 * ```ts no-run
 * import { Agent } from '@mastra/core/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { mastra } from '@skillstoke/adapters/mastra'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const { tools, processor } = mastra(skills).child({ scope: { include: ['support-*'] } })
 * const parts = { id: 'support', name: 'support', description: 'Answers customers.', instructions: 'You help.' }
 * const model = 'openai/gpt-5.6-sol'
 * export const support = new Agent({ ...parts, model, tools: { ...tools }, inputProcessors: [processor] })
 * ```
 */
export class MastraSkills {
  /** For the `tools` of the agent. The tools never change. */
  readonly tools: Readonly<Record<string, MastraTool>>
  /** For the `inputProcessors` of the agent, after all processors that remove messages. */
  readonly processor: MastraProcessor
  readonly #skills: SkillRuntime
  readonly #options: MastraOptions
  readonly #sessions: MastraSessions
  /** The runs, by the objects that Mastra creates for each run. */
  readonly #runs = new WeakMap<object, MastraRun>()

  /** Use `mastra()` or `child()`. */
  constructor(skills: SkillRuntime, options: MastraOptions, isChild = false) {
    const { rebase: _, ...sessionOptions } = options
    checkOptions('mastra()', { delivery: options.delivery }, { delivery: oneOf(DELIVERIES) })
    this.#skills = skills
    this.#options = options
    this.#sessions = new MastraSessions(skills, sessionOptions, isChild)
    // The definitions are the same in all sessions. Opening a session also checks the options.
    const sample = skills.session({ ...sessionOptions, id: nextSessionId() })
    sample.close()
    this.tools = Object.fromEntries(sample.tools.map(tool => [tool.name, toMastraTool(tool, this.#sessions)]))
    this.processor = {
      id: 'skillstoke',
      processInputStep: async step => await this.#prepare(step),
      processLLMRequest: ({ prompt: escaped, messageList, state }) => {
        const prompt = unescapeSignals(escaped)
        if (messageList !== undefined) this.#runs.get(state)?.check(prompt, messageList.get.all.db())
        return { prompt: prompt as never[] }
      },
    }
  }

  /**
   * Returns the tools and the processor of a subagent. The subagent sees the skills that both scopes include. If
   * another agent calls the subagent, the skills of both agents restrict its tools.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   */
  child({ scope }: MastraChildOptions = {}): MastraSkills {
    const narrow = defined({ scope: intersectScopes(this.#options.scope, scope) })
    return new MastraSkills(this.#skills, { ...this.#options, ...narrow }, true)
  }

  /**
   * Replaces all stored messages of a thread by a summary. The next request has a new catalog, and the loaded skills at
   * their newest revisions. Call `compact()` between two runs of the thread.
   */
  async compact(memory: MastraMemory, threadId: string, summary: string): Promise<void> {
    const messages = await recall(memory, threadId)
    const last = messages.at(-1)
    if (last === undefined) return
    const { loaded } = readThread(messages, this.#sessions.placeOf(threadId))
    const content = { format: 2, parts: [{ type: 'text', text: summary }] }
    const replacement = { ...last, role: 'user', type: 'text', content }
    putMark(replacement, { scope: this.#sessions.scope, entries: [...loaded.values()], isCut: true })
    await memory.saveMessages({ messages: [replacement] })
    await memory.deleteMessages(messages.slice(0, -1).map(({ id }) => id))
  }

  async #prepare(step: MastraStep): Promise<MastraStepResult> {
    const { messageList, requestContext, sendSignal, state, tools, providerOptions } = step
    if (sendSignal === undefined)
      throw new SkillError('INVALID_OPTION', 'the agent cannot send signals; use @mastra/core 1.39 or later')
    const run = this.#runs.get(state) ?? (await this.#open(step))
    this.#runs.set(state, run)
    const { session } = run
    requestContext?.set(SESSION_KEY, session.id)
    const systemMessages = hideParent(step, session.parent)
    await run.prepare(messageList, sendSignal)
    run.commands ??= session.commandTools().map(tool => toMastraTool(tool, this.#sessions))
    const added = run.commands.filter(({ id }) => tools?.[id] === undefined)
    const commands = Object.fromEntries(added.map(tool => [tool.id, tool]))
    return {
      ...(tools && { tools: { ...this.#withGate(tools, session), ...commands } }),
      ...defined({ systemMessages }),
      providerOptions: withCacheBreakpoint(providerOptions) as never,
    }
  }

  async #open({ messageList, requestContext }: MastraStep): Promise<MastraRun> {
    removeMarks(messageList.get.input.db())
    const { threadId, memory } = readMemory(requestContext)
    const place = this.#sessions.placeOf(threadId)
    const view = await this.#sessions.read(messageList.get.all.db(), place, memory)
    const thread = this.#sessions.open(place, view, this.#sessions.findParent(requestContext))
    return new MastraRun({ thread, place, view, rebase: this.#options.rebase })
  }

  /** Wraps the host's tools, so that the session can refuse their calls. */
  #withGate(tools: Record<string, unknown>, session: SkillSession): Record<string, unknown> {
    for (const [name, { description }] of Object.entries(this.tools)) {
      const found = tools[name]
      if (found === undefined)
        throw new SkillError(
          'INVALID_OPTION',
          `the agent lacks the skill tool ${quote(name)}; add the tools of the skills to "tools"`,
        )
      if ((found as HostTool).description !== description) assertNoClash(session, [name])
    }
    const skillTools = Object.keys(this.tools).map(name => [name, tools[name]])
    return { ...withGate(tools as Record<string, HostTool>, session), ...Object.fromEntries(skillTools) }
  }
}

/**
 * Gives agents of Mastra live skills. The catalog is a system message after the instructions of the agent. Changes
 * reach the model before its next call, as signals in the thread. A message of the user that begins with `/` and the
 * name of a skill invokes this skill.
 * @throws {SkillError} CLOSED, INVALID_OPTION
 *
 * @example
 * ```ts no-run
 * import { Agent } from '@mastra/core/agent'
 * import { Memory } from '@mastra/memory'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { mastra } from '@skillstoke/adapters/mastra'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const { tools, processor } = mastra(skills)
 * const model = 'openai/gpt-5.6-sol'
 * const parts = { id: 'helper', name: 'helper', instructions: 'You help.', model, memory: new Memory() }
 * const agent = new Agent({ ...parts, tools: { ...tools }, inputProcessors: [processor] })
 * await agent.generate('Use the skill "support-pdf".', { memory: { thread: 'chat-1', resource: 'user-1' } })
 * ```
 */
export function mastra(skills: SkillRuntime, options: MastraOptions = {}): MastraSkills {
  return new MastraSkills(skills, options)
}

interface HostTool extends AiHostTool {
  readonly description?: unknown
}

/** Removes what Mastra forwards to a subagent of the skills of its parent. */
function hideParent(
  { messageList, systemMessages }: MastraStep,
  parent: SkillSession | undefined,
): never[] | undefined {
  if (parent === undefined) return undefined
  messageList.removeByIds(findForeign(messageList.get.all.db()))
  return systemMessages.filter(({ content }) => content !== parent.catalog) as never[]
}
