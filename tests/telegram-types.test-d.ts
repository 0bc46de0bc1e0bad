import type { TelegramBot, TelegramFile, TelegramOptions } from '@skillstoke/agent/telegram'
import type { Bot, Context, SessionFlavor } from 'grammy'
import type { Document, PhotoSize } from 'grammy/types'

// The step "build and types" of the gate compiles this file. `connectTelegram` must accept the bots of grammY without a
// cast, although the package does not depend on grammY.
export const plain = (bot: Bot): TelegramBot => bot
export const withSession = (bot: Bot<Context & SessionFlavor<{ count: number }>>): TelegramBot => bot
// @ts-expect-error: the API of a bot is not the bot itself
export const apiOnly = (bot: Bot): TelegramBot => bot.api

/** Reads the file as grammY describes it, and needs no type of ours. */
export const readFile =
  (bot: Bot): NonNullable<TelegramOptions['readFile']> =>
  async ({ fileId }) => {
    const { file_path: path } = await bot.api.getFile(fileId)
    const response = await fetch(`https://api.telegram.org/file/bot${bot.token}/${path}`)
    return new Uint8Array(await response.arrayBuffer())
  }
export const documentOf = ({ file_id: fileId, mime_type: mediaType = '' }: Document): TelegramFile => ({
  ...{ fileId, kind: 'document', mediaType },
})
export const photoOf = ({ file_id: fileId }: PhotoSize): TelegramFile => ({
  ...{ fileId, kind: 'photo', mediaType: 'image/jpeg' },
})
