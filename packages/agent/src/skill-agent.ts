import { randomUUID } from 'node:crypto'
import type { Scope, SessionUpdate, SkillRuntime, SkillSession } from '@skillstoke/core'
import { type LanguageModel, type ModelMessage, stepCountIs, streamText, type ToolSet } from 'ai'
import type { ConversationMessage, ConversationStore } from './conversation-store.ts'
import { MemoryConversationStore } from './memory-conversation-store.ts'
import { PrefixMeter, type PrefixReading } from './prefix-meter.ts'
import { toAiTools } from './to-ai-tools.ts'

export interface SkillAgentOptions {
  readonly skills: SkillRuntime
  readonly model: LanguageModel
  /** What the agent is told before the catalog of skills. */
  readonly instructions?: string
  /** Which skills its conversations may see. @default all */
  readonly scope?: Scope
  /** Other tools; constant for the life of the agent. */
  readonly tools?: ToolSet
  /** @default a MemoryConversationStore */
  readonly store?: ConversationStore
  /** Whose conversations these are. @default 'local' */
  readonly tenant?: string
  /** Model calls in one turn. @default 20 */
  readonly maxSteps?: number
  /** How often the AI SDK repeats a failed model call. @default 2 */
  readonly maxRetries?: number
}

export const DEFAULT_MAX_STEPS = 20
const DEFAULT_INSTRUCTIONS = 'You are a helpful assistant.'

/** What happens during a turn, as it happens. */
export type AgentEvent =
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
    this.#options = options
    this.#store = options.store ?? new MemoryConversationStore()
  }

  /** The conversation of an id, begun if there is none. */
  conversation(id: string = randomUUID()): Conversation {
    const known = this.#conversations.get(id)
    if (known !== undefined) return known
    const conversation = new Conversation(id, this.#options, this.#store)
    this.#conversations.set(id, conversation)
    return conversation
  }
}

/** One conversation: an append-only list of messages under a system text that never changes. */
export class Conversation {
  readonly id: string
  readonly session: SkillSession
  readonly #options: SkillAgentOptions
  readonly #store: ConversationStore
  readonly #tools: ToolSet
  readonly #meter = new PrefixMeter()
  readonly #system: string
  readonly #messages: ModelMessage[] = []
  /** Updates that the session has given and the store has not taken yet: told at the next chance. */
  readonly #untold: SessionUpdate[] = []
  #seq = 0
  #turn: Promise<void> = Promise.resolve()

  /** Made by `SkillAgent.conversation`. */
  constructor(id: string, options: SkillAgentOptions, store: ConversationStore) {
    this.id = id
    this.#options = options
    this.#store = store
    this.session = options.skills.session({
      id,
      ...(options.scope === undefined ? {} : { scope: options.scope }),
    })
    this.#tools = { ...options.tools, ...toAiTools(this.session.tools) }
    const { catalog } = this.session
    const instructions = options.instructions ?? DEFAULT_INSTRUCTIONS
    this.#system = catalog === '' ? instructions : `${instructions}\n\n${catalog}`
  }

  /** The system text of every request. */
  get system(): string {
    return this.#system
  }

  /** Everything said so far, without the system text. */
  get messages(): readonly ModelMessage[] {
    return this.#messages
  }

  /** How a model call made now would relate to the last one: whether everything sent before would be sent again as it was. */
  comparePrefix(): PrefixReading {
    return this.#meter.compare([this.#system, this.session.tools], this.#messages)
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
    if (this.#seq === 0)
      await this.#store.append(this.#tenant, this.id, 0, [this.#toRow('system', this.#system)])
    if (this.#seq === 0) this.#seq = 1
    await this.#append([{ role: 'user', content: text }])
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
        prefix: this.#meter.measure([this.#system, this.session.tools], this.#messages),
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
      instructions: this.#system,
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
    await this.#append(messages)
    return { answer: await result.text, wantsTools: (await result.finishReason) === 'tool-calls' }
  }

  async #append(messages: readonly ModelMessage[]): Promise<void> {
    const rows = messages.map(message => this.#toRow(message.role, message.content))
    this.#seq = await this.#store.append(this.#tenant, this.id, this.#seq, rows)
    this.#messages.push(...messages)
  }

  #toRow(role: ConversationMessage['role'], content: unknown): ConversationMessage {
    const { number: generation, digest } = this.session.generation
    return { id: randomUUID(), role, content, at: Date.now(), skills: { generation, digest } }
  }

  get #tenant(): string {
    return this.#options.tenant ?? 'local'
  }
}
