/// <reference lib="esnext.disposable" preserve="true" />

import { autoRetry } from '@grammyjs/auto-retry'
import { sequentialize } from '@grammyjs/runner'
import { ConversationBusyError, type SkillAgent } from '@skillstoke/agent'
import { type Skill, SkillError } from '@skillstoke/core'
import { Bot, type Context, GrammyError, HttpError, type NextFunction, type Transformer } from 'grammy'
import { PRESS } from './approvals.ts'
import { ChatTurns, toConversationId } from './chat-turns.ts'
import { listInvocable, toCommands, toDescription, toInput, updateMenu } from './skill-commands.ts'

export interface ChatBotOptions {
  readonly agent: SkillAgent
  readonly token: string
  /** @default the servers of Telegram */
  readonly apiRoot?: string | undefined
  /** The ids of the users who may use the agent and its tools. */
  readonly users: ReadonlySet<number>
  /** How long `close()` waits for running turns and for Telegram, in milliseconds. @default 30,000 */
  readonly graceMs?: number
  /** Receives the failures that users see only as a short sentence. Never receives the token. */
  readonly log: (line: string) => void
}

/** A running Telegram bot with one conversation for each chat or topic. */
export class ChatBot implements AsyncDisposable {
  /** Resolves when the bot stops. Rejects if Telegram ends the polling, for example because another process polls. */
  readonly stopped: Promise<void>
  readonly #options: ChatBotOptions
  readonly #bot: Bot
  readonly #turns: ChatTurns
  #menu: Promise<void> | undefined
  /** Aborts when `close()` is called. */
  readonly #closing = new AbortController()
  /** Aborts when `close()` stops waiting. */
  readonly #end = new AbortController()
  readonly #working = new Set<Promise<void>>()
  #closed: Promise<void> | undefined

  /** Starts the bot. Rejects if Telegram refuses the token. */
  static async start(options: ChatBotOptions): Promise<ChatBot> {
    const started = Promise.withResolvers<void>()
    const chats = new ChatBot(options, started.resolve)
    await Promise.race([started.promise, chats.stopped])
    chats.#menu = updateMenu(options.agent, chats.#bot.api, chats.#closing.signal, chats.#log)
    return chats
  }

  private constructor(options: ChatBotOptions, onStart: () => void) {
    const { agent, token, apiRoot } = options
    this.#options = options
    this.#bot = new Bot(token, apiRoot === undefined ? {} : { client: { apiRoot } })
    const { api } = this.#bot
    api.config.use(autoRetry())
    // grammY declares the signal of another package, which the native signal implements.
    const end = this.#end.signal as unknown as Parameters<Transformer>[3]
    api.config.use((call, method, payload, signal) => call(method, payload, signal ?? end))
    this.#turns = new ChatTurns(agent, this.#end.signal, this.#log)
    this.#handleUpdates()
    this.stopped = this.#bot.start({ onStart })
  }

  /**
   * Stops the bot, and resolves when the running turns have sent their answers. Messages that still wait for their turn
   * get a request to send them again. The agent stays open. Idempotent.
   */
  async close(): Promise<void> {
    this.#closed ??= this.#close()
    await this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    this.#closing.abort()
    setTimeout(() => this.#end.abort(), this.#options.graceMs ?? 30_000).unref()
    // Stops at once, and confirms the received updates, because Telegram sends unconfirmed updates again.
    const stopped = this.#bot.stop().catch(this.#log)
    await Promise.all([stopped, ...this.#working])
    this.#end.abort()
    await this.#menu
  }

  #handleUpdates(): void {
    const turns = this.#turns
    const chats = this.#bot
    chats.use((ctx, next) => this.#track(ctx, next))
    chats.use((ctx, next) => this.#admit(ctx, next))
    // Handles the updates of one chat in order, and those of different chats at the same time.
    chats.use(sequentialize(toConversationId))
    chats.use(async (ctx, next) => {
      if (!this.#closing.signal.aborted) return await next()
      if (ctx.message !== undefined)
        await ctx.reply('The bot is about to restart. Send this message again in a minute.')
    })
    chats.callbackQuery(PRESS, ctx => turns.decide(ctx))
    chats.command('start', ctx => ctx.reply('Write a message, or use a command. /skills lists the skills.'))
    chats.command('skills', ctx => this.#showSkills(ctx))
    chats.command('reset', ctx => turns.reset(ctx))
    chats.command('retry', ctx => turns.retry(ctx))
    chats.on('message:text', ctx => this.#takeText(ctx, ctx.msg.text))
    chats.on(['message:file', 'edited_message:text'], ctx => ctx.reply('I can read new text messages only.'))
  }

  /** Starts the work on an update. The bot receives the next updates while `work` runs, and `close()` waits for it. */
  #track(ctx: Context, next: NextFunction): void {
    const work = next()
      .catch((error: unknown) => this.#explain(ctx, error))
      .catch(this.#log)
      .finally(() => this.#working.delete(work))
    this.#working.add(work)
  }

  /** Answers a user who is not allowed, but never writes into a group. Ignores commands for other bots. */
  async #admit(ctx: Context, next: NextFunction): Promise<void> {
    const userId = ctx.from?.id
    const own = ctx.me.username.toLowerCase()
    const [, addressee = own] = /^\/\w+@(\w+)/.exec(ctx.msg?.text?.toLowerCase() ?? '') ?? []
    if (userId === undefined || addressee !== own) return
    const refusal = `This bot is private. Your user id is ${userId}.`
    if (this.#options.users.has(userId)) await next()
    else if (ctx.callbackQuery !== undefined) await ctx.answerCallbackQuery(refusal)
    else if (ctx.chat?.type === 'private' && ctx.message?.text !== undefined) await ctx.reply(refusal)
  }

  async #takeText(ctx: Context, text: string): Promise<void> {
    const input = text.startsWith('/') ? toInput(text, await this.#readSkills(ctx)) : text
    if (input === undefined) await ctx.reply('There is no such command. /skills lists the skills.')
    else await this.#turns.run(ctx, input)
  }

  async #showSkills(ctx: Context): Promise<void> {
    const commands = toCommands(await this.#readSkills(ctx))
    const lines = [...commands].map(([command, skill]) => `/${command} - ${toDescription(skill)}`)
    await this.#turns.send(ctx, lines.join('\n') || 'There are no skills.')
  }

  /** Returns the newest skills that users may invoke, including the skills that the conversation wrote. */
  async #readSkills(ctx: Context): Promise<readonly Skill[]> {
    const { agent } = this.#options
    const { session } = await this.#turns.open(ctx)
    const reader = agent.options.skills.forConversation({ id: session.conversation })
    return listInvocable(await reader.fresh(), agent)
  }

  /** Explains a failure, unless the answer is stored and only could not be sent. */
  async #explain(ctx: Context, error: unknown): Promise<void> {
    this.#log(error)
    if (error instanceof GrammyError || error instanceof HttpError) return
    const isClear = error instanceof ConversationBusyError || SkillError.isInstance(error, 'INVALID_OPTION')
    await ctx.reply(isClear ? error.message : 'I could not answer. Send /retry to try again.')
  }

  /** Logs only the message, because the object of a failed request contains the token. */
  readonly #log = (failure: unknown): void => this.#options.log(String(failure))
}
