/// <reference lib="esnext.disposable" preserve="true" />

import type { Logger } from '@skillstoke/core'
import { LATE, waitAtMost } from '@skillstoke/core/internal'
import { systemClock } from '@skillstoke/core/source'
import type { SkillAgent } from '../skill-agent.ts'
import type { AttachmentOptions } from './attachment.ts'
import { isForOther, listInvocable, readWord } from './chat-command.ts'
import { type ChatPlace, toConversationId } from './chat-place.ts'
import { ChatQueue } from './chat-queue.ts'
import { ChatResponder } from './chat-responder.ts'
import { ChatSender } from './chat-sender.ts'
import { CHAT_TEXTS } from './chat-texts.ts'
import { ChatTurns } from './chat-turns.ts'
import { CommandMenu } from './command-menu.ts'
import { type Incoming, readUpdate } from './read-update.ts'
import type { TelegramBot, TelegramCommand, TelegramContext } from './telegram-bot.ts'

export interface TelegramConnectionParts {
  readonly bot: TelegramBot
  readonly agent: SkillAgent
  readonly isAllowed: (userId: number | undefined) => boolean
  readonly attachments: AttachmentOptions | undefined
  readonly commands: readonly TelegramCommand[]
  readonly logger: Logger
}

/** How long `close()` waits for Telegram to confirm the received updates. */
const STOP_MS = 5_000

/** Connects an agent to a bot until `close()`. Created by `connectTelegram`. */
export class TelegramConnection implements AsyncDisposable {
  readonly #parts: TelegramConnectionParts
  readonly #queue = new ChatQueue()
  readonly #closing = new AbortController()
  readonly #sender: ChatSender
  readonly #turns: ChatTurns
  readonly #responder: ChatResponder
  readonly #menu: CommandMenu
  readonly #reserved: readonly string[]
  #closed: Promise<void> | undefined

  /** Only `connectTelegram` calls this constructor. */
  constructor(parts: TelegramConnectionParts) {
    const { bot, agent, commands, attachments, logger } = parts
    const { skills, scope, reservedCommands = [] } = agent.options
    this.#parts = parts
    this.#reserved = [...reservedCommands, ...commands.map(({ command }) => command)]
    this.#sender = new ChatSender(bot.api, logger, this.#closing.signal)
    this.#turns = new ChatTurns({ agent, sender: this.#sender, logger })
    this.#responder = new ChatResponder({
      ...{ agent, sender: this.#sender, turns: this.#turns },
      ...{ logger, reserved: this.#reserved, attachments },
    })
    bot.use(async (context, next) => {
      if (!this.#accept(context)) await next()
    })
    const reader = skills.forConversation(scope === undefined ? {} : { scope })
    this.#menu = new CommandMenu({
      ...{ api: bot.api, commands, logger },
      subscribe: subscriber => skills.subscribe(() => subscriber()),
      listSkills: () =>
        listInvocable(
          reader.current.list().filter(({ name }) => reader.isInScope(name)),
          this.#reserved,
        ),
    })
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
    // Stops the bot first and synchronously, so that it receives no update that this connection no longer answers.
    const stopped = this.#parts.bot.stop()
    await Promise.all([this.#confirm(stopped), this.#menu.close(), this.#queue.drain()])
  }

  /** Waits until the received updates are confirmed. Telegram sends unconfirmed updates again. */
  async #confirm(stopped: Promise<void>): Promise<void> {
    try {
      const outcome = await waitAtMost(systemClock, STOP_MS, stopped)
      if (outcome === LATE) throw new Error(`Telegram did not answer within ${STOP_MS} ms`)
    } catch (error) {
      this.#parts.logger.warn('the received updates could not be confirmed', { error })
    }
  }

  /** Queues an update. Returns false for an update that other handlers of the bot may handle. Never waits for a turn. */
  #accept({ update, me }: TelegramContext): boolean {
    const incoming = readUpdate(update)
    if (incoming === undefined || this.#closing.signal.aborted) return false
    const { place } = incoming
    if (incoming.kind === 'text' && this.#belongsToOther(incoming.text, me.username)) return false
    if (!this.#parts.isAllowed(incoming.userId)) this.#refuse(incoming)
    else if (incoming.kind === 'press' && this.#turns.isRunning(place))
      this.#queue.add(incoming.queryId, () =>
        this.#sender.answerPress(incoming.queryId, CHAT_TEXTS.isAnswering),
      )
    else
      this.#queue.add(toConversationId(place), async () => {
        if (this.#closing.signal.aborted) await this.#decline(incoming)
        else await this.#responder.respond(incoming, me.username)
      })
    return true
  }

  #belongsToOther(text: string, username: string): boolean {
    const word = readWord(text, username)
    return word !== undefined && (this.#reserved.includes(word) || isForOther(text, username))
  }

  /** Answers a user who is not allowed, but never writes into a group. */
  #refuse({ userId, isPrivate, place, ...incoming }: Incoming): void {
    if (userId === undefined) return
    const text = CHAT_TEXTS.notAllowed(userId)
    if (incoming.kind === 'press')
      this.#queue.add(incoming.queryId, () => this.#sender.answerPress(incoming.queryId, text))
    else if (isPrivate && incoming.kind === 'text')
      this.#queue.add(toConversationId(place), () => this.#say(place, text))
  }

  /** Answers an update that was received before `close()`, but whose turn has not begun. */
  async #decline(incoming: Incoming): Promise<void> {
    if (incoming.kind === 'press') await this.#sender.answerPress(incoming.queryId, CHAT_TEXTS.closing)
    else if (incoming.kind === 'text' || incoming.kind === 'file')
      await this.#say(incoming.place, CHAT_TEXTS.closing, incoming.messageId)
  }

  async #say(place: ChatPlace, text: string, replyTo?: number): Promise<void> {
    try {
      await this.#sender.say(place, text, replyTo)
    } catch (error) {
      const conversation = toConversationId(place)
      this.#parts.logger.warn('an answer could not be sent', { error, conversation })
    }
  }
}
