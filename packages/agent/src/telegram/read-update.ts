import { type Press, readPress } from './approval-keyboard.ts'
import type { ChatPlace } from './chat-place.ts'
import type { ShownKeyboard, TelegramMessage, TelegramUpdate } from './telegram-bot.ts'

/** A photo or a document that a user sent. */
export interface TelegramFile {
  /** Pass this id to `bot.api.getFile`. */
  readonly fileId: string
  readonly kind: 'photo' | 'document'
  /** The file name of a document, as the user's device reported it. */
  readonly name?: string
  /** As the user's device reported it. @default 'application/octet-stream' for a document */
  readonly mediaType: string
  /** Absent if Telegram did not report the size. */
  readonly bytes?: number
}

interface Received {
  readonly place: ChatPlace
  /** Absent for a message that a channel sent. */
  readonly userId: number | undefined
  readonly messageId: number
  readonly isPrivate: boolean
}

/** An update that the connection handles. */
export type Incoming = Received &
  (
    | { readonly kind: 'text'; readonly text: string }
    /** A photo in several sizes, the smallest first, or one document. */
    | { readonly kind: 'file'; readonly sizes: readonly TelegramFile[]; readonly caption: string }
    | { readonly kind: 'edit' }
    | { readonly kind: 'unsupported' }
    | IncomingPress
  )

/** A press of a button that approves or declines a tool call. */
export interface IncomingPress {
  readonly kind: 'press'
  readonly queryId: string
  readonly press: Press
  readonly keyboard: ShownKeyboard | undefined
}

/** Content of a message that gets the answer "unsupported". Service messages, for example about new members, get no answer. */
const UNSUPPORTED = [
  'animation',
  'audio',
  'checklist',
  'contact',
  'dice',
  'game',
  'location',
  'paid_media',
  'poll',
  'sticker',
  'story',
  'venue',
  'video',
  'video_note',
  'voice',
] as const

/** Returns `undefined` for an update that other handlers of the bot may handle. */
export function readUpdate(update: TelegramUpdate): Incoming | undefined {
  const { message, edited_message: edited, callback_query: query } = update
  if (message !== undefined) return readMessage(message)
  if (edited !== undefined) {
    // Live locations are edited messages, too.
    const isText = edited.text !== undefined || edited.caption !== undefined
    return isText ? { ...readOrigin(edited), kind: 'edit' } : undefined
  }
  const press = readPress(query?.data ?? '')
  if (query?.message === undefined || press === undefined) return undefined
  return {
    ...readOrigin(query.message),
    userId: query.from.id,
    kind: 'press',
    queryId: query.id,
    press,
    keyboard: query.message.reply_markup,
  }
}

function readMessage(message: TelegramMessage): Incoming | undefined {
  const origin = readOrigin(message)
  const { text, caption = '', photo, document } = message
  if (text !== undefined) return { ...origin, kind: 'text', text }
  // Telegram also sets `document` for an animation.
  if (UNSUPPORTED.some(kind => Object.hasOwn(message, kind))) return { ...origin, kind: 'unsupported' }
  if (photo !== undefined) {
    const sizes = photo.map(
      ({ file_id: fileId, file_size: bytes }): TelegramFile => ({
        ...{ fileId, kind: 'photo', mediaType: 'image/jpeg' },
        ...(bytes === undefined ? {} : { bytes }),
      }),
    )
    return { ...origin, kind: 'file', sizes, caption }
  }
  if (document === undefined) return undefined
  const { file_id: fileId, file_name: name, mime_type: mediaType, file_size: bytes } = document
  const file: TelegramFile = {
    ...{ fileId, kind: 'document', mediaType: mediaType ?? 'application/octet-stream' },
    ...(name === undefined ? {} : { name }),
    ...(bytes === undefined ? {} : { bytes }),
  }
  return { ...origin, kind: 'file', sizes: [file], caption }
}

function readOrigin(message: TelegramMessage): Received {
  const { chat, from, message_thread_id: threadId } = message
  // In a group without topics, a chain of replies also has a thread id. Such a chain belongs to the chat.
  const isTopic = message.is_topic_message === true && threadId !== undefined
  return {
    place: isTopic ? { chatId: chat.id, threadId } : { chatId: chat.id },
    userId: from?.id,
    messageId: message.message_id,
    isPrivate: chat.type === 'private',
  }
}
