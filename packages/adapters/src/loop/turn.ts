import { type RebaseOptions, SkillError, type ToolContext } from '@skillstoke/core'
import { type LiveConversation, withoutNotices } from '../live-conversation.ts'
import type { LoopCall, LoopOutcome, LoopTools } from './tools.ts'

/** How one model API writes requests and answers. */
export interface LoopFormat<Message, Request, Answer> {
  readonly toUserMessage: (text: string) => Message
  /** Returns the history with more messages at its end. Does not change the given messages. */
  readonly append: (history: readonly Message[], messages: readonly Message[]) => readonly Message[]
  /** True if the model continues the last message. A notice must not come after that message. */
  readonly endsInAnswer: (history: readonly Message[]) => boolean
  readonly toRequest: (system: string, messages: readonly Message[], tools: LoopTools) => Request
  readonly read: (answer: Answer) => LoopAnswer<Message>
  readonly toResults: (outcomes: readonly LoopOutcome[]) => readonly Message[]
}

/** The parts of a model's answer that the loop uses. */
interface LoopAnswer<Message> {
  /** The answer in the form in which the next request sends it. */
  readonly messages: readonly Message[]
  readonly calls: readonly LoopCall[]
  /** True if the answer begins with a summary by which the model API replaced all earlier messages. */
  readonly isCompacted?: boolean
  /** True if the model continues its answer in the next call. */
  readonly isPaused?: boolean
}

/** What a conversation shares with its turns. */
export interface LoopHost<Message, Request, Answer> {
  readonly live: LiveConversation
  readonly tools: LoopTools
  readonly format: LoopFormat<Message, Request, Answer>
  /** The stored history. */
  messages: readonly Message[]
  /** The stored history and the messages of the open turn. */
  open: LoopHistory<Message> | undefined
}

/** The stored history and the messages of a turn. A compaction replaces all of them. */
interface LoopHistory<Message> {
  messages: readonly Message[]
}

/** Replaces the history by a summary and the loaded skills. An open turn continues from there. */
export async function compact<Message, Request, Answer>(
  host: LoopHost<Message, Request, Answer>,
  summary: readonly Message[],
  options?: RebaseOptions,
): Promise<void> {
  const { format, live } = host
  const kept = withoutNotices(summary)
  const restored = await live.rebase(options)
  host.messages = restored === undefined ? kept : format.append(kept, [format.toUserMessage(restored)])
  if (host.open === undefined) return
  host.open.messages = host.messages
  live.restartTurn()
}

/**
 * One turn of a conversation, from a prompt to the last answer of the model. A turn that is not kept leaves no trace,
 * and its notices are sent again in the next turn.
 */
export class LoopTurn<Message, Request, Answer> {
  readonly #host: LoopHost<Message, Request, Answer>
  readonly #history: LoopHistory<Message>

  /** Use `turn()` of a conversation. */
  constructor(host: LoopHost<Message, Request, Answer>) {
    this.#host = host
    this.#history = { messages: host.messages }
    host.open = this.#history
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
    const { live, format, tools } = this.#host
    this.#assertOpen()
    const offer = format.endsInAnswer(this.messages) ? undefined : await live.session.offer()
    this.#assertOpen()
    if (offer !== undefined) this.add(format.toUserMessage(offer.text))
    offer?.commit()
    return format.toRequest(live.system, this.messages, tools)
  }

  /**
   * Appends an answer of the model, runs its tool calls in parallel and appends their results. Returns true if the
   * model must be called again. If the signal aborts, appends nothing.
   * @throws the reason of the signal
   * @throws {SkillError} CLOSED when the turn is over
   */
  async answer(answer: Answer, context: ToolContext = {}): Promise<boolean> {
    const { tools, format } = this.#host
    this.#assertOpen()
    const { messages, calls, isCompacted, isPaused } = format.read(answer)
    const outcomes = await Promise.all(calls.map(async call => await tools.run(call, context)))
    this.#assertOpen()
    const added = [...messages, ...format.toResults(outcomes)]
    if (isCompacted === true) await compact(this.#host, format.append([], added))
    else this.add(...added)
    return calls.length > 0 || isPaused === true
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
    this.#host.messages = this.messages
    this.#host.open = undefined
    this.#host.live.keepTurn()
  }

  /** Forgets what this turn reported and loaded. The next turn also does this if a turn was not kept. */
  drop(): void {
    if (!this.#isOpen) return
    this.#host.open = undefined
    this.#host.live.dropTurn()
  }

  get #isOpen(): boolean {
    return this.#host.open === this.#history
  }

  #assertOpen(): void {
    if (this.#isOpen) return
    throw new SkillError('CLOSED', 'this turn is over; call turn() to start the next turn')
  }
}
