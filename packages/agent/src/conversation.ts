/// <reference lib="esnext.disposable" preserve="true" />

import { randomUUID } from 'node:crypto'
import { type AiSdkChat, aiSdk, toAiTools } from '@skillstoke/adapters/ai-sdk'
import {
  createAuthorTools,
  createScopeTest,
  type SessionOffer,
  type SessionState,
  SkillError,
  type SkillSession,
  type ToolDefinition,
} from '@skillstoke/core'
import {
  checkOptions,
  defined,
  type KnownOptions,
  quote,
  showValue,
  untilAborted,
} from '@skillstoke/core/internal'
import type { ModelMessage, ToolModelMessage, ToolResultPart, ToolSet } from 'ai'
import type { AgentEvent, TurnResult } from './agent-event.ts'
import { Attempt } from './attempt.ts'
import {
  type CompactOptions,
  estimateTokens,
  findMissingTexts,
  findOpenMessages,
  findOpenQuestion,
  STOPPED,
  toCompacted,
  toQuestion,
} from './compaction.ts'
import {
  ConversationConflictError,
  type ConversationMessage,
  type ConversationStore,
  omitTakenBack,
  type SkillUse,
  type StoredMessage,
} from './conversation-store.ts'
import { callModel, type ModelAnswer, type ModelCall } from './model-call.ts'
import { NO_MODEL } from './no-model.ts'
import {
  findPendingCalls,
  type PendingCall,
  refuseOpenCalls,
  toAnswerMessage,
  toDeclinedMessage,
  toFinishedPart,
} from './pending-calls.ts'
import { PrefixMeter, type PrefixReading } from './prefix-meter.ts'
import type { SkillAgentOptions } from './skill-agent.ts'
import { summarize } from './summarize.ts'
import { addUsage, NO_USAGE, type TokenUsage } from './token-usage.ts'
import { findTurn, splitTurns, toText, traceTurn } from './trace-turn.ts'
import { ConversationClaim } from './turn-claim.ts'
import { checkInput, type TurnInput, type TurnOptions, toStorable } from './turn-input.ts'

const DEFAULT_MAX_STEPS = 20
/** Default tenant, for a host that has only one user. */
export const DEFAULT_TENANT = 'local'
const DEFAULT_INSTRUCTIONS = 'You are a helpful assistant.'

const KNOWN: KnownOptions<TurnOptions> = { signal: true }
const KNOWN_COMPACT: KnownOptions<CompactOptions> = { signal: true, summarize: true, maxTokens: true }

/** Objects and settings that an agent passes to each of its conversations. */
export interface ConversationParts {
  readonly options: SkillAgentOptions
  readonly store: ConversationStore
  readonly tenant: string
  /** Opens another conversation in this agent. */
  readonly open: (id: string) => Promise<Conversation>
  /** Called when the conversation is closed in this agent. */
  readonly onEnd: (conversation: Conversation) => void
}

/** The stored messages and the stored session state of a conversation. */
export interface StoredConversation {
  readonly messages: readonly StoredMessage[]
  readonly state?: SessionState
}

/** All tools, and the provider options of the host with a cache breakpoint. */
interface OwnCall extends Pick<ModelCall, 'tools'>, Pick<ModelCall['settings'], 'providerOptions'> {
  readonly definitions: readonly ToolDefinition[]
}

/**
 * One conversation, which has a system text and an append-only list of messages. The system text stays constant unless
 * `delivery` is `rebuild`.
 *
 * @example
 * ```ts
 * import { createOfflineModel, SkillAgent } from '@skillstoke/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const agent = new SkillAgent({ skills, model: createOfflineModel() })
 * using chat = agent.conversation('chat-1')
 * await chat.send('Use the skill "support-pdf".')
 * console.log(chat.messages[0]?.role, chat.system.includes('support-pdf')) // prints user true
 * ```
 */
export class Conversation implements Disposable {
  readonly id: string
  #chat: AiSdkChat<ModelMessage>
  readonly #parts: ConversationParts
  readonly #options: SkillAgentOptions
  readonly #claim: ConversationClaim
  #call: OwnCall = { definitions: [], tools: {} }
  readonly #meter = new PrefixMeter()
  #messages: ModelMessage[] = []
  /** The message of the user that has no complete answer yet, as the user wrote it. */
  #question: ModelMessage | undefined
  /** The results of approved calls that have run, but are not stored yet. */
  readonly #finished = new Map<string, ToolResultPart>()
  /** The system text that was stored last, and what identifies the session state that was stored last. */
  #stored: { readonly system?: unknown; readonly state?: string } = {}
  #seq = 0
  /** Whether the store was asked for an earlier part of this conversation. */
  #isLoaded: boolean
  /** The reading of an earlier part that is going on. */
  #loading: Promise<void> | undefined
  /** Tokens of the last request and its answer. */
  #lastTokens = 0
  #running = 0
  /** Aborts the turns that `abandon()` does not wait for. */
  readonly #abandoned = new AbortController()
  #turn: Promise<void> = Promise.resolve()

  /** Created by `SkillAgent.conversation` and `SkillAgent.open`. */
  constructor(id: string, parts: ConversationParts, stored?: StoredConversation) {
    const { options, store, tenant } = parts
    this.id = id
    this.#parts = parts
    this.#options = options
    this.#claim = new ConversationClaim(store, tenant, id)
    this.#isLoaded = stored !== undefined
    this.#chat = this.#openChat(stored)
    this.#restore(stored?.messages ?? [])
  }

  /**
   * Returns how the answer of a stored turn came about: the notices, and for each model call the revisions that the
   * model had.
   * @param turn counted from 1. The default is the last turn
   * @throws {SkillError} INVALID_OPTION when the conversation has no such turn
   *
   * @example
   * ```ts
   * import { Conversation, createOfflineModel, MemoryConversationStore, SkillAgent } from '@skillstoke/agent'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const store = new MemoryConversationStore()
   * const agent = new SkillAgent({ skills, store, model: createOfflineModel() })
   * await agent.conversation('chat-1').send('Use the skill "support-pdf".')
   * const { steps } = await Conversation.trace(store, 'local', 'chat-1')
   * console.log(steps.map(({ kind }) => kind)) // prints [ 'model-call', 'skill-use', 'model-call' ]
   * ```
   */
  static readonly trace: typeof traceTurn = traceTurn

  /** The record of what the conversation was told about skills. */
  get session(): SkillSession {
    return this.#chat.session
  }

  /** True while a turn runs or waits for its start. */
  get isBusy(): boolean {
    return this.#running > 0
  }

  /** The system text of the next request. This text stays constant unless `delivery` is `rebuild`. */
  get system(): string {
    return this.#chat.instructions
  }

  /** The messages of the next request, without the system text. After a compaction, begins with the summary. */
  get messages(): readonly ModelMessage[] {
    return this.#messages
  }

  /**
   * The tool calls that wait for an approval, or for a result from the host. Pass the answers to `send()`. If you send
   * a new message instead, these calls are declined.
   */
  get pending(): readonly PendingCall[] {
    return findPendingCalls(this.#messages, name => this.#call.tools[name]?.execute !== undefined)
  }

  /**
   * Compares the next request to the model with the last request. Reports whether the next request starts with the
   * whole last request. Tools of the host are not compared, because an agent never changes them.
   */
  comparePrefix(): PrefixReading {
    return this.#meter.compare([this.system, this.#call.definitions], this.#messages)
  }

  /**
   * Sends a message and waits for the whole answer. Turns of one conversation run one after the other.
   * @throws {SkillError} CLOSED; INVALID_OPTION, for example if a call in `pending` has no answer
   * @throws ConversationBusyError when another process answers in this conversation
   * @throws `signal.reason` when the signal aborts
   */
  async send(input: TurnInput, options: TurnOptions = {}): Promise<TurnResult> {
    checkOptions('send()', options, KNOWN)
    for await (const event of this.stream(input, options)) {
      if (event.kind !== 'finish') continue
      const { kind: _, ...result } = event
      return result
    }
    throw new Error('the turn ended without a result')
  }

  /**
   * Sends a message and yields events until the answer is complete. @throws {SkillError} as `send`
   *
   * @example
   * ```ts
   * import { createOfflineModel, SkillAgent } from '@skillstoke/agent'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const agent = new SkillAgent({ skills, model: createOfflineModel() })
   * for await (const event of agent.conversation('chat-1').stream('Use the skill "support-pdf".')) {
   *   if (event.kind === 'tool-call') console.log(event.name, event.input) // prints skill { name: 'support-pdf' }
   *   if (event.kind === 'finish') console.log(event.steps) // prints 2
   * }
   * ```
   */
  async *stream(input: TurnInput, options: TurnOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    checkOptions('stream()', options, KNOWN)
    checkInput(input)
    yield* this.#inTurn(options.signal, signal => this.#run(input, signal))
  }

  /**
   * Replaces the messages by a summary, and puts the loaded skills back at their newest revisions. A question without an
   * answer stays, with the results of tools that the model has not seen. The store keeps all messages. The next request
   * has a new catalog, so the provider's prompt cache starts over.
   * @throws {SkillError} CLOSED; INVALID_OPTION, for example if calls wait for an answer
   *
   * @example
   * ```ts
   * import { createOfflineModel, SkillAgent } from '@skillstoke/agent'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const chat = new SkillAgent({ skills, model: createOfflineModel() }).conversation('chat-1')
   * await chat.send('Use the skill "support-pdf".')
   * await chat.compact({ summarize: () => 'The user asked for a PDF.' })
   * console.log(chat.messages.length, chat.session.ledger.entries().length) // prints 1 1
   * ```
   */
  async compact(options: CompactOptions = {}): Promise<void> {
    checkOptions('compact()', options, KNOWN_COMPACT)
    for await (const _ of this.#inTurn(options.signal, signal => this.#compact({ ...options, signal })));
  }

  /** Returns the text of the question of each turn. The first turn is turn 1. */
  async questions(): Promise<readonly string[]> {
    const turns = await this.#readTurns()
    return turns.map(([question]) => toText(question.content))
  }

  /**
   * Takes back a turn and all later turns. The conversation continues before that turn, and knows of skills what it knew
   * then. The store keeps all messages. To edit a question, take its turn back and send the new question.
   * @param turn counted from 1. The default is the last turn
   * @throws {SkillError} CLOSED; INVALID_OPTION when the conversation has no such turn
   *
   * @example
   * ```ts
   * import { createOfflineModel, SkillAgent } from '@skillstoke/agent'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const chat = new SkillAgent({ skills, model: createOfflineModel() }).conversation('chat-1')
   * await chat.send('Hello.')
   * await chat.send('Use the skill "support-pdf".')
   * const copy = await chat.branch()
   * await chat.takeBack()
   * console.log(chat.messages.length, copy.messages.length) // prints 2 6
   * ```
   */
  async takeBack(turn?: number): Promise<void> {
    const work = async (): Promise<void> => {
      const [{ seq }] = findTurn(await this.#readTurns(), this.id, turn)
      await this.#goBack(seq - 1)
    }
    for await (const _ of this.#inTurn(undefined, () => inSilence(work)));
  }

  /**
   * Copies the conversation after its running turns. Returns the copy, which goes its own way.
   * @param id the id of the copy. The default is a random id
   * @throws {SkillError} CLOSED; INVALID_OPTION when the store has a conversation with this id
   * @throws ConversationBusyError when another process answers in this conversation
   */
  async branch(id: string = randomUUID()): Promise<Conversation> {
    const { store, tenant, open } = this.#parts
    const work = async (): Promise<void> => {
      try {
        await store.fork(tenant, this.id, this.#seq, id)
      } catch (cause) {
        if (!(cause instanceof ConversationConflictError)) throw cause
        const fault = `there is already a conversation ${quote(id)}; choose another id`
        throw new SkillError('INVALID_OPTION', fault, { cause })
      }
    }
    for await (const _ of this.#inTurn(undefined, () => inSilence(work)));
    return await open(id)
  }

  /** Reads what the store has of the conversation. A turn that runs reads it by itself. Used by `SkillAgent.open`. */
  async read(): Promise<void> {
    if (!this.isBusy) await this.#load()
  }

  /** Closes the conversation in this agent. `SkillAgent.open` continues the conversation from the store. Idempotent. */
  close(): void {
    this.session.close()
    this.#parts.onEnd(this)
  }

  /** Resolves when no turn runs. Used by `SkillAgent.close`. */
  async whenIdle(): Promise<void> {
    await this.#turn
  }

  /** Closes the conversation, and aborts a turn that still runs. Used by `SkillAgent.close`. */
  async abandon(reason: Error): Promise<void> {
    if (this.isBusy) {
      this.#abandoned.abort(reason)
      await this.#claim.release()
    }
    this.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** Runs `work` after all earlier turns, while this process holds the conversation. */
  async *#inTurn(
    given: AbortSignal | undefined,
    work: (signal: AbortSignal) => AsyncGenerator<AgentEvent, unknown, undefined>,
  ): AsyncGenerator<AgentEvent, void, undefined> {
    const signal = AbortSignal.any([this.#abandoned.signal, ...(given ? [given] : [])])
    const before = this.#turn
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#turn = promise
    this.#running++
    try {
      await untilAborted(signal, before)
      signal.throwIfAborted()
      this.#assertOpen()
      await this.#enter()
      signal.throwIfAborted()
      try {
        yield* work(signal)
      } finally {
        await this.#claim.release()
      }
    } finally {
      this.#running--
      // A turn that was aborted while it waited must not let the next turn start early.
      void before.then(resolve)
    }
  }

  /** Claims the conversation. If another process has continued it since the last turn, reads it from the store again. */
  async #enter(): Promise<void> {
    await this.#load()
    try {
      await this.#claim.take(() => this.#seq)
    } catch (thrown) {
      if (!(thrown instanceof ConversationConflictError)) throw thrown
      this.#isLoaded = false
      await this.#load()
      await this.#takeClaim()
    }
  }

  async *#run(input: TurnInput, signal: AbortSignal): AsyncGenerator<AgentEvent, void, undefined> {
    // Answers and a retry continue the turn of the question, so the skills of that turn stay active.
    if (typeof input === 'string' || Array.isArray(input)) {
      this.session.beginTurn()
      this.#call = this.#createCall(this.#chat)
    }
    await this.#storeSystem()
    yield* this.#accept(input, signal)
    const maxSteps = this.#options.maxSteps ?? DEFAULT_MAX_STEPS
    let usage = NO_USAGE
    for (let step = 1; ; step++) {
      const limit = this.#options.compactAtTokens
      if (limit !== undefined && this.#lastTokens > limit)
        usage = addUsage(usage, yield* this.#compact({ signal }))
      const offer = await this.session.offer()
      if (offer !== undefined) {
        // Appends the notice as a new message, so that all earlier messages stay unchanged.
        await this.#append([{ role: 'user', content: offer.text }], { offer })
        yield { kind: 'skills-updated', update: offer }
      }
      await this.#storeSystem()
      // Another process may have taken over, if this process was suspended. Stop before paying for a call.
      await this.#takeClaim()
      const prefix = this.#meter.measure([this.system, this.#call.definitions], this.#messages)
      yield { kind: 'model-call', step, prefix }
      const { text, finishReason, ...answer } = yield* this.#callModel(signal)
      usage = addUsage(usage, answer.usage)
      this.#lastTokens = answer.usage.inputTokens + answer.usage.outputTokens
      yield { kind: 'model-answer', step, finishReason, usage: answer.usage }
      const { pending } = this
      // Some servers report "stop" for an answer with tool calls.
      const hasResults = finishReason === 'tool-calls' || this.#messages.at(-1)?.role === 'tool'
      const wantsTools = hasResults && pending.length === 0
      if (wantsTools && step < maxSteps) continue
      if (!wantsTools && pending.length === 0) this.#question = undefined
      yield { kind: 'finish', text, steps: step, hasReachedLimit: wantsTools, finishReason, usage, pending }
      return
    }
  }

  /** Appends what starts the turn. */
  async *#accept(input: TurnInput, signal: AbortSignal): AsyncGenerator<AgentEvent, void, undefined> {
    const { pending } = this
    const finished = this.#finished
    if (typeof input === 'object' && 'retry' in input) {
      const hasRun = pending.every(({ callId }) => finished.has(callId))
      if (hasRun && pending.length > 0) await this.#append([toDeclinedMessage(pending, finished)])
      if (hasRun && this.#question !== undefined) {
        await this.#dropStopped()
        return
      }
      throw new SkillError('INVALID_OPTION', 'there is no unanswered message to retry; send a message')
    }
    if (typeof input === 'object' && 'again' in input) {
      const [{ seq }] = findTurn(await this.#readTurns(), this.id)
      await this.#goBack(seq)
      return
    }
    if (typeof input === 'object' && 'answers' in input) {
      const answer = toAnswerMessage(pending, input.answers, finished)
      const isAsked = answer.content.some(({ type }) => type === 'tool-approval-response')
      if (isAsked) yield* this.#runApproved(answer, signal)
      else await this.#append([answer])
      return
    }
    if (pending.length > 0) await this.#append([toDeclinedMessage(pending, finished)])
    const question = {
      role: 'user',
      content: typeof input === 'string' ? toQuestion(input) : toStorable(input),
    } as const
    if (typeof input !== 'string') {
      await this.#append([question])
      this.#question = question
      return
    }
    using attempt = new Attempt(this.session)
    const { reservedCommands: reserved } = this.#options
    const { text, skill } = await this.session.expandSlash(toQuestion(input), defined({ reserved }))
    await this.#append([{ role: 'user', content: text }])
    attempt.keep()
    this.#question = question
    if (skill !== undefined) yield { kind: 'skill-invoked', name: skill.name, revision: skill.revision }
  }

  async *#compact({
    signal,
    maxTokens,
    summarize: write,
  }: CompactOptions & { readonly signal: AbortSignal }): AsyncGenerator<AgentEvent, TokenUsage, undefined> {
    const { pending } = this
    if (pending.length > 0) refuseOpenCalls(pending)
    const messages = this.#messages.length
    const kept = findOpenMessages(this.#messages, this.#question)
    if (kept.length >= messages) return NO_USAGE
    const { text, usage } = await this.#summarize(write, signal)
    signal.throwIfAborted()
    using attempt = new Attempt(this.session)
    const { restore } = await this.session.rebase(defined({ maxTokens }))
    const missing = findMissingTexts(restore, kept)
    const compacted = toCompacted(
      text,
      kept,
      missing.map(skill => skill.text),
    )
    const { system } = this
    const rows = [
      { ...this.#toRow('system', system), startsOver: true },
      ...compacted.map(message => this.#toRow(message.role, message.content)),
    ]
    this.#seq = await this.#write(rows, this.session.state())
    attempt.keep()
    this.#stored = { system, state: this.#describeState() }
    this.#messages = [...compacted]
    this.#meter.reset()
    this.#lastTokens = 0
    yield { kind: 'compacted', messages, restored: missing.map(({ name }) => name) }
    return usage
  }

  async #summarize(
    write: CompactOptions['summarize'],
    signal: AbortSignal,
  ): Promise<{ readonly text: string; readonly usage: TokenUsage }> {
    if (write !== undefined) {
      const written = await untilAborted(signal, Promise.resolve(write(this.#messages)))
      return { text: toSummary(written), usage: NO_USAGE }
    }
    const { model, call: settings = {}, maxRetries } = this.#options
    const answer = await summarize({ model, settings, maxRetries, messages: this.#messages, signal })
    return { ...answer, text: toSummary(answer.text) }
  }

  /**
   * Calls the model once, and runs the tools that the model requests. Appends the new messages when the call is
   * complete. If the turn is stopped before, appends the text that the user already saw.
   */
  async *#callModel(signal: AbortSignal): AsyncGenerator<AgentEvent, ModelAnswer, undefined> {
    let shown = ''
    try {
      using attempt = new Attempt(this.session)
      const { model } = this.#options
      const events = callModel(this.#toCall(model, this.#messages, attempt.signal(signal)))
      let next = await events.next()
      for (; next.done !== true; next = await events.next()) {
        if (next.value.kind === 'text') shown += next.value.delta
        yield next.value
      }
      const { messages, uses } = next.value
      await this.#append(
        messages.map(message => this.#explainUnknownTools(message)),
        { uses },
      )
      attempt.keep()
      return next.value
    } catch (thrown) {
      const isStopped = signal.aborted && !this.#abandoned.signal.aborted
      if (isStopped && shown.trim() !== '')
        await this.#append([
          { role: 'assistant', content: shown },
          { role: 'user', content: STOPPED },
        ])
      throw thrown
    }
  }

  /** Runs the approved calls. Appends their results together with the answers of the host. */
  async *#runApproved(
    given: ToolModelMessage,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, void, undefined> {
    using attempt = new Attempt(this.session)
    const call = this.#toCall(NO_MODEL, [...this.#messages, given], attempt.signal(signal))
    // A choice of tools is a demand on the answer of the model, and this model answers nothing.
    const { toolChoice: _, ...settings } = call.settings
    const { messages, uses } = yield* this.#noteFinished(callModel({ ...call, settings }))
    const results = messages.flatMap(message => (message.role === 'tool' ? message.content : []))
    await this.#append([{ ...given, content: [...given.content, ...results] }], { uses })
    attempt.keep()
  }

  /** Records the results of the calls that have run, so that a failure before they are stored does not repeat a call. */
  async *#noteFinished<T>(
    events: AsyncGenerator<AgentEvent, T, undefined>,
  ): AsyncGenerator<AgentEvent, T, undefined> {
    for (;;) {
      const next = await events.next()
      if (next.done === true) return next.value
      const event = next.value
      if (event.kind === 'tool-result') this.#finished.set(event.callId, toFinishedPart(event, event.output))
      yield event
    }
  }

  #toCall(model: ModelCall['model'], messages: readonly ModelMessage[], signal: AbortSignal): ModelCall {
    const { call: settings = {}, maxRetries } = this.#options
    const { tools, providerOptions } = this.#call
    const all = { ...settings, ...defined({ providerOptions }) }
    return { model, maxRetries, settings: all, system: this.system, messages, tools, signal }
  }

  /** Continues the stored conversation with this id, if the host did not open it but the store contains it. */
  async #load(): Promise<void> {
    if (this.#isLoaded) return
    this.#loading ??= this.#readStored().finally(() => {
      this.#loading = undefined
    })
    await this.#loading
  }

  async #readStored(): Promise<void> {
    const { store, tenant } = this.#parts
    const stored = await readStored(store, tenant, this.id)
    this.#assertOpen()
    this.#isLoaded = true
    if (stored.messages.length === 0) return
    this.#chat.close()
    this.#chat = this.#openChat(stored)
    this.#restore(stored.messages)
  }

  /** Takes a stopped answer at the end of the conversation back. */
  async #dropStopped(): Promise<void> {
    if (this.#messages.at(-1)?.content !== STOPPED) return
    const rows = (await this.#readTurns()).at(-1) ?? []
    const mark = rows.findLast(({ content }) => content === STOPPED)
    // The mark was stored together with the text before it.
    if (mark !== undefined) await this.#goBack(mark.seq - 2)
  }

  async #readTurns(): Promise<ReturnType<typeof splitTurns>> {
    const { store, tenant } = this.#parts
    return splitTurns(await store.read(tenant, this.id))
  }

  /** Continues after the message at this position, with the session state that was stored there. */
  async #goBack(backTo: number): Promise<void> {
    const { store, tenant } = this.#parts
    const state = await store.readSession(tenant, this.id, backTo)
    this.#assertOpen()
    // If the write fails, the next turn reads the conversation from the store again.
    this.#isLoaded = false
    this.#chat.close()
    this.#chat = this.#openChat({ messages: [], ...defined({ state }) })
    this.#seq = await this.#write([{ ...this.#toRow('system', this.system), backTo }], this.session.state())
    this.#finished.clear()
    await this.#load()
    const { state: _, ...rest } = this.#stored
    // The stored state is an older one, so the next answer stores its own in any case.
    this.#stored = rest
  }

  #openChat(stored: StoredConversation | undefined): AiSdkChat<ModelMessage> {
    const { skills, scope, delivery, applyAt, allowedTools, commandTools, instructions } = this.#options
    const resume = stored?.state && { messages: [], session: stored.state }
    const chat = aiSdk<ModelMessage>(skills, {
      id: toSessionId(this.id, this.#parts.tenant),
      instructions: instructions ?? DEFAULT_INSTRUCTIONS,
      ...defined({ scope, delivery, applyAt, allowedTools, commandTools, resume }),
    })
    this.#call = this.#createCall(chat)
    return chat
  }

  /** The tools change only at the start of a turn, and only with the option `commandTools`. */
  #createCall(chat: AiSdkChat<ModelMessage>): OwnCall {
    const { scope, writer, tools, call } = this.#options
    const { session } = chat
    const { conversation } = session
    const author =
      writer === undefined
        ? []
        : createAuthorTools(writer, { isInScope: createScopeTest(scope), author: { conversation } })
    const added = [...author, ...session.commandTools()]
    const own: ToolSet = { ...tools, ...toAiTools(added) }
    const options = defined({ providerOptions: call?.providerOptions })
    return { ...chat.call({ tools: own, ...options }), definitions: [...session.tools, ...added] }
  }

  /**
   * Restores the stored messages since the last compaction. Also restores the last request, because `comparePrefix()`
   * compares the next request with the last request.
   */
  #restore(stored: readonly StoredMessage[]): void {
    this.#messages = []
    this.#meter.reset()
    this.#lastTokens = 0
    for (const { role, content, seq, startsOver } of omitTakenBack(stored)) {
      this.#seq = seq
      if (startsOver === true) this.#messages = []
      if (role === 'system') this.#stored = { ...this.#stored, system: content }
      else this.#messages.push({ role, content } as ModelMessage)
    }
    this.#question = findOpenQuestion(this.#messages, this.pending.length > 0)
    const sent = this.#messages.findLastIndex(({ role }) => role === 'assistant')
    if (sent === -1) return
    this.#lastTokens = estimateTokens(this.system, this.#messages)
    if (this.#stored.system === undefined || this.session.delivery === 'rebuild') return
    this.#meter.measure([this.#stored.system, this.#call.definitions], this.#messages.slice(0, sent))
  }

  /**
   * Stores the system text if it differs from the last stored system text. When `delivery` is `rebuild`, stores only
   * the first system text.
   */
  async #storeSystem(): Promise<void> {
    const { system } = this
    if (system === this.#stored.system || (this.session.delivery === 'rebuild' && this.#seq > 0)) return
    this.#seq = await this.#write([this.#toRow('system', system)])
    this.#stored = { ...this.#stored, system }
  }

  /** Stores both the messages and the resulting session state, or neither. */
  async #append(
    messages: readonly ModelMessage[],
    { offer, uses = [] }: { readonly offer?: SessionOffer; readonly uses?: readonly SkillUse[] } = {},
  ): Promise<void> {
    const rows = messages.map(message => {
      const own = uses.filter(({ callId }) => hasResult(message, callId))
      const row = this.#toRow(message.role, message.content, offer)
      return own.length === 0 ? row : { ...row, uses: own }
    })
    const isStored = this.#stored.state === this.#describeState()
    const news = offer?.state() ?? (isStored ? undefined : this.session.state())
    this.#seq = await this.#write(rows, news)
    offer?.commit()
    this.#finished.clear()
    this.#stored = { ...this.#stored, state: this.#describeState() }
    this.#messages.push(...messages)
  }

  #describeState(): string {
    const { generation, ledger, catalog, active } = this.session
    const names = active.map(({ name }) => name)
    return JSON.stringify([generation.digest, ledger.entries(), ledger.allSeen(), catalog, names])
  }

  async #write(rows: readonly ConversationMessage[], session?: SessionState): Promise<number> {
    const { store, tenant } = this.#parts
    const { holder } = this.#claim
    const options = session === undefined ? { holder } : { holder, session }
    return await this.#orClose(() => store.append(tenant, this.id, this.#seq, rows, options))
  }

  async #takeClaim(): Promise<void> {
    await this.#orClose(() => this.#claim.take(() => this.#seq))
  }

  /** Closes the conversation after a conflict, so that `open()` reads the conversation from the store again. */
  async #orClose<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (thrown) {
      if (thrown instanceof ConversationConflictError) this.close()
      throw thrown
    }
  }

  /** @throws {SkillError} CLOSED, also if another agent has taken over the conversation */
  #assertOpen(): void {
    if (!this.session.isClosed) return
    const shown = quote(this.id)
    throw new SkillError('CLOSED', `the conversation ${shown} is closed; open it again with SkillAgent.open`)
  }

  /**
   * Explains how to load a skill if the model called a tool with the name of that skill. The explanation replaces the
   * error.
   */
  #explainUnknownTools(message: ModelMessage): ModelMessage {
    if (message.role !== 'tool') return message
    const names = Object.keys(this.#call.tools)
    const content = message.content.map(part => {
      if (part.type !== 'tool-result' || names.includes(part.toolName)) return part
      const value = this.session.describeUnknownTool(part.toolName, names)
      return { ...part, output: { type: 'error-text' as const, value } }
    })
    return { ...message, content }
  }

  #toRow(role: ConversationMessage['role'], content: unknown, offer?: SessionOffer): ConversationMessage {
    const { number, digest } = this.session.generation
    const skills =
      offer === undefined
        ? { generation: number, digest }
        : { generation: offer.generation, digest: offer.digest }
    return { id: randomUUID(), role, content, at: Date.now(), skills }
  }
}

/** Runs work that yields no events. */
async function* inSilence(work: () => Promise<void>): AsyncGenerator<never, void, undefined> {
  await work()
  yield* []
}

/** Reads a conversation from the store. */
export async function readStored(
  store: ConversationStore,
  tenant: string,
  id: string,
): Promise<StoredConversation> {
  const messages = await store.read(tenant, id)
  const state = await store.readSession(tenant, id)
  return { messages, ...defined({ state }) }
}

/** @throws {SkillError} INVALID_OPTION if a summary is no text, because it would replace the whole conversation */
function toSummary(text: unknown): string {
  if (typeof text === 'string' && text.trim() !== '') return text
  throw new SkillError('INVALID_OPTION', `the summary is ${showValue(text)}; it must be a text`)
}

function hasResult(message: ModelMessage, callId: string): boolean {
  return (
    message.role === 'tool' &&
    message.content.some(part => part.type === 'tool-result' && part.toolCallId === callId)
  )
}

/**
 * Returns a session id that is unique even if two tenants use the same conversation id. An encoded tenant contains no
 * `@`, so the last `@` always separates the conversation id from the tenant.
 */
function toSessionId(id: string, tenant: string): string {
  return tenant === DEFAULT_TENANT && !id.includes('@') ? id : `${id}@${encodeURIComponent(tenant)}`
}
