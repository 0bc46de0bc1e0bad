/// <reference lib="esnext.disposable" preserve="true" />

import type { RebaseOptions, SessionState, SkillRuntime, SkillSession } from '@skillstoke/core'
import { type LiveChildOptions, LiveConversation, type LiveOptions } from '../live-conversation.ts'
import { type LoopTool, LoopTools } from './tools.ts'
import { type LoopFormat, type LoopHistory, LoopTurn, type LoopTurnHost } from './turn.ts'

export interface LoopOptions<Message> extends Omit<LiveOptions, 'resume'> {
  /** Your tools. Their names must differ from the names of the skill tools. @default none */
  readonly tools?: readonly LoopTool[]
  /** The value that `state()` returned when the conversation was stored. @default a new conversation */
  readonly resume?: LoopState<Message>
}

/** A stored conversation: its messages, and the state of its session. */
export interface LoopState<Message> {
  readonly messages: readonly Message[]
  readonly session: SessionState
}

export interface LoopChildOptions extends LiveChildOptions {
  /** @default the tools of the parent */
  readonly tools?: readonly LoopTool[]
}

interface OpenTurn<Message, Request, Answer> {
  readonly turn: LoopTurn<Message, Request, Answer>
  readonly history: LoopHistory<Message>
}

type CreateLoopFormat<Message, Request, Answer> = (tools: LoopTools) => LoopFormat<Message, Request, Answer>

/**
 * One conversation with live skills over a plain client. Your loop calls the model. Changes of skills reach the model
 * before its next call, as messages at the end of the history.
 */
export class LoopConversation<Message, Request, Answer> implements Disposable {
  readonly #live: LiveConversation
  readonly #createFormat: CreateLoopFormat<Message, Request, Answer>
  readonly #tools: readonly LoopTool[]
  readonly #host: LoopTurnHost<Message, Request, Answer>
  #messages: readonly Message[]
  #open: OpenTurn<Message, Request, Answer> | undefined

  /** Use one of the factories, or `child()`. */
  constructor(
    live: LiveConversation,
    createFormat: CreateLoopFormat<Message, Request, Answer>,
    own: readonly LoopTool[] = [],
    messages: readonly Message[] = [],
  ) {
    this.#live = live
    this.#createFormat = createFormat
    this.#tools = own
    this.#messages = messages
    const tools = new LoopTools(live.session, own)
    this.#host = {
      live,
      tools,
      format: createFormat(tools),
      isOpen: turn => turn === this.#open?.turn,
      keep: kept => this.#keep(kept),
      drop: () => this.#drop(),
      compact: async kept => await this.compact(kept),
    }
  }

  static open<Message, Request, Answer>(
    skills: SkillRuntime,
    { tools, resume, ...options }: LoopOptions<Message>,
    createFormat: CreateLoopFormat<Message, Request, Answer>,
  ): LoopConversation<Message, Request, Answer> {
    const session = resume === undefined ? {} : { resume: resume.session }
    const live = LiveConversation.open(skills, { ...options, ...session })
    return new LoopConversation(live, createFormat, tools, resume?.messages)
  }

  get session(): SkillSession {
    return this.#live.session
  }

  /** The stored history. It contains the turns that were kept, with their notices. */
  get messages(): readonly Message[] {
    return this.#messages
  }

  /** The system text: your instructions, then the catalog of skills. */
  get instructions(): string {
    return this.#live.system
  }

  /**
   * Starts a turn. A text that begins with `/` and the name of a skill invokes this skill. If the previous turn was not
   * kept, drops it first.
   * @throws {SkillError} CLOSED
   */
  async turn(prompt: string | readonly Message[]): Promise<LoopTurn<Message, Request, Answer>> {
    this.#live.beginTurn()
    const history = { messages: this.#messages }
    const turn = new LoopTurn(this.#host, history)
    this.#open = { turn, history }
    turn.add(...(typeof prompt === 'string' ? [await this.#toMessage(prompt)] : prompt))
    return turn
  }

  /**
   * Replaces the history by a summary, and adds the loaded skills at their newest revisions. The next request has a new
   * catalog. An open turn continues from the summary. If the turn is dropped, the summary stays.
   */
  async compact(summary: string | readonly Message[], options?: RebaseOptions): Promise<void> {
    const { format } = this.#host
    const kept = typeof summary === 'string' ? [format.toUserMessage(summary)] : summary
    const restored = await this.#live.rebase(options)
    this.#messages = restored === undefined ? kept : format.append(kept, [format.toUserMessage(restored)])
    if (this.#open === undefined) return
    this.#open.history.messages = this.#messages
    this.#live.restartTurn()
  }

  /** Returns the conversation to store, without an open turn. The value is JSON if the messages are JSON. */
  state(): LoopState<Message> {
    return { messages: this.#messages, session: this.#live.state() }
  }

  /** Opens the conversation of a subagent. The subagent sees the skills that both scopes include. */
  child({ tools = this.#tools, ...options }: LoopChildOptions): LoopConversation<Message, Request, Answer> {
    return new LoopConversation(this.#live.child(options), this.#createFormat, tools)
  }

  /** Ends the conversation in this process. `state()` still works. Idempotent. */
  close(): void {
    this.session.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async #toMessage(text: string): Promise<Message> {
    return this.#host.format.toUserMessage((await this.session.expandSlash(text)).text)
  }

  #keep(messages: readonly Message[]): void {
    this.#messages = messages
    this.#open = undefined
    this.#live.keepTurn()
  }

  #drop(): void {
    this.#open = undefined
    this.#live.dropTurn()
  }
}
