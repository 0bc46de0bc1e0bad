/// <reference lib="esnext.disposable" preserve="true" />

// `@skillstoke/adapters/ai-sdk`: live skills in agents of the AI SDK, versions 6 and 7.

import {
  type RebaseOptions,
  type SessionState,
  SkillError,
  type SkillRuntime,
  type ToolDefinition,
} from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { type CacheBreakpoint, withCacheBreakpoint } from './ai-sdk/cache-breakpoint.ts'
import { PageHistory, type PagePart } from './ai-sdk/page-history.ts'
import { type AiHostTool, type AiTool, toAiTools, withGate } from './ai-sdk/tools.ts'
import { type AiMessage, type AiResult, type AiStep, AiTurn, type EndedStep } from './ai-sdk/turn.ts'
import {
  LiveChat,
  type LiveChildOptions,
  LiveConversation,
  type LiveOptions,
  withoutNotices,
} from './live-conversation.ts'
import { assertNoClash, withoutNames } from './skill-tools.ts'
import { noteAnswers } from './told-history.ts'

export { AiSdkAgent } from './ai-sdk/agent.ts'
export { type AiTool, toAiTools } from './ai-sdk/tools.ts'

export interface AiSdkOptions<Message extends AiMessage = AiMessage> extends Omit<LiveOptions, 'resume'> {
  /** The value that `state()` returned when the conversation was stored. @default a new conversation */
  readonly resume?: AiSdkState<Message>
}

/** A stored conversation: its messages, and the state of its session. */
export interface AiSdkState<Message extends AiMessage = AiMessage> {
  readonly messages: readonly Message[]
  readonly session: SessionState
  /** What the messages of a page told the model since `session`; absent if `ui()` was never called. */
  readonly parts?: readonly PagePart[]
}

type HostTools = Readonly<Record<string, AiHostTool>>
type Hook = (argument: never) => unknown
type ProviderOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** Your own settings of a turn, which the adapter merges with its own settings. */
interface AiTurnSettings<Tools extends HostTools = HostTools> {
  /** Your tools. Their names must differ from the names of the skill tools. @default none */
  readonly tools?: Tools
  /** Your own `prepareStep`. It receives the messages with all earlier notices. @default none */
  readonly prepareStep?: Hook
  /** Your own `onStepEnd`. Version 6 of the AI SDK calls it as `onStepFinish`. @default none */
  readonly onStepEnd?: Hook
  /** Your provider options. @default only a cache breakpoint for Anthropic models */
  readonly providerOptions?: ProviderOptions
}

/** The arguments of one model call, without messages. */
interface AiCall<Tools extends HostTools> {
  readonly instructions: string
  /** The instructions for version 6 of the AI SDK. */
  readonly system: string
  /** Your tools, and those of the skills, which the type leaves out so that your own keep their types. */
  readonly tools: Tools
  readonly providerOptions: { anthropic: CacheBreakpoint['anthropic'] }
}

/** The arguments of `generateText` and `streamText` that a turn needs. */
interface AiTurnCall<Message extends AiMessage, Tools extends HostTools> extends AiCall<Tools> {
  readonly messages: Message[]
  readonly prepareStep: (step: AiStep<Message>) => Promise<AiPreparedStep<Message>>
  readonly onStepEnd: (step: EndedStep) => Promise<void>
  /** The name of `onStepEnd` in version 6 of the AI SDK. Version 7 calls only `onStepEnd`. */
  readonly onStepFinish: (step: EndedStep) => Promise<void>
}

/** What `prepareStep` returns to the SDK. */
type AiPreparedStep<Message> = { messages: Message[] } & Pick<AiCall<HostTools>, 'instructions' | 'system'>

/** The part of `experimental_createSteering()` of the AI SDK 7 that the adapter uses. */
interface AiSteering {
  steer(message: string): Promise<unknown>
}

/** Your own settings of a turn whose messages a user interface stores. */
interface AiUiSettings<Steering extends AiSteering, Tools extends HostTools = HostTools>
  extends AiTurnSettings<Tools> {
  /** A new `experimental_createSteering()` for this turn. */
  readonly steering: Steering
  /** Your own `onEnd`. @default none */
  readonly onEnd?: Hook
}

/** The arguments of `streamText` for a turn whose messages a user interface stores. */
interface AiUiCall<Message extends AiMessage, Steering extends AiSteering, Tools extends HostTools>
  extends Omit<AiTurnCall<Message, Tools>, 'onStepEnd' | 'onStepFinish' | 'prepareStep' | 'system'> {
  readonly experimental_steering: Steering
  readonly prepareStep: (step: AiStep<Message>) => Promise<undefined>
  readonly onStepEnd: (step: { readonly finishReason: string }) => Promise<void>
  readonly onEnd: (event: object) => Promise<void>
}

/**
 * One conversation of an AI SDK agent with live skills. Changes of skills reach the model before its next call, as
 * messages at the end of the history.
 *
 * @example
 * ```ts
 * import { createOfflineModel } from '@skillstoke/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { aiSdk } from '@skillstoke/adapters/ai-sdk'
 * import { directory } from '@skillstoke/core/node'
 * import { type ModelMessage, stepCountIs, ToolLoopAgent } from 'ai'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using chat = aiSdk<ModelMessage>(skills, { id: 'chat-1' })
 * const agent = new ToolLoopAgent({ model: createOfflineModel(), ...chat.agent(), stopWhen: stepCountIs(20) })
 * await chat.keep(await agent.generate({ prompt: 'Use the skill "support-pdf".' }))
 * const { messages } = chat.state() // store it, and pass it as `resume` later
 * console.log(messages.map(({ role }) => role)) // prints [ 'user', 'assistant', 'tool', 'assistant' ]
 * ```
 */
export class AiSdkChat<Message extends AiMessage = AiMessage> extends LiveChat {
  readonly #live: LiveConversation
  readonly #skillTools: Readonly<Record<string, AiTool>>
  /** The commands of loaded skills, which stay the same within a turn. */
  #commandTools: readonly ToolDefinition[] | undefined
  #messages: readonly Message[]
  /** Present after the first call of `ui()`. */
  #page: PageHistory | undefined
  #turn: AiTurn<Message> | undefined
  /** The turn whose own `prepareStep` runs. */
  #preparing: AiTurn<Message> | undefined

  /** Use `aiSdk()` or `child()`. */
  constructor(live: LiveConversation, { messages = [], parts }: Partial<AiSdkState<Message>> = {}) {
    super(live.session)
    this.#live = live
    this.#messages = messages
    if (parts !== undefined) this.#page = new PageHistory(live.session, parts)
    const tools = noteAnswers(live.session, (entries, evidence) => this.#page?.add({ evidence, entries }))
    this.#skillTools = toAiTools(tools)
  }

  /** The stored history. It contains the turns that were kept, with their notices. */
  get messages(): readonly Message[] {
    return this.#messages
  }

  /** The system text: your instructions, then the catalog of skills. */
  get instructions(): string {
    return this.#live.system
  }

  /**
   * Starts a turn and returns arguments for `generateText` or `streamText`. A text that begins with `/` and the name of
   * a skill invokes this skill. After the turn, call `keep()`. A turn that is not kept leaves no trace. Messages without
   * a message of the user, for example the answer to an approval request, continue the turn that was kept.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   */
  async turn<Tools extends HostTools = Record<never, never>>(
    prompt: string | readonly Message[],
    settings: AiTurnSettings<Tools> = {},
  ): Promise<AiTurnCall<Message, NoInfer<Tools>>> {
    const isNew = typeof prompt === 'string' || prompt.some(({ role }) => role === 'user')
    this.#live.beginTurn(isNew)
    this.#readCommands(isNew)
    const asked = typeof prompt === 'string' ? (await this.session.expandSlash(prompt)).text : prompt
    const messages = [...this.#messages, ...this.#toMessages(asked)]
    const turn = new AiTurn<Message>(messages.length)
    this.#turn = turn
    const onStepEnd = async (step: EndedStep): Promise<void> => {
      turn.end(step)
      await settings.onStepEnd?.(step as never)
    }
    return {
      ...this.call(settings),
      messages,
      onStepEnd,
      onStepFinish: onStepEnd,
      prepareStep: async step => await this.#prepareStep(turn, step, settings.prepareStep),
    }
  }

  /**
   * Returns the arguments of one model call, without messages. For a loop of your own that stores each step itself, as
   * `@skillstoke/agent` does. Your loop then adds the notices of `session.offer()` to its messages.
   * @throws {SkillError} INVALID_OPTION if a tool of yours has the name of a skill tool
   */
  call<Tools extends HostTools = Record<never, never>>({
    tools,
    providerOptions,
  }: Omit<AiTurnSettings<Tools>, 'onStepEnd' | 'prepareStep'> = {}): AiCall<Tools> {
    const { system } = this.#live
    const own: HostTools = tools ?? {}
    assertNoClash(this.session, Object.keys(own))
    return {
      instructions: system,
      system,
      tools: {
        ...withGate(own, this.session),
        ...this.#skillTools,
        ...toAiTools(withoutNames(this.#commandTools, Object.keys(own))),
      } as unknown as Tools,
      providerOptions: withCacheBreakpoint(providerOptions),
    }
  }

  /**
   * Returns settings for a `ToolLoopAgent` that serves only this conversation. Each `generate()` and `stream()` of the
   * agent is a turn. Pass only the new message, as `prompt` or `messages`.
   */
  agent<Tools extends HostTools = Record<never, never>>(
    settings: AiTurnSettings<Tools> & { readonly prepareCall?: Hook } = {},
  ): AiAgentSettings<Message, NoInfer<Tools>> {
    const { prepareCall, ...turn } = settings
    const onStepEnd = async (step: EndedStep): Promise<void> => {
      this.#turn?.end(step)
      await turn.onStepEnd?.(step as never)
    }
    return {
      ...this.call(turn),
      // The agent calls its own hooks, and not those that `prepareCall` returns.
      onStepEnd,
      onStepFinish: onStepEnd,
      prepareCall: async call => {
        const prepared = ((await prepareCall?.(call as never)) ?? call) as typeof call
        const { messages, prompt, ...rest } = prepared
        return { ...rest, ...(await this.turn(prompt ?? messages ?? [], turn)) }
      },
    }
  }

  /**
   * Starts a turn whose messages a user interface stores, for example `useChat`. Notices become parts of the UI
   * messages, so convert these with `convertToModelMessages(messages, { tools })`. The page may stop, repeat and edit
   * turns: each call compares the messages with what the adapter knows. Store `state()` beside the UI messages. Needs
   * version 7 of the AI SDK.
   * @param messages all messages of the conversation, including the new one
   * @throws {SkillError} CLOSED, INVALID_OPTION
   */
  async ui<Steering extends AiSteering, Tools extends HostTools = Record<never, never>>(
    messages: readonly Message[],
    { steering, prepareStep, onStepEnd, onEnd, ...settings }: AiUiSettings<Steering, Tools>,
  ): Promise<AiUiCall<Message, Steering, NoInfer<Tools>>> {
    this.#page ??= new PageHistory(this.session)
    const page = this.#page
    this.#readCommands(page.followPage(messages))
    const steer = async (): Promise<void> => {
      const notice = await page.takePageNotice(messages)
      // The promise resolves when the message reaches the model, so it must not delay the step that delivers it.
      if (notice !== undefined) void steering.steer(notice)
    }
    const { system: _, ...call } = this.call(settings)
    await steer()
    return {
      ...call,
      messages: [...messages],
      // The host's own result passes through to the SDK, which knows its type.
      prepareStep: async step => (await prepareStep?.(step as never)) as undefined,
      experimental_steering: steering,
      onStepEnd: async step => {
        if (step.finishReason === 'tool-calls') await steer()
        await onStepEnd?.(step as never)
      },
      onEnd: async event => void (await onEnd?.(event as never)),
    }
  }

  /**
   * Adds a finished turn to the history, with its notices. For a stream, waits until the stream ends. With `partial`,
   * keeps the finished steps of a turn that failed or was stopped, so that their tools do not run again; a turn without
   * a finished step is dropped, and the promise resolves to false. Pass `undefined` if `generateText` or `generate()`
   * rejected.
   * @throws the error of the model call that failed
   * @throws {SkillError} CLOSED when no turn is open, or the result belongs to another turn; IO_FAILED when a later step
   * of a stream was aborted. The turn is then dropped
   */
  async keep(result: AiResult | undefined, options: { readonly partial: true }): Promise<boolean>
  async keep(result: AiResult): Promise<void>
  async keep(result: AiResult | undefined, options?: { readonly partial: true }): Promise<unknown> {
    const turn = this.#turn
    if (turn === undefined)
      throw new SkillError('CLOSED', 'there is no open turn; call turn() before each call of the model')
    const kept =
      options?.partial === true || result === undefined
        ? await turn.finishEarly(result)
        : await turn.finish(result)
    this.#assertOpen(turn)
    this.#turn = undefined
    if (kept === undefined) this.#live.dropTurn()
    else {
      this.#messages = kept.messages
      this.#live.keepTurn(kept.state)
    }
    return options && kept !== undefined
  }

  /**
   * Replaces the history by a summary, and adds the loaded skills at their newest revisions. Notices in the summary are
   * left out, because the next request has a new catalog. In your own `prepareStep`, `compact()` replaces the messages of the running turn. At any other time, it drops
   * a turn that was not kept, for example because the conversation was too long for the model.
   */
  async compact(summary: string | readonly Message[], options?: RebaseOptions): Promise<void> {
    const running = this.#preparing
    if (running === undefined) {
      this.#turn = undefined
      this.#live.dropTurn()
    } else this.#assertOpen(running)
    const restored = await this.#live.rebase(options)
    this.#page?.restart([])
    const messages = [...withoutNotices(this.#toMessages(summary)), ...this.#toMessages(restored)]
    if (running === undefined) this.#messages = messages
    else running.replacement = messages
  }

  /** Returns the conversation to store, as JSON if the messages are JSON. It does not contain an open turn. */
  state(): AiSdkState<Message> {
    const { base, allParts: parts } = this.#page ?? {}
    return { messages: this.#messages, session: base ?? this.#live.state(), ...defined({ parts }) }
  }

  /** Opens the conversation of a subagent. The subagent sees the skills that both scopes include. */
  child(options: LiveChildOptions): AiSdkChat<Message> {
    return new AiSdkChat<Message>(this.#live.child(options))
  }

  /** Reads the commands at the start of a turn. A process that continues a turn reads them, too. */
  #readCommands(isNew: boolean): void {
    if (isNew || this.#commandTools === undefined) this.#commandTools = this.session.commandTools()
  }

  /** Returns messages as they are, and a text as a message of the user. */
  #toMessages(content: string | readonly Message[] = []): readonly Message[] {
    if (typeof content !== 'string') return content
    // Every `ModelMessage` type of the SDK includes this message, but only the host knows the type.
    return [{ role: 'user', content } satisfies AiMessage as unknown as Message]
  }

  async #prepareStep(
    turn: AiTurn<Message>,
    step: AiStep<Message>,
    own: Hook | undefined,
  ): Promise<AiPreparedStep<Message>> {
    this.#assertOpen(turn)
    const read = turn.read(step)
    turn.state = this.session.state()
    // In the host's own function, `compact()` replaces the messages of this turn.
    this.#preparing = turn
    turn.replacement = undefined
    const given = (async () => await own?.({ ...step, messages: [...read] } as never))()
    const wanted = (await given.finally(() => {
      this.#preparing = undefined
    })) as { readonly messages?: readonly Message[] } | undefined
    this.#assertOpen(turn)
    const base = turn.replacement ?? wanted?.messages ?? read
    const messages = [...base, ...this.#toMessages(await this.#live.takeNotice())]
    turn.send(messages)
    turn.state = this.session.state()
    const { system } = this.#live
    return { instructions: system, system, ...wanted, messages }
  }

  /** @throws {SkillError} CLOSED, because two turns at the same time would mix their messages */
  #assertOpen(turn: AiTurn<Message>): void {
    if (this.#turn === turn) return
    throw new SkillError('CLOSED', 'this turn was dropped; keep each turn before you start the next one')
  }
}

/** Settings for `new ToolLoopAgent()`. */
interface AiAgentSettings<Message extends AiMessage, Tools extends HostTools>
  extends Pick<
    AiTurnCall<Message, Tools>,
    'instructions' | 'onStepEnd' | 'onStepFinish' | 'providerOptions' | 'tools'
  > {
  readonly prepareCall: <Call extends AiAgentCall<Message>>(
    call: Call,
  ) => Promise<Omit<Call, 'messages' | 'prompt'> & AiTurnCall<Message, Tools>>
}

/** The part of the arguments of `prepareCall` that the adapter uses. */
interface AiAgentCall<Message extends AiMessage> {
  readonly prompt?: string | readonly Message[] | undefined
  readonly messages?: readonly Message[] | undefined
}

/**
 * Opens a conversation with live skills for the AI SDK. Pass the SDK's message type as type argument.
 * @throws {SkillError} CLOSED, INVALID_OPTION; DUPLICATE_SESSION when an open session has the same id
 *
 * @example
 * ```ts
 * import { createOfflineModel } from '@skillstoke/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { aiSdk } from '@skillstoke/adapters/ai-sdk'
 * import { directory } from '@skillstoke/core/node'
 * import { generateText, type ModelMessage, stepCountIs } from 'ai'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * using chat = aiSdk<ModelMessage>(skills, { id: 'chat-1', instructions: 'You help.' })
 * const call = await chat.turn('Use the skill "support-pdf".')
 * const result = await generateText({ model: createOfflineModel(), ...call, stopWhen: stepCountIs(20) })
 * await chat.keep(result)
 * console.log(result.text.includes('Instructions of support-pdf.')) // prints true
 * ```
 */
export function aiSdk<Message extends AiMessage = AiMessage>(
  skills: SkillRuntime,
  { resume, ...options }: AiSdkOptions<Message>,
): AiSdkChat<Message> {
  const live = LiveConversation.open(skills, { ...options, ...defined({ resume: resume?.session }) })
  return new AiSdkChat<Message>(live, resume)
}
