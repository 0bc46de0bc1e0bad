import {
  type Conversation,
  ConversationBusyError,
  ConversationConflictError,
  type PendingCall,
  type SkillAgent,
  type TurnInput,
} from '@skillstoke/agent'
import { SkillError, type SkillReader, type SkillRuntime } from '@skillstoke/core'
import { defined, toMessage } from '@skillstoke/core/internal'
import type { ListeningSession } from '../dev/dev-printer.ts'
import type { ChatView, TurnOutcome } from './chat-view.ts'

export interface ChatSessionOptions {
  readonly id: string
  readonly skills: SkillRuntime
  readonly agent: SkillAgent
  /** Returns an id for a copy of the conversation. */
  readonly createId: () => Promise<string>
}

export interface TurnContext {
  /** Shows the events of the turn. */
  readonly view: ChatView
  readonly signal: AbortSignal
}

/** Runs the turns of one stored conversation, and shows what happens in them. */
export class ChatSession {
  readonly #options: ChatSessionOptions
  #conversation: Conversation
  #turns = 0
  /** The last message that was typed, and the skills that were loaded before it. */
  #last: { readonly message: string; readonly loaded: readonly string[] } | undefined

  private constructor(options: ChatSessionOptions, conversation: Conversation) {
    this.#options = options
    this.#conversation = conversation
  }

  /** Opens the conversation. If the store does not have it, its first turn creates it. */
  static async open(options: ChatSessionOptions): Promise<ChatSession> {
    return new ChatSession(options, await options.agent.open(options.id))
  }

  get conversation(): Conversation {
    return this.#conversation
  }

  /** The calls that wait for the answer of a person. */
  get pending(): readonly PendingCall[] {
    return this.#conversation.pending
  }

  /** Reads the skills as this conversation sees them, with those that it wrote. */
  get reader(): SkillReader {
    const { session } = this.#conversation
    return this.#options.skills.forConversation({
      id: session.conversation,
      ...defined({ scope: session.scope }),
    })
  }

  /** Returns the text of the last answer, or `undefined` if there is none. */
  get lastAnswer(): string | undefined {
    const content = this.#conversation.messages.findLast(({ role }) => role === 'assistant')?.content
    if (content === undefined || typeof content === 'string') return content
    const text = content.flatMap(part => (part.type === 'text' ? part.text : [])).join('')
    return text === '' ? undefined : text
  }

  /** Describes the next notice, and compares the next request with the last request. */
  describeNext(): ListeningSession {
    const { id, isBusy, session } = this.#conversation
    return {
      id,
      pending: session.pending(),
      nextTurn: isBusy ? this.#turns : this.#turns + 1,
      prefix: this.#conversation.comparePrefix(),
    }
  }

  /** The last message of the person, and the skills that were loaded for it. */
  get lastMessage(): { readonly message: string; readonly loaded: readonly string[] } | undefined {
    if (this.#last === undefined) return undefined
    const { message, loaded } = this.#last
    return { message, loaded: this.#listLoaded().filter(name => !loaded.includes(name)) }
  }

  #listLoaded(): readonly string[] {
    return this.#conversation.session.ledger.entries().map(({ name }) => name)
  }

  /**
   * Runs one turn.
   * @param insteadOf the number of a turn that is taken back first, with all later turns
   */
  async take(input: TurnInput, context: TurnContext, insteadOf?: number): Promise<TurnOutcome> {
    const { view, signal } = context
    this.#turns++
    if (typeof input === 'string') this.#last = { message: input, loaded: this.#listLoaded() }
    return await this.#attempt(context, async () => {
      if (insteadOf !== undefined) await this.#conversation.takeBack(insteadOf)
      let isWaiting = false
      for await (const event of this.#conversation.stream(input, { signal })) {
        view.happened(event)
        if (event.kind === 'finish') isWaiting = event.pending.length > 0
      }
      return isWaiting ? 'waiting' : 'answered'
    })
  }

  /** Goes on in a copy, which gets a new id if none is given. Returns the id of the copy. */
  async branch(id: string): Promise<string> {
    const { createId } = this.#options
    const original = this.#conversation
    this.#conversation = await original.branch(id === '' ? await createId() : id)
    original.close()
    return this.#conversation.id
  }

  /** Replaces the messages by a summary. */
  async compact(context: TurnContext): Promise<TurnOutcome> {
    const { view, signal } = context
    const messages = this.#conversation.messages.length
    return await this.#attempt(context, async () => {
      await this.#conversation.compact({ signal })
      const restored = this.#conversation.session.ledger.entries().map(({ name }) => name)
      view.happened({ kind: 'compacted', messages, restored })
      return 'answered'
    })
  }

  async #attempt({ view, signal }: TurnContext, work: () => Promise<TurnOutcome>): Promise<TurnOutcome> {
    const stop = (outcome: 'failed' | 'interrupted' | 'busy', reason: string): TurnOutcome => {
      view.stopped(outcome, reason)
      return outcome
    }
    try {
      return await work()
    } catch (thrown) {
      if (signal.aborted) return stop('interrupted', 'interrupted')
      if (thrown instanceof ConversationBusyError) return stop('busy', toMessage(thrown))
      if (thrown instanceof ConversationConflictError) return stop('busy', await this.#openAgain())
      // The input was refused, so there is nothing to retry.
      if (SkillError.isInstance(thrown) && thrown.code === 'INVALID_OPTION') throw thrown
      return stop('failed', toMessage(thrown))
    }
  }

  /** Reads the messages that another process appended. */
  async #openAgain(): Promise<string> {
    const { agent } = this.#options
    const { id } = this.#conversation
    const before = this.#conversation.messages.length
    this.#conversation = await agent.open(id)
    const added = this.#conversation.messages.length - before
    const count = added > 0 ? `its ${added} new messages were read` : 'it was read again'
    return `another process continued the conversation ${JSON.stringify(id)}; ${count}; send your message again`
  }
}
