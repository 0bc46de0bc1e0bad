/// <reference lib="esnext.disposable" preserve="true" />

import { randomUUID } from 'node:crypto'
import {
  createAuthorTools,
  createScopeTest,
  type SessionOffer,
  type SessionState,
  SkillError,
  type SkillSession,
  type ToolDefinition,
} from '@skillstoke/core'
import { checkOptions, type KnownOptions } from '@skillstoke/core/internal'
import { type ModelMessage, stepCountIs, streamText, type ToolSet } from 'ai'
import type { AgentEvent } from './agent-event.ts'
import {
  ConversationConflictError,
  type ConversationMessage,
  type ConversationStore,
  type StoredMessage,
} from './conversation-store.ts'
import { PrefixMeter, type PrefixReading } from './prefix-meter.ts'
import type { SkillAgentOptions } from './skill-agent.ts'
import { toAiTools, withGate } from './to-ai-tools.ts'

export const DEFAULT_MAX_STEPS = 20
/** Default tenant, for a host that has only one user. */
export const DEFAULT_TENANT = 'local'
const DEFAULT_INSTRUCTIONS = 'You are a helpful assistant.'

export interface TurnOptions {
  /**
   * When this signal aborts, the turn ends. The conversation keeps the messages that were complete at the time of the
   * abort.
   */
  readonly signal?: AbortSignal
}

const KNOWN: KnownOptions<TurnOptions> = { signal: true }

export interface TurnResult {
  readonly text: string
  readonly steps: number
  readonly hasReachedLimit: boolean
}

/** Identifies one state of a session, so that an unchanged state is not stored again. */
interface SavedState {
  readonly key: string
  readonly catalog: string
}

/** Objects and settings that an agent passes to each of its conversations. */
export interface ConversationParts {
  readonly options: SkillAgentOptions
  readonly store: ConversationStore
  readonly tenant: string
  /** Called when the conversation is closed in this agent. */
  readonly onEnd: (conversation: Conversation) => void
}

/** The stored messages and the stored session state of a conversation. */
interface StoredConversation {
  readonly messages: readonly StoredMessage[]
  readonly state?: SessionState
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
  readonly session: SkillSession
  readonly #parts: ConversationParts
  readonly #options: SkillAgentOptions
  readonly #definitions: readonly ToolDefinition[]
  readonly #tools: ToolSet
  readonly #meter = new PrefixMeter()
  readonly #instructions: string
  readonly #messages: ModelMessage[] = []
  /** The system text that was stored last. */
  #storedSystem: unknown
  /** Identifies the session state that was stored last. */
  #savedState: SavedState | undefined
  #seq = 0
  #turn: Promise<void> = Promise.resolve()

  /** Created by `SkillAgent.conversation` and `SkillAgent.open`. */
  constructor(id: string, parts: ConversationParts, stored?: StoredConversation) {
    const { options } = parts
    this.id = id
    this.#parts = parts
    this.#options = options
    this.#instructions = options.instructions ?? DEFAULT_INSTRUCTIONS
    const { scope, delivery, applyAt, allowedTools, writer } = options
    this.session = options.skills.session({
      id: toSessionId(id, parts.tenant),
      ...(scope === undefined ? {} : { scope }),
      ...(delivery === undefined ? {} : { delivery }),
      ...(applyAt === undefined ? {} : { applyAt }),
      ...(allowedTools === undefined ? {} : { allowedTools }),
      ...(stored?.state === undefined ? {} : { resume: stored.state }),
    })
    const author =
      writer === undefined
        ? []
        : createAuthorTools(writer, {
            isInScope: createScopeTest(scope),
            author: { conversation: this.session.conversation },
          })
    this.#definitions = [...this.session.tools, ...author]
    const gated = { ...options.tools, ...toAiTools(author) }
    this.#tools = { ...withGate(gated, this.session), ...toAiTools(this.session.tools) }
    this.#restore(stored?.messages ?? [])
  }

  /** The system text of the next request. This text stays constant unless `delivery` is `rebuild`. */
  get system(): string {
    const { catalog } = this.session
    return catalog === '' ? this.#instructions : `${this.#instructions}\n\n${catalog}`
  }

  /** All messages so far, without the system text. */
  get messages(): readonly ModelMessage[] {
    return this.#messages
  }

  /**
   * Compares the next request to the model with the last request. Reports whether the next request starts with the
   * whole last request.
   */
  comparePrefix(): PrefixReading {
    return this.#meter.compare([this.system, this.#definitions], this.#messages)
  }

  /**
   * Sends a message and waits for the whole answer. Turns of one conversation run one after the other.
   * @throws {SkillError} CLOSED, INVALID_OPTION; the reason of the signal when it aborts
   */
  async send(text: string, options: TurnOptions = {}): Promise<TurnResult> {
    checkOptions('send()', options, KNOWN)
    for await (const event of this.stream(text, options)) {
      if (event.kind === 'finish')
        return { text: event.text, steps: event.steps, hasReachedLimit: event.hasReachedLimit }
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
  async *stream(text: string, options: TurnOptions = {}): AsyncGenerator<AgentEvent, void, undefined> {
    checkOptions('stream()', options, KNOWN)
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

  /** Closes the conversation in this agent. `SkillAgent.open` continues the conversation from the store. Idempotent. */
  close(): void {
    this.session.close()
    this.#parts.onEnd(this)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async *#run(text: string, signal: AbortSignal | undefined): AsyncGenerator<AgentEvent, void, undefined> {
    // Another agent may have taken over the conversation, so this agent must not write to it.
    if (this.session.isClosed) {
      const shown = JSON.stringify(this.id)
      throw new SkillError(
        'CLOSED',
        `the conversation ${shown} is closed; open it again with SkillAgent.open`,
      )
    }
    this.session.beginTurn()
    await this.#storeSystem()
    const { reservedCommands: reserved } = this.#options
    const said = await this.#orRevert(async () => {
      const expansion = await this.session.expandSlash(text, reserved === undefined ? {} : { reserved })
      await this.#append([{ role: 'user', content: expansion.text }])
      return expansion
    })
    if (said.skill !== undefined)
      yield { kind: 'skill-invoked', name: said.skill.name, revision: said.skill.revision }
    const maxSteps = this.#options.maxSteps ?? DEFAULT_MAX_STEPS
    for (let step = 1; ; step++) {
      const offer = await this.session.offer()
      if (offer !== undefined) {
        // Appends the notice as a new message, so that all earlier messages stay unchanged.
        await this.#append([{ role: 'user', content: offer.text }], offer)
        yield { kind: 'skills-updated', update: offer }
      }
      await this.#storeSystem()
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

  /**
   * Calls the model once, and runs the tools that the model requests. Appends the new messages when the call is
   * complete.
   */
  async *#callModel(
    signal: AbortSignal | undefined,
  ): AsyncGenerator<AgentEvent, { answer: string; wantsTools: boolean }, undefined> {
    const before = this.session.state()
    const stop = new AbortController()
    let isKept = false
    try {
      const complete = yield* this.#stream(AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]))
      isKept = true
      return complete
    } finally {
      if (!isKept) {
        // Aborts the tools and reverts the session, because no stored message contains the skills that the tools
        // loaded.
        stop.abort()
        this.#revert(before)
      }
    }
  }

  async *#stream(
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, { answer: string; wantsTools: boolean }, undefined> {
    const result = streamText({
      model: this.#options.model,
      instructions: this.system,
      messages: [...this.#messages],
      tools: this.#tools,
      stopWhen: stepCountIs(1),
      ...(this.#options.maxRetries === undefined ? {} : { maxRetries: this.#options.maxRetries }),
      abortSignal: signal,
      onError: () => undefined, // the stream reports the error, which is thrown below
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
          signal.throwIfAborted()
          throw new Error('the model call was aborted')
        default:
      }
    }
    const { messages } = await result.response
    await this.#append(messages.map(message => this.#explainUnknownTools(message)))
    return { answer: await result.text, wantsTools: (await result.finishReason) === 'tool-calls' }
  }

  /**
   * Runs `work`, which loads skills and stores a message. If `work` throws, restores the previous state of the session.
   */
  async #orRevert<T>(work: () => Promise<T>): Promise<T> {
    const before = this.session.state()
    try {
      return await work()
    } catch (thrown) {
      this.#revert(before)
      throw thrown
    }
  }

  #revert(before: SessionState): void {
    if (!this.session.isClosed) this.session.revert(before)
  }

  /**
   * Restores the stored messages. Also restores the last request, because `comparePrefix()` compares the next request
   * with the last request.
   */
  #restore(stored: readonly StoredMessage[]): void {
    for (const { role, content, seq } of stored) {
      this.#seq = seq
      if (role === 'system') this.#storedSystem = content
      else this.#messages.push({ role, content } as ModelMessage)
    }
    const sent = this.#messages.findLastIndex(({ role }) => role === 'assistant')
    if (sent === -1 || this.#storedSystem === undefined || this.session.delivery === 'rebuild') return
    this.#meter.measure([this.#storedSystem, this.#definitions], this.#messages.slice(0, sent))
  }

  /**
   * Stores the system text if it differs from the last stored system text. When `delivery` is `rebuild`, stores only
   * the first system text.
   */
  async #storeSystem(): Promise<void> {
    const { system } = this
    if (system === this.#storedSystem || (this.session.delivery === 'rebuild' && this.#seq > 0)) return
    this.#seq = await this.#write([this.#toRow('system', system)])
    this.#storedSystem = system
  }

  /** Stores both the messages and the resulting session state, or neither. */
  async #append(messages: readonly ModelMessage[], offer?: SessionOffer): Promise<void> {
    const rows = messages.map(({ role, content }) => this.#toRow(role, content, offer))
    const news = offer?.state() ?? this.#findNews()
    this.#seq = await this.#write(rows, news)
    offer?.commit()
    this.#savedState = this.#describeState()
    this.#messages.push(...messages)
  }

  /** Returns the state of the session, or `undefined` if this state is already stored. */
  #findNews(): SessionState | undefined {
    const { key, catalog } = this.#describeState()
    const isSaved = this.#savedState?.key === key && this.#savedState.catalog === catalog
    return isSaved ? undefined : this.session.state()
  }

  #describeState(): SavedState {
    const { generation, ledger, catalog } = this.session
    return { key: JSON.stringify([generation.digest, ledger.entries(), ledger.allSeen()]), catalog }
  }

  async #write(rows: readonly ConversationMessage[], session?: SessionState): Promise<number> {
    const { store, tenant } = this.#parts
    try {
      return await store.append(tenant, this.id, this.#seq, rows, session === undefined ? {} : { session })
    } catch (thrown) {
      // Closes the conversation after a conflict, so that `open()` reads the conversation from the store again.
      if (thrown instanceof ConversationConflictError) this.close()
      throw thrown
    }
  }

  /**
   * Explains how to load a skill if the model called a tool with the name of that skill. The explanation replaces the
   * error.
   */
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

  #toRow(role: ConversationMessage['role'], content: unknown, offer?: SessionOffer): ConversationMessage {
    const { number, digest } = this.session.generation
    const skills =
      offer === undefined
        ? { generation: number, digest }
        : { generation: offer.generation, digest: offer.digest }
    return { id: randomUUID(), role, content, at: Date.now(), skills }
  }
}

/**
 * Returns a session id that is unique even if two tenants use the same conversation id. An encoded tenant contains no
 * `@`, so the last `@` always separates the conversation id from the tenant.
 */
function toSessionId(id: string, tenant: string): string {
  return tenant === DEFAULT_TENANT && !id.includes('@') ? id : `${id}@${encodeURIComponent(tenant)}`
}
