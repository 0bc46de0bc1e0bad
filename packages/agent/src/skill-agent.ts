import { randomUUID } from 'node:crypto'
import type {
  AllowedToolsPolicy,
  DeliveryMode,
  SessionOptions,
  SkillRuntime,
  SkillScope,
  SkillWriter,
} from '@skillstoke/core'
import { checkOptions, checkWholeNumber, type KnownOptions } from '@skillstoke/core/internal'
import type { LanguageModel, ToolSet } from 'ai'
import { Conversation, type ConversationParts, DEFAULT_TENANT } from './conversation.ts'
import type { ConversationStore } from './conversation-store.ts'
import { MemoryConversationStore } from './memory-conversation-store.ts'

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
  readonly allowedTools?: AllowedToolsPolicy
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
export class SkillAgent {
  readonly #options: SkillAgentOptions
  readonly #store: ConversationStore
  readonly #conversations = new Map<string, Conversation>()

  /** @throws {SkillError} INVALID_OPTION */
  constructor(options: SkillAgentOptions) {
    checkOptions('SkillAgent', options, KNOWN_OPTIONS)
    checkWholeNumber('maxSteps', options.maxSteps, 1)
    checkWholeNumber('maxRetries', options.maxRetries, 0)
    this.#options = options
    this.#store = options.store ?? new MemoryConversationStore()
  }

  /**
   * Returns the conversation with this id, or starts a new conversation.
   * @throws {SkillError} DUPLICATE_SESSION when another agent of the same runtime has this conversation open
   */
  conversation(id: string = randomUUID()): Conversation {
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
    const { tenant = DEFAULT_TENANT } = this.#options
    const known = this.#find(id)
    if (known !== undefined) return known
    const messages = await this.#store.read(tenant, id)
    const state = await this.#store.readSession(tenant, id)
    const stored = { messages, ...(state === undefined ? {} : { state }) }
    return this.#find(id) ?? this.#keep(new Conversation(id, this.#toParts(id), stored))
  }

  /**
   * Returns an open conversation. A conversation that was closed, or that another agent took over, must be opened
   * again.
   */
  #find(id: string): Conversation | undefined {
    const known = this.#conversations.get(id)
    return known?.session.isClosed === true ? undefined : known
  }

  #keep(conversation: Conversation): Conversation {
    this.#conversations.set(conversation.id, conversation)
    return conversation
  }

  #toParts(id: string): ConversationParts {
    const { tenant = DEFAULT_TENANT } = this.#options
    const onEnd = (ended: Conversation): void => {
      if (this.#conversations.get(id) === ended) this.#conversations.delete(id)
    }
    return { options: this.#options, store: this.#store, tenant, onEnd }
  }
}
