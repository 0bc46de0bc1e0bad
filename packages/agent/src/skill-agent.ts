import { randomUUID } from 'node:crypto'
import {
  type AllowedToolsPolicy,
  createAuthorTools,
  createScopeTest,
  type DeliveryMode,
  type Digest,
  type SessionState,
  type SessionUpdate,
  type SkillRuntime,
  type SkillScope,
  type SkillSession,
  type SkillWriter,
  type ToolDefinition,
} from '@skillstoke/core'
import { type ApplyAt, checkOptions, type KnownOptions } from '@skillstoke/core/internal'
import { type LanguageModel, type ModelMessage, stepCountIs, streamText, type ToolSet } from 'ai'
import {
  ConversationConflictError,
  type ConversationMessage,
  type ConversationStore,
  type StoredMessage,
} from './conversation-store.ts'
import { MemoryConversationStore } from './memory-conversation-store.ts'
import { PrefixMeter, type PrefixReading } from './prefix-meter.ts'
import { toAiTools, withGate } from './to-ai-tools.ts'

export interface SkillAgentOptions {
  readonly skills: SkillRuntime
  readonly model: LanguageModel
  /** What the agent is told before the catalog of skills. */
  readonly instructions?: string
  /** Which skills its conversations may see. @default all */
  readonly scope?: SkillScope
  /** Other tools; constant for the life of the agent. */
  readonly tools?: ToolSet
  /** Lets the model write skills with `write_skill_file` and `reload_skills`. @default it may not */
  readonly writer?: SkillWriter
  /** How changes of skills reach conversations. @default 'append' */
  readonly delivery?: DeliveryMode
  /** Whether changes are told before every model call or once a turn. @default 'step' */
  readonly applyAt?: ApplyAt
  /** What `allowed-tools` of loaded skills does to the other tools. @default 'advise' */
  readonly allowedTools?: AllowedToolsPolicy
  /** Slash commands that are the host's own, without the slash. @default none */
  readonly reservedCommands?: readonly string[]
  /** @default a MemoryConversationStore */
  readonly store?: ConversationStore
  /** Whose conversations these are. @default 'local' */
  readonly tenant?: string
  /** Model calls in one turn. @default 20 */
  readonly maxSteps?: number
  /** How often the AI SDK repeats a failed model call. @default 2 */
  readonly maxRetries?: number
}

const KNOWN_OPTIONS: KnownOptions<SkillAgentOptions> = {
  skills: true,
  model: true,
  instructions: true,
  scope: true,
  tools: true,
  writer: true,
  delivery: true,
  applyAt: true,
  allowedTools: true,
  reservedCommands: true,
  store: true,
  tenant: true,
  maxSteps: true,
  maxRetries: true,
}

export const DEFAULT_MAX_STEPS = 20
const DEFAULT_TENANT = 'local'
const DEFAULT_INSTRUCTIONS = 'You are a helpful assistant.'

/** What happens during a turn, as it happens. */
export type AgentEvent =
  /** The message began with `/` and a skill's name: its instructions were put in. */
  | { readonly kind: 'skill-invoked'; readonly name: string; readonly revision: Digest }
  /** The conversation was told of changed skills, right before a model call. */
  | { readonly kind: 'skills-updated'; readonly update: SessionUpdate }
  /** A model is about to be called. */
  | { readonly kind: 'model-call'; readonly step: number; readonly prefix: PrefixReading }
  | { readonly kind: 'text'; readonly delta: string }
  | { readonly kind: 'tool-call'; readonly name: string; readonly input: unknown }
  | { readonly kind: 'tool-result'; readonly name: string; readonly output: unknown }
  /** The turn is over; `hasReachedLimit` when the model still wanted to call tools. */
  | {
      readonly kind: 'finish'
      readonly text: string
      readonly steps: number
      readonly hasReachedLimit: boolean
    }

export interface TurnOptions {
  /** Ends the turn; what was complete by then stays in the conversation. */
  readonly signal?: AbortSignal
}

export interface TurnResult {
  readonly text: string
  readonly steps: number
  readonly hasReachedLimit: boolean
}

/** A multi-turn agent whose running conversations follow the skills before every model call. */
export class SkillAgent {
  readonly #options: SkillAgentOptions
  readonly #store: ConversationStore
  readonly #conversations = new Map<string, Conversation>()

  constructor(options: SkillAgentOptions) {
    checkOptions('SkillAgent', options, KNOWN_OPTIONS)
    this.#options = options
    this.#store = options.store ?? new MemoryConversationStore()
  }

  /** The conversation of an id, begun if there is none. */
  conversation(id: string = randomUUID()): Conversation {
    const known = this.#conversations.get(id)
    if (known !== undefined) return known
    return this.#keep(new Conversation(id, this.#options, this.#store, () => this.#forget(id)))
  }

  /**
   * The conversation of an id as it was stored, which may be long ago and by another process: what was said stays as it
   * was said, the system text is today's, and what changed meanwhile is told before the next model call.
   */
  async open(id: string): Promise<Conversation> {
    const tenant = this.#options.tenant ?? DEFAULT_TENANT
    const known = this.#conversations.get(id)
    if (known !== undefined) return known
    const stored = await this.#store.read(tenant, id)
    const state = await this.#store.readSession(tenant, id)
    const opened = this.#conversations.get(id)
    if (opened !== undefined) return opened
    const before = { messages: stored, ...(state === undefined ? {} : { state }) }
    return this.#keep(new Conversation(id, this.#options, this.#store, () => this.#forget(id), before))
  }

  #keep(conversation: Conversation): Conversation {
    this.#conversations.set(conversation.id, conversation)
    return conversation
  }

  /** Somebody else was faster: `open` reads the conversation again. */
  #forget(id: string): void {
    this.#conversations.delete(id)
  }
}

/** What was stored of a conversation. */
interface StoredConversation {
  readonly messages: readonly StoredMessage[]
  readonly state?: SessionState
}

/** One conversation: an append-only list of messages under a system text that never changes. */
export class Conversation {
  readonly id: string
  readonly session: SkillSession
  readonly #options: SkillAgentOptions
  readonly #store: ConversationStore
  readonly #onConflict: () => void
  readonly #definitions: readonly ToolDefinition[]
  readonly #tools: ToolSet
  readonly #meter = new PrefixMeter()
  readonly #instructions: string
  readonly #messages: ModelMessage[] = []
  /** Updates that the session has given and the store has not taken yet: told at the next chance. */
  readonly #untold: SessionUpdate[] = []
  /** Tells whether the store has the session as it is. */
  #savedState = ''
  #seq = 0
  #turn: Promise<void> = Promise.resolve()

  /** Made by `SkillAgent.conversation` and `SkillAgent.open`. */
  constructor(
    id: string,
    options: SkillAgentOptions,
    store: ConversationStore,
    onConflict: () => void,
    stored?: StoredConversation,
  ) {
    this.id = id
    this.#onConflict = onConflict
    this.#options = options
    this.#store = store
    this.#instructions = options.instructions ?? DEFAULT_INSTRUCTIONS
    const { scope, delivery, applyAt, allowedTools, writer } = options
    this.session = options.skills.session({
      id,
      ...(scope === undefined ? {} : { scope }),
      ...(delivery === undefined ? {} : { delivery }),
      ...(applyAt === undefined ? {} : { applyAt }),
      ...(allowedTools === undefined ? {} : { allowedTools }),
      ...(stored?.state === undefined ? {} : { resume: stored.state }),
    })
    const author =
      writer === undefined
        ? []
        : createAuthorTools(writer, { isInScope: createScopeTest(scope), author: { conversation: id } })
    this.#definitions = [...this.session.tools, ...author]
    const gated = { ...options.tools, ...toAiTools(author) }
    this.#tools = { ...withGate(gated, this.session), ...toAiTools(this.session.tools) }
    for (const { role, content, seq } of stored?.messages ?? []) {
      this.#seq = seq
      if (role !== 'system') this.#messages.push({ role, content } as ModelMessage)
    }
  }

  /** The system text of a request made now: constant, unless the delivery is `rebuild`. */
  get system(): string {
    const { catalog } = this.session
    return catalog === '' ? this.#instructions : `${this.#instructions}\n\n${catalog}`
  }

  /** Everything said so far, without the system text. */
  get messages(): readonly ModelMessage[] {
    return this.#messages
  }

  /** How a model call made now would relate to the last one: whether everything sent before would be sent again as it was. */
  comparePrefix(): PrefixReading {
    return this.#meter.compare([this.system, this.#definitions], this.#messages)
  }

  /** Says something and waits for the whole answer. Turns of one conversation run one after the other. */
  async send(text: string, options: TurnOptions = {}): Promise<TurnResult> {
    for await (const event of this.stream(text, options)) {
      if (event.kind === 'finish')
        return { text: event.text, steps: event.steps, hasReachedLimit: event.hasReachedLimit }
    }
    throw new Error('the turn ended without a result')
  }

  /** Says something and tells what happens until the answer is complete. */
  async *stream(text: string, options: TurnOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    const before = this.#turn
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#turn = promise
    try {
      await before
      options.signal?.throwIfAborted()
      yield* this.#run(text, options.signal)
    } finally {
      resolve()
    }
  }

  async *#run(text: string, signal: AbortSignal | undefined): AsyncGenerator<AgentEvent, void, undefined> {
    this.session.beginTurn()
    if (this.#seq === 0) {
      this.#seq = await this.#write([this.#toRow('system', this.system)])
    }
    const { reservedCommands: reserved } = this.#options
    const said = await this.session.expandSlash(text, reserved === undefined ? {} : { reserved })
    await this.#append([{ role: 'user', content: said.text }])
    if (said.skill !== undefined)
      yield { kind: 'skill-invoked', name: said.skill.name, revision: said.skill.revision }
    const maxSteps = this.#options.maxSteps ?? DEFAULT_MAX_STEPS
    for (let step = 1; ; step++) {
      const newer = await this.session.update()
      if (newer !== undefined) this.#untold.push(newer)
      for (let update = this.#untold[0]; update !== undefined; update = this.#untold[0]) {
        // A message of its own at the end, which stays there: nothing that was sent before changes.
        await this.#append([{ role: 'user', content: update.text }])
        this.#untold.shift()
        yield { kind: 'skills-updated', update }
      }
      yield {
        kind: 'model-call',
        step,
        prefix: this.#meter.measure([this.system, this.#definitions], this.#messages),
      }
      const { answer, wantsTools } = yield* this.#callModel(signal)
      if (wantsTools && step < maxSteps) continue
      yield { kind: 'finish', text: answer, steps: step, hasReachedLimit: wantsTools }
      return
    }
  }

  /** One model call with the tools it asks for; the messages are appended when the call is complete. */
  async *#callModel(
    signal: AbortSignal | undefined,
  ): AsyncGenerator<AgentEvent, { answer: string; wantsTools: boolean }, undefined> {
    const result = streamText({
      model: this.#options.model,
      instructions: this.system,
      messages: [...this.#messages],
      tools: this.#tools,
      stopWhen: stepCountIs(1),
      ...(this.#options.maxRetries === undefined ? {} : { maxRetries: this.#options.maxRetries }),
      ...(signal === undefined ? {} : { abortSignal: signal }),
      onError: () => undefined, // the stream carries the error, and it is thrown below
    })
    for await (const part of result.stream) {
      switch (part.type) {
        case 'text-delta':
          yield { kind: 'text', delta: part.text }
          break
        case 'tool-call':
          yield { kind: 'tool-call', name: part.toolName, input: part.input }
          break
        case 'tool-result':
          if (part.preliminary !== true)
            yield { kind: 'tool-result', name: part.toolName, output: part.output }
          break
        case 'tool-error':
          yield {
            kind: 'tool-result',
            name: part.toolName,
            output: { text: String(part.error), isError: true },
          }
          break
        case 'error':
          throw part.error
        case 'abort':
          signal?.throwIfAborted()
          throw new Error('the model call was aborted')
        default:
      }
    }
    const { messages } = await result.response
    await this.#append(messages.map(message => this.#explainUnknownTools(message)))
    return { answer: await result.text, wantsTools: (await result.finishReason) === 'tool-calls' }
  }

  async #append(messages: readonly ModelMessage[]): Promise<void> {
    const rows = messages.map(message => this.#toRow(message.role, message.content))
    const { generation, ledger } = this.session
    const key = JSON.stringify([generation.digest, ledger.entries(), ledger.allSeen()])
    const news = key === this.#savedState ? undefined : this.session.state()
    this.#seq = await this.#write(rows, news)
    this.#savedState = key
    this.#messages.push(...messages)
  }

  async #write(rows: readonly ConversationMessage[], session?: SessionState): Promise<number> {
    try {
      return await this.#store.append(this.#tenant, this.id, this.#seq, rows, session)
    } catch (thrown) {
      if (thrown instanceof ConversationConflictError) this.#onConflict()
      throw thrown
    }
  }

  /** A model that calls a skill as if it were a tool is told how to use it. */
  #explainUnknownTools(message: ModelMessage): ModelMessage {
    if (message.role !== 'tool') return message
    const names = Object.keys(this.#tools)
    const content = message.content.map(part => {
      if (part.type !== 'tool-result' || names.includes(part.toolName)) return part
      const value = this.session.describeUnknownTool(part.toolName, names)
      return { ...part, output: { type: 'error-text' as const, value } }
    })
    return { ...message, content }
  }

  #toRow(role: ConversationMessage['role'], content: unknown): ConversationMessage {
    const { number: generation, digest } = this.session.generation
    return { id: randomUUID(), role, content, at: Date.now(), skills: { generation, digest } }
  }

  get #tenant(): string {
    return this.#options.tenant ?? DEFAULT_TENANT
  }
}
