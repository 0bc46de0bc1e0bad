import { randomBytes } from 'node:crypto'
import type { Conversation, SkillAgent } from '@skillstoke/agent'
import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import type { Turn } from '../client/api-types.ts'
import type { ChatEvent } from '../client/chat-types.ts'
import type { ListeningSession } from '../dev/dev-printer.ts'
import { TurnLog } from './turn-log.ts'

/** Id of the conversation of the demo agent. Only `dev` asks in it, and it is never forgotten. */
export const DEMO = 'dev'

/** Maximum number of open playground conversations. The agent closes the conversation that was idle for the longest time. */
export const MAX_OPEN_CHATS = 20
/** Maximum number of playground conversations whose messages are kept. A kept conversation can be continued. */
export const MAX_KEPT_CHATS = 100

export interface PlaygroundOptions {
  readonly agent: SkillAgent
  /** Removes a closed conversation from the store of the agent. */
  readonly forget: (id: string) => Promise<void>
  /** Name of the model of the agent. */
  readonly model: string
  /** Called after each change of a conversation. */
  readonly onChange: () => void
}

export interface Question {
  /** The question, as the user wrote it. */
  readonly question: string
  /** The skill whose slash command precedes the question. */
  readonly skill: string | undefined
  /** The conversation to continue. If `undefined`, a new conversation starts. */
  readonly conversation: string | undefined
  /** Ends the turn. */
  readonly signal: AbortSignal
}

/** The record of one conversation. */
interface Chat {
  readonly log: TurnLog
  turns: number
  /** Number of turns that run or wait. */
  running: number
  /** Resolves when the last requested turn has ended. */
  end: Promise<void>
}

/** The conversations that users hold on the page or through the API, and the conversation of the demo agent. */
export class Playground {
  readonly #options: PlaygroundOptions
  /** Ordered by time of the last use. */
  readonly #chats = new Map<string, Chat>()

  constructor(options: PlaygroundOptions) {
    this.#options = options
  }

  get model(): string {
    return this.#options.model
  }

  /** True while as many turns run as conversations may be open. A further turn would have no idle conversation to close. */
  get isFull(): boolean {
    let running = 0
    for (const [id, chat] of this.#chats) if (id !== DEMO) running += chat.running
    return running >= MAX_OPEN_CHATS
  }

  /** Whether users can continue the conversation. */
  has(id: string): boolean {
    return id !== DEMO && this.#chats.has(id)
  }

  turnsOf(id: string): readonly Turn[] {
    return this.#chats.get(id)?.log.list() ?? []
  }

  /** Describes a conversation for the list of those that hear of a change. Knows only conversations that were held here. */
  describeNext(id: string): Pick<ListeningSession, 'nextTurn' | 'prefix'> {
    const chat = this.#chats.get(id)
    if (chat === undefined) return {}
    const nextTurn = chat.turns + 1
    return id === DEMO
      ? { nextTurn, prefix: this.#options.agent.conversation(id).comparePrefix() }
      : { nextTurn }
  }

  /** Returns a conversation, even if the agent has closed it in the meantime. */
  async open(id: string): Promise<Conversation | undefined> {
    if (!this.has(id)) return undefined
    this.#touch(id)
    this.#keepDemoOpen()
    return await this.#options.agent.open(id)
  }

  /**
   * Asks a question, and yields the events of the turn. Turns of one conversation run one after the other. Never throws.
   */
  async *ask({
    question,
    skill,
    conversation: id = `try-${randomBytes(4).toString('hex')}`,
    signal,
  }: Question): AsyncGenerator<ChatEvent, void, undefined> {
    const chat = this.#touch(id)
    const before = chat.end
    const { promise, resolve } = Promise.withResolvers<void>()
    chat.end = promise
    chat.running++
    const turn = ++chat.turns
    let isOver = false
    try {
      await this.#forgetOldest()
      yield { kind: 'started', conversation: id, turn, model: this.model }
      await before
      const message = skill === undefined ? question : `/${skill} ${question}`.trim()
      chat.log.begin(turn, message)
      try {
        this.#keepDemoOpen()
        for await (const event of this.#options.agent.conversation(id).stream(message, { signal })) {
          chat.log.note(event)
          isOver = event.kind === 'finish'
          yield event
        }
      } catch (thrown) {
        isOver = true
        const failure = describe(thrown, signal)
        chat.log.failed(failure.message)
        yield { kind: 'failed', ...failure }
      }
    } finally {
      // If the reader leaves, the generator ends at the `yield`, without an error.
      if (!isOver && chat.log.list().at(-1)?.turn === turn) chat.log.failed(STOPPED.message)
      chat.running--
      resolve()
      this.#options.onChange()
    }
  }

  /** Uses the conversation of the demo agent, so that the agent closes another one. */
  #keepDemoOpen(): void {
    if (this.#chats.has(DEMO)) this.#options.agent.conversation(DEMO)
  }

  /** Makes the conversation the newest one. Creates its record if necessary. */
  #touch(id: string): Chat {
    const chat = this.#chats.get(id) ?? {
      log: new TurnLog(this.#options.onChange),
      turns: 0,
      running: 0,
      end: Promise.resolve(),
    }
    this.#chats.delete(id)
    this.#chats.set(id, chat)
    return chat
  }

  /** Removes the conversations that were not used for the longest time, so that they do not fill the memory. */
  async #forgetOldest(): Promise<void> {
    for (const [id, chat] of this.#chats) {
      if (this.#chats.size <= MAX_KEPT_CHATS) return
      if (chat.running > 0 || id === DEMO) continue
      this.#chats.delete(id)
      // The agent closed this conversation earlier, because fewer conversations are open than are kept.
      await this.#options.forget(id)
    }
  }
}

const STOPPED = { code: 'CLOSED', message: 'stopped before the answer was complete' } as const

function describe(thrown: unknown, signal: AbortSignal): { readonly code: string; readonly message: string } {
  if (signal.aborted) return STOPPED
  return { code: SkillError.isInstance(thrown) ? thrown.code : 'MODEL_FAILED', message: toMessage(thrown) }
}
