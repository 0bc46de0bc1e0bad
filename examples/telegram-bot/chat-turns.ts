import type { Conversation, SkillAgent, TurnInput, TurnResult } from '@skillstoke/agent'
import type { CallbackQueryContext, Context } from 'grammy'
import { findApprovals, keyOfCall, renderKeyboard, renderQuestion } from './approvals.ts'
import { renderAnswer } from './render-answer.ts'
import type { Log } from './skill-commands.ts'

/** Telegram shows for five seconds that a bot is typing. */
const TYPING_MS = 4_000

/** Returns the id of the conversation of a chat, or of a topic in a group. */
export function toConversationId({ chatId, msg }: Context): string {
  // In a group without topics, a chain of replies also has a thread id. Such a chain belongs to the chat.
  return msg?.is_topic_message === true ? `telegram-${chatId}-${msg.message_thread_id}` : `telegram-${chatId}`
}

/** Runs the turns of chats, sends the answers, and asks for approvals. The caller keeps the order within a chat. */
export class ChatTurns {
  readonly #agent: SkillAgent
  readonly #signal: AbortSignal
  readonly #log: Log
  /** Whether each decided call was approved, by `keyOfCall`. Kept until all calls of the turn are decided. */
  readonly #decisions = new Map<string, boolean>()

  /** @param signal aborts the running turns */
  constructor(agent: SkillAgent, signal: AbortSignal, log: Log) {
    this.#agent = agent
    this.#signal = signal
    this.#log = log
  }

  /** Opens the conversation of a chat. Opens it again if the agent closed it in the meantime. */
  async open(ctx: Context): Promise<Conversation> {
    return await this.#agent.open(toConversationId(ctx))
  }

  /** Runs a turn and sends the answer. Rejects if the turn fails. */
  async run(ctx: Context, input: TurnInput): Promise<void> {
    const { text, hasReachedLimit, pending } = await this.#answer(ctx, input)
    await this.send(ctx, text)
    if (hasReachedLimit) await ctx.reply('I stopped at the limit of steps. Send /retry to continue.')
    else if (findApprovals(pending).length > 0) await this.#ask(ctx)
    else if (text.trim() === '') await ctx.reply('The answer is empty. Send another message.')
  }

  /** Repeats a failed turn. If a call waits for approval, asks again. */
  async retry(ctx: Context): Promise<void> {
    const { pending } = await this.open(ctx)
    if (findApprovals(pending).length > 0) await this.#ask(ctx)
    else await this.run(ctx, { retry: true })
  }

  /** Moves the stored conversation to a new id, so that the chat begins a new conversation. */
  async reset(ctx: Context): Promise<void> {
    const { store, tenant = 'local' } = this.#agent.options
    const id = toConversationId(ctx)
    const conversation = await this.open(ctx)
    conversation.close()
    const last = (await store.read(tenant, id)).at(-1)
    if (last !== undefined) {
      await store.fork(tenant, id, last.seq, `${id}-until-${new Date().toISOString()}`)
      await store.remove(tenant, id)
    }
    await ctx.reply('This is a new conversation. An earlier one is kept.')
  }

  /** Records the decision about one call. Asks for the next one, or continues the turn. */
  async decide(ctx: CallbackQueryContext<Context>): Promise<void> {
    const [, action, key = ''] = ctx.match
    const { pending } = await this.open(ctx)
    const isOpen = findApprovals(pending).some(call => keyOfCall(call) === key) && !this.#decisions.has(key)
    const answer = action === 'approve' ? 'Approved.' : 'Declined.'
    // Telegram refuses an answer to a press that is too old, and a change of a message that has no buttons any more.
    await ctx.answerCallbackQuery(isOpen ? answer : 'This question is closed.').catch(this.#log)
    await ctx.editMessageReplyMarkup().catch(this.#log)
    if (!isOpen) return
    this.#decisions.set(key, action === 'approve')
    await this.#ask(ctx)
  }

  /**
   * Sends Markdown in as many messages as necessary. Shows no previews, because for a preview Telegram would load every
   * address in an answer, also one that carries data to a stranger.
   */
  async send(ctx: Context, markdown: string): Promise<void> {
    for (const { text, entities } of renderAnswer(markdown))
      await ctx.reply(text, { entities, link_preview_options: { is_disabled: true } })
  }

  /** Runs a turn, and shows that the bot is typing. */
  async #answer(ctx: Context, input: TurnInput): Promise<TurnResult> {
    let shown: Promise<unknown> = Promise.resolve()
    const showTyping = (): void => {
      shown = ctx.replyWithChatAction('typing').catch(() => undefined)
    }
    const timer = setInterval(showTyping, TYPING_MS)
    showTyping()
    try {
      return await (await this.open(ctx)).send(input, { signal: this.#signal })
    } finally {
      clearInterval(timer)
      // A typing action that arrives after the answer would be shown for five more seconds.
      await shown
    }
  }

  /** Asks for the first call that is not decided. Continues the turn if all calls are decided. */
  async #ask(ctx: Context): Promise<void> {
    const { pending } = await this.open(ctx)
    const open = findApprovals(pending).find(call => !this.#decisions.has(keyOfCall(call)))
    if (open !== undefined) {
      for (const { text, entities } of renderAnswer(renderQuestion(open)))
        await ctx.reply(text, { entities, reply_markup: renderKeyboard(open) })
      return
    }
    const answers = pending.map(({ callId, ...call }) => {
      if (call.kind !== 'approval') return { callId, output: 'Telegram cannot run this tool.', isError: true }
      return { callId, approved: this.#decisions.get(keyOfCall(call)) === true }
    })
    for (const call of findApprovals(pending)) this.#decisions.delete(keyOfCall(call))
    await this.run(ctx, { answers })
  }
}
