/// <reference lib="esnext.disposable" preserve="true" />

import type { RebaseOptions, SessionState, SkillRuntime } from '@skillstoke/core'
import { defined } from '@skillstoke/core/internal'
import { LiveChat, type LiveChildOptions, LiveConversation, type LiveOptions } from '../live-conversation.ts'
import { type LoopTool, LoopTools } from './tools.ts'
import { compact, type LoopFormat, type LoopHost, LoopTurn } from './turn.ts'

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

interface LoopChildOptions extends LiveChildOptions {
  /** @default the tools of the parent */
  readonly tools?: readonly LoopTool[]
}

/**
 * One conversation with live skills over a plain client. Your loop calls the model. Changes of skills reach the model
 * before its next call, as messages at the end of the history.
 */
export class LoopConversation<Message, Request, Answer> extends LiveChat {
  readonly #tools: readonly LoopTool[]
  readonly #host: LoopHost<Message, Request, Answer>

  /** Use one of the factories, or `child()`. */
  constructor(
    live: LiveConversation,
    format: LoopFormat<Message, Request, Answer>,
    own: readonly LoopTool[] = [],
    messages: readonly Message[] = [],
  ) {
    super(live.session)
    this.#tools = own
    this.#host = { live, tools: new LoopTools(live.session, own), format, messages, open: undefined }
  }

  static open<Message, Request, Answer>(
    skills: SkillRuntime,
    { tools, resume, ...options }: LoopOptions<Message>,
    format: LoopFormat<Message, Request, Answer>,
  ): LoopConversation<Message, Request, Answer> {
    const live = LiveConversation.open(skills, { ...options, ...defined({ resume: resume?.session }) })
    return new LoopConversation(live, format, tools, resume?.messages)
  }

  /** The stored history. It contains the turns that were kept, with their notices. */
  get messages(): readonly Message[] {
    return this.#host.messages
  }

  /** The system text: your instructions, then the catalog of skills. */
  get instructions(): string {
    return this.#host.live.system
  }

  /**
   * Starts a turn. A text that begins with `/` and the name of a skill invokes this skill. If the previous turn was not
   * kept, drops it first. Results of tools, without a message of the user, continue the turn that was kept.
   * @throws {SkillError} CLOSED
   */
  async turn(prompt: string | readonly Message[]): Promise<LoopTurn<Message, Request, Answer>> {
    const { live, format, tools } = this.#host
    const isNew = typeof prompt === 'string' || prompt.some(isQuestion)
    live.beginTurn(isNew)
    tools.readCommands(isNew)
    const turn = new LoopTurn(this.#host)
    const asked = typeof prompt === 'string' ? (await this.session.expandSlash(prompt)).text : prompt
    turn.add(...(typeof asked === 'string' ? [format.toUserMessage(asked)] : asked))
    return turn
  }

  /**
   * Replaces the history by a summary, and adds the loaded skills at their newest revisions. Notices in the summary are
   * left out, because the next request has a new catalog. An open turn continues from the summary. If the turn is dropped, the summary stays.
   */
  async compact(summary: string | readonly Message[], options?: RebaseOptions): Promise<void> {
    const kept = typeof summary === 'string' ? [this.#host.format.toUserMessage(summary)] : summary
    await compact(this.#host, kept, options)
  }

  /** Returns the conversation to store, without an open turn. The value is JSON if the messages are JSON. */
  state(): LoopState<Message> {
    return { messages: this.messages, session: this.#host.live.state() }
  }

  /** Opens the conversation of a subagent. The subagent sees the skills that both scopes include. */
  child({ tools = this.#tools, ...options }: LoopChildOptions): LoopConversation<Message, Request, Answer> {
    const { live, format } = this.#host
    return new LoopConversation(live.child(options), format, tools)
  }
}

/** False for results of tools, which Anthropic's API has in messages of the user. */
function isQuestion(message: unknown): boolean {
  const { role, content } = message as { readonly role?: unknown; readonly content?: unknown }
  const blocks = Array.isArray(content) ? (content as readonly { readonly type?: unknown }[]) : []
  return role === 'user' && !blocks.some(({ type }) => type === 'tool_result')
}
