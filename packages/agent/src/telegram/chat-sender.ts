import type { Logger } from '@skillstoke/core'
import { systemClock } from '@skillstoke/core/source'
import type { ChatPlace } from './chat-place.ts'
import { type FloodPatience, readRetryAfter, withFloodControl } from './flood-control.ts'
import { renderAnswer } from './render-answer.ts'
import type { TelegramApi, TelegramKeyboard, TelegramMessageOptions } from './telegram-bot.ts'

/** How long Telegram shows that the bot is typing. */
const TYPING_MS = 5_000
/** How long an answer waits for Telegram after `close()`. */
const GRACE_MS = 5_000

/** Sends messages to chats at the pace that Telegram allows. */
export class ChatSender {
  readonly #api: TelegramApi
  readonly #logger: Logger
  readonly #patience: FloodPatience
  /** No typing action is sent before this time. */
  #typingFrom = 0

  constructor(api: TelegramApi, logger: Logger, closing: AbortSignal) {
    this.#api = api
    this.#logger = logger
    this.#patience = { signal: closing, graceMs: GRACE_MS }
  }

  /** Sends one sentence. */
  async say(place: ChatPlace, text: string, replyTo?: number): Promise<void> {
    const reply =
      replyTo === undefined
        ? {}
        : { reply_parameters: { message_id: replyTo, allow_sending_without_reply: true } }
    await this.#send(place, text, reply)
  }

  /** Sends Markdown in as many messages as necessary. Returns the id of the last message. */
  async sendAnswer(
    place: ChatPlace,
    answer: string,
    keyboard?: TelegramKeyboard,
  ): Promise<number | undefined> {
    const messages = renderAnswer(answer)
    let last: number | undefined
    for (const [index, { text, entities }] of messages.entries()) {
      const isLast = index === messages.length - 1
      last = await this.#send(place, text, {
        ...(entities.length === 0 ? {} : { entities }),
        ...(isLast && keyboard !== undefined ? { reply_markup: keyboard } : {}),
      })
    }
    return last
  }

  /** Answers the press of a button. A press that is too old cannot be answered, so a failure is only logged. */
  async answerPress(queryId: string, text: string): Promise<void> {
    await this.#attempt('a press of a button could not be answered', () =>
      this.#api.answerCallbackQuery(queryId, { text }),
    )
  }

  /** Replaces or removes the keyboard of a message. */
  async setKeyboard(place: ChatPlace, messageId: number, keyboard?: TelegramKeyboard): Promise<void> {
    const other = keyboard === undefined ? {} : { reply_markup: keyboard }
    await this.#attempt('a keyboard could not be changed', () =>
      this.#api.editMessageReplyMarkup(place.chatId, messageId, other),
    )
  }

  /** Shows that the bot is typing until the work ends. */
  async whileTyping<T>(place: ChatPlace, work: () => Promise<T>): Promise<T> {
    let shown = this.#showTyping(place)
    const timer = setInterval(() => {
      shown = this.#showTyping(place)
    }, TYPING_MS - 1_000)
    try {
      return await work()
    } finally {
      clearInterval(timer)
      // A typing action that arrives after the answer would be shown for five more seconds.
      await shown
    }
  }

  async #showTyping({ chatId, threadId }: ChatPlace): Promise<void> {
    if (systemClock.monotonic() < this.#typingFrom) return
    try {
      await this.#api.sendChatAction(
        chatId,
        'typing',
        threadId === undefined ? {} : { message_thread_id: threadId },
      )
    } catch (error) {
      this.#typingFrom = systemClock.monotonic() + (readRetryAfter(error) ?? 0)
      this.#logger.debug('the typing action could not be sent', { error })
    }
  }

  async #send({ chatId, threadId }: ChatPlace, text: string, other: TelegramMessageOptions): Promise<number> {
    const options = threadId === undefined ? other : { ...other, message_thread_id: threadId }
    const call = async (): Promise<{ readonly message_id: number }> =>
      await this.#api.sendMessage(chatId, text, options)
    return (await withFloodControl(call, this.#patience)).message_id
  }

  async #attempt(fault: string, call: () => Promise<unknown>): Promise<void> {
    try {
      await withFloodControl(call, this.#patience)
    } catch (error) {
      this.#logger.warn(fault, { error })
    }
  }
}
