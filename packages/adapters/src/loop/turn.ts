import { SkillError, type ToolContext } from '@skillstoke/core'
import type { LiveConversation } from '../live-conversation.ts'
import type { LoopCall, LoopOutcome, LoopTools } from './tools.ts'

/** How one model API writes requests and answers. */
export interface LoopFormat<Message, Request, Answer> {
  readonly toUserMessage: (text: string) => Message
  /** Returns the history with more messages at its end. Does not change the given messages. */
  readonly append: (history: readonly Message[], messages: readonly Message[]) => readonly Message[]
  /** True if the model continues the last message. A notice must not come after that message. */
  readonly endsInAnswer: (history: readonly Message[]) => boolean
  readonly toRequest: (system: string, messages: readonly Message[]) => Request
  readonly read: (answer: Answer) => LoopAnswer<Message>
  readonly toResults: (outcomes: readonly LoopOutcome[]) => readonly Message[]
}

/** The parts of a model's answer that the loop uses. */
interface LoopAnswer<Message> {
  /** The answer in the form in which the next request sends it. */
  readonly messages: readonly Message[]
  readonly calls: readonly LoopCall[]
  /** True if the answer begins with a summary by which the model API replaced all earlier messages. */
  readonly isCompacted: boolean
  /** True if the model continues its answer in the next call. */
  readonly isPaused: boolean
}

/** The parts of a conversation that its turns use. */
export interface LoopTurnHost<Message, Request, Answer> {
  readonly live: LiveConversation
  readonly tools: LoopTools
  readonly format: LoopFormat<Message, Request, Answer>
  readonly isOpen: (turn: LoopTurn<Message, Request, Answer>) => boolean
  readonly keep: (messages: readonly Message[]) => void
  readonly drop: () => void
  readonly compact: (messages: readonly Message[]) => Promise<void>
}

/** The stored history and the messages of an open turn. A compaction replaces all of them. */
export interface LoopHistory<Message> {
  messages: readonly Message[]
}

/**
 * One turn of a conversation, from a prompt to the last answer of the model. A turn that is not kept leaves no trace,
 * and its notices are sent again in the next turn.
 */
export class LoopTurn<Message, Request, Answer> {
  readonly #host: LoopTurnHost<Message, Request, Answer>
  readonly #history: LoopHistory<Message>

  /** Use `turn()` of a conversation. */
  constructor(host: LoopTurnHost<Message, Request, Answer>, history: LoopHistory<Message>) {
    this.#host = host
    this.#history = history
  }

  /** The stored history, then the messages of this turn. */
  get messages(): readonly Message[] {
    return this.#history.messages
  }

  /**
   * Returns the arguments of the next model call. If skills changed, appends a notice first. If a model call fails, you
   * may call `request()` again, which repeats the request.
   * @throws {SkillError} CLOSED when the turn is over
   */
  async request(): Promise<Request> {
    const { live, format } = this.#host
    this.#assertOpen()
    const offer = format.endsInAnswer(this.messages) ? undefined : await live.session.offer()
    this.#assertOpen()
    if (offer !== undefined) this.add(format.toUserMessage(offer.text))
    offer?.commit()
    return format.toRequest(live.system, this.#history.messages)
  }

  /**
   * Appends an answer of the model, runs its tool calls in parallel and appends their results. Returns true if the
   * model must be called again. If the signal aborts, appends nothing.
   * @throws the reason of the signal
   * @throws {SkillError} CLOSED when the turn is over
   */
  async answer(answer: Answer, context: ToolContext = {}): Promise<boolean> {
    const { tools, format, compact } = this.#host
    this.#assertOpen()
    const { messages, calls, isCompacted, isPaused } = format.read(answer)
    const outcomes = await Promise.all(calls.map(async call => await tools.run(call, context)))
    this.#assertOpen()
    const added = [...messages, ...format.toResults(outcomes)]
    if (isCompacted) await compact(format.append([], added))
    else this.add(...added)
    return calls.length > 0 || isPaused
  }

  /** Appends messages, for example a new instruction of the user, or results of tools that the host ran itself. */
  add(...messages: readonly Message[]): void {
    this.#history.messages = this.#host.format.append(this.#history.messages, messages)
  }

  /** Returns the answer to the call of a tool that does not exist; `undefined` if the tool exists. */
  describeUnknownTool(name: string): string | undefined {
    return this.#host.tools.describeUnknown(name)
  }

  /**
   * Adds the messages of this turn to the history of the conversation.
   * @throws {SkillError} CLOSED when the turn is over
   */
  keep(): void {
    this.#assertOpen()
    this.#host.keep(this.#history.messages)
  }

  /** Forgets what this turn reported and loaded. The next turn also does this if a turn was not kept. */
  drop(): void {
    if (this.#host.isOpen(this)) this.#host.drop()
  }

  #assertOpen(): void {
    if (this.#host.isOpen(this)) return
    throw new SkillError('CLOSED', 'this turn is over; call turn() to start the next turn')
  }
}
