// Connects the agent to a Telegram bot. Exports no code of grammY, because the caller creates the bot.
export { connectTelegram, DEFAULT_MAX_FILE_BYTES, type TelegramOptions } from './connect-telegram.ts'
export type { TelegramFile } from './read-update.ts'
export type { TelegramBot, TelegramCommand } from './telegram-bot.ts'
export type { TelegramConnection } from './telegram-connection.ts'
