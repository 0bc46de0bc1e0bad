/// <reference lib="esnext.disposable" preserve="true" />

import { randomUUID } from 'node:crypto'
import {
  type DeliveryMode,
  type SessionOptions,
  SkillError,
  type SkillRuntime,
  type SkillScope,
  type SkillWriter,
} from '@skillstoke/core'
import { checkOptions, type KnownOptions, waitAtMost, whole } from '@skillstoke/core/internal'
import { systemClock } from '@skillstoke/core/source'
import type { LanguageModel, ToolSet } from 'ai'
import { Conversation, type ConversationParts, DEFAULT_TENANT, readStored } from './conversation.ts'
import type { ConversationStore } from './conversation-store.ts'
import { MemoryConversationStore } from './memory-conversation-store.ts'
import { CALL_SETTINGS, type ModelCallSettings } from './model-call.ts'

export interface SkillAgentOptions {
  readonly skills: SkillRuntime
  readonly model: LanguageModel
  /** Text of the system prompt before the catalog of skills. */
  readonly instructions?: string
  /** The skills that conversations of this agent may see. @default all */
  readonly scope?: SkillScope
  /** Tools of the host. The agent adds the tools for skills, and never changes the tools of the host. */
  readonly tools?: ToolSet
  /** Lets the model write skills with `write_skill_file` and `reload_skills`. @default none */
  readonly writer?: SkillWriter
  /** How changes of skills reach conversations. @default 'append' */
  readonly delivery?: DeliveryMode
  /** Whether notices are sent before every model call (`step`) or once per turn (`turn`). @default 'step' */
  readonly applyAt?: NonNullable<SessionOptions['applyAt']>
  /** How the field `allowed-tools` of a loaded skill affects the tools of the host. @default 'advise' */
  readonly allowedTools?: NonNullable<SessionOptions['allowedTools']>
  /** Whether the commands of loaded skills also become tools, from the next turn on. @default false */
  readonly commandTools?: boolean
  /** Names of the host's own slash commands, without the slash. @default none */
  readonly reservedCommands?: readonly string[]
  /** @default a MemoryConversationStore */
  readonly store?: ConversationStore
  /** Owner of the conversations. @default 'local' */
  readonly tenant?: string
  /** Maximum number of model calls in one turn. @default 20 */
  readonly maxSteps?: number
  /** How often the AI SDK retries a failed model call. @default 2 */
  readonly maxRetries?: number
  /**
   * Settings of `streamText` for every model call, for example `temperature`, `timeout`, `toolApproval` or
   * `providerOptions`. @default a timeout of five minutes without output, and a cache breakpoint for Anthropic models
   */
  readonly call?: ModelCallSettings
  /** Compacts a conversation when its last request and answer had more tokens than this. @default never */
  readonly compactAtTokens?: number
  /**
   * Maximum number of open conversations. When more are opened, the agent closes those that were idle for the longest
   * time. Call `conversation()` for each message, so that a closed conversation is opened again. @default 1,000
   */
  readonly maxOpen?: number
}

const DEFAULT_MAX_OPEN = 1_000
const DEFAULT_GRACE_MS = 30_000

interface CloseOptions {
  /** How long `close()` waits for running turns, in milliseconds. The turns that still run are aborted. @default 30,000 */
  readonly graceMs?: number
}

const KNOWN_CLOSE: KnownOptions<CloseOptions> = { graceMs: whole(0) }

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
  commandTools: true,
  reservedCommands: true,
  store: true,
  tenant: true,
  maxSteps: whole(1),
  maxRetries: whole(0),
  call: true,
  compactAtTokens: whole(1),
  maxOpen: whole(1),
}

const KNOWN_SETTINGS = Object.fromEntries(
  CALL_SETTINGS.map(name => [name, true]),
) as KnownOptions<ModelCallSettings>

/**
 * A multi-turn agent that reports changed skills to its conversations before every model call.
 *
 * @example
 * ```ts
 * import { createOfflineModel, SkillAgent } from '@skillstoke/agent'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const agent = new SkillAgent({ skills, model: createOfflineModel(), instructions: 'You are a helpful assistant.' })
 * const { text } = await agent.conversation('chat-1').send('Use the skill "support-pdf".')
 * console.log(text.includes('Instructions of support-pdf.')) // prints true
 * ```
 */
export class SkillAgent implements AsyncDisposable {
  /** The options of this agent, with the store that the agent uses. */
  readonly options: SkillAgentOptions & { readonly store: ConversationStore }
  readonly #conversations = new Map<string, Conversation>()
  #isClosed = false

  /** @throws {SkillError} INVALID_OPTION */
  constructor(options: SkillAgentOptions) {
    checkOptions('SkillAgent', options, KNOWN_OPTIONS)
    checkOptions('SkillAgent', options.call, KNOWN_SETTINGS, { path: 'call' })
    this.options = Object.freeze({ ...options, store: options.store ?? new MemoryConversationStore() })
  }

  /**
   * Returns the conversation with this id, or starts a new conversation. If the store contains the conversation, its
   * first turn continues it. To read its messages before that turn, use `open()`.
   * @throws {SkillError} CLOSED; DUPLICATE_SESSION when another agent of the same runtime has this conversation open
   */
  conversation(id: string = randomUUID()): Conversation {
    this.#assertOpen()
    return this.#find(id) ?? this.#keep(new Conversation(id, this.#toParts(id)))
  }

  /**
   * Continues the stored conversation with this id, even if another process stored the conversation. The stored
   * messages stay unchanged. The catalog also stays unchanged, unless `delivery` is `rebuild`. Before the next model
   * call, the conversation gets a notice that lists all later changes of skills.
   *
   * @example
   * ```ts
   * import { createOfflineModel, openConversationStore, SkillAgent } from '@skillstoke/agent'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * await using store = await openConversationStore('./conversations.sqlite')
   * const agent = new SkillAgent({ skills, model: createOfflineModel(), store })
   * const first = agent.conversation('chat-1')
   * await first.send('Hello.')
   * first.close()
   * console.log((await agent.open('chat-1')).messages.length) // prints 2
   * ```
   */
  async open(id: string): Promise<Conversation> {
    this.#assertOpen()
    const { store, tenant = DEFAULT_TENANT } = this.options
    await this.#find(id)?.read()
    const known = this.#find(id)
    if (known !== undefined) return known
    const stored = await readStored(store, tenant, id)
    return this.#find(id) ?? this.#keep(new Conversation(id, this.#toParts(id), stored))
  }

  /** Closes all conversations when their turns have ended. The store stays open. Idempotent. */
  async close(options: CloseOptions = {}): Promise<void> {
    checkOptions('close()', options, KNOWN_CLOSE)
    const { graceMs = DEFAULT_GRACE_MS } = options
    this.#isClosed = true
    const open = [...this.#conversations.values()]
    const idle = Promise.all(open.map(async conversation => await conversation.whenIdle()))
    await waitAtMost(systemClock, graceMs, idle)
    const reason = new SkillError('CLOSED', 'the agent is closed')
    await Promise.all(open.map(async conversation => await conversation.abandon(reason)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new SkillError('CLOSED', 'the agent is closed')
  }

  /**
   * Returns an open conversation. A conversation that was closed, or that another agent took over, must be opened
   * again.
   */
  #find(id: string): Conversation | undefined {
    const known = this.#conversations.get(id)
    if (known === undefined || known.session.isClosed) return undefined
    // Moves the conversation to the end, because the conversation used longest ago is closed first.
    this.#conversations.delete(id)
    this.#conversations.set(id, known)
    return known
  }

  #keep(conversation: Conversation): Conversation {
    this.#conversations.set(conversation.id, conversation)
    let surplus = this.#conversations.size - (this.options.maxOpen ?? DEFAULT_MAX_OPEN)
    for (const idle of this.#conversations.values()) {
      if (surplus <= 0) break
      if (idle === conversation || idle.isBusy) continue
      idle.close()
      surplus--
    }
    return conversation
  }

  #toParts(id: string): ConversationParts {
    const { store, tenant = DEFAULT_TENANT } = this.options
    const onEnd = (ended: Conversation): void => {
      if (this.#conversations.get(id) === ended) this.#conversations.delete(id)
    }
    const open = async (other: string): Promise<Conversation> => await this.open(other)
    return { options: this.options, store, tenant, open, onEnd }
  }
}
