// The part of grammY and of the Telegram Bot API that this entry uses. The types are structural, so this package does
// not depend on grammY. `tests/telegram-types.test-d.ts` compares them with the types of grammY.

/** A grammY `Bot`. Every `Bot` of grammY 1 has this type. */
export interface TelegramBot {
  readonly api: TelegramApi
  /** Adds a function that receives every update. */
  use(middleware: TelegramMiddleware): unknown
  /** Ends long polling, and confirms the received updates. Does nothing if the bot does not poll. */
  stop(): Promise<void>
}

export type TelegramMiddleware = (context: TelegramContext, next: () => Promise<void>) => Promise<void>

export interface TelegramContext {
  readonly update: TelegramUpdate
  /** The bot itself. */
  readonly me: { readonly username: string }
}

/** The methods of the Bot API that the connection calls. */
export interface TelegramApi {
  sendMessage(
    chatId: number,
    text: string,
    other?: TelegramMessageOptions,
  ): Promise<{ readonly message_id: number }>
  sendChatAction(
    chatId: number,
    action: 'typing',
    other?: { readonly message_thread_id?: number },
  ): Promise<unknown>
  setMyCommands(commands: TelegramCommand[]): Promise<unknown>
  answerCallbackQuery(queryId: string, other?: { readonly text?: string }): Promise<unknown>
  editMessageReplyMarkup(
    chatId: number,
    messageId: number,
    other?: { reply_markup?: TelegramKeyboard },
  ): Promise<unknown>
}

export interface TelegramMessageOptions {
  message_thread_id?: number
  reply_parameters?: { message_id: number; allow_sending_without_reply: boolean }
  entities?: TelegramEntity[]
  reply_markup?: TelegramKeyboard
}

/** A block of code in a message. Offset and length count UTF-16 code units. */
export interface TelegramEntity {
  type: 'pre'
  offset: number
  length: number
  language?: string
}

export interface TelegramCommand {
  command: string
  description: string
}

export interface TelegramKeyboard {
  inline_keyboard: TelegramButton[][]
}

export interface TelegramButton {
  text: string
  callback_data: string
}

export interface TelegramUpdate {
  readonly message?: TelegramMessage
  readonly edited_message?: TelegramMessage
  readonly callback_query?: TelegramCallbackQuery
}

export interface TelegramMessage {
  readonly message_id: number
  readonly chat: { readonly id: number; readonly type: string }
  readonly from?: { readonly id: number }
  readonly is_topic_message?: boolean
  readonly message_thread_id?: number
  readonly text?: string
  readonly caption?: string
  readonly photo?: readonly TelegramPhoto[]
  readonly document?: TelegramDocument
  readonly reply_markup?: ShownKeyboard
}

/** One size of a photo. */
export interface TelegramPhoto {
  readonly file_id: string
  readonly file_size?: number
}

export interface TelegramDocument {
  readonly file_id: string
  readonly file_name?: string
  readonly mime_type?: string
  readonly file_size?: number
}

export interface TelegramCallbackQuery {
  readonly id: string
  readonly from: { readonly id: number }
  readonly message?: TelegramMessage
  readonly data?: string
}

/** A keyboard below a received message. */
export interface ShownKeyboard {
  readonly inline_keyboard: readonly (readonly { readonly text: string; readonly callback_data?: string }[])[]
}
