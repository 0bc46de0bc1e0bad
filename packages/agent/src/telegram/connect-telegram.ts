import { type Logger, SkillError } from '@skillstoke/core'
import {
  checkOptions,
  checkWholeNumber,
  type KnownOptions,
  quote,
  silentLogger,
} from '@skillstoke/core/internal'
import type { SkillAgent } from '../skill-agent.ts'
import { MAX_DESCRIPTION_LENGTH } from './chat-command.ts'
import type { TelegramFile } from './read-update.ts'
import type { TelegramBot, TelegramCommand } from './telegram-bot.ts'
import { TelegramConnection } from './telegram-connection.ts'

export interface TelegramOptions {
  /**
   * Returns whether a user may use the agent and its tools. With `everyone`, every user of Telegram may. There is no
   * default, so that an agent is not open by accident.
   */
  readonly allow: ((userId: number) => boolean) | 'everyone'
  /** Reads a file that a user sent, with `bot.api.getFile`. @default photos and documents are refused */
  readonly readFile?: (file: TelegramFile) => Promise<Uint8Array>
  /** The largest file that is read. @default 5,000,000 */
  readonly maxFileBytes?: number
  /** The bot's other commands. They are in the menu, and updates with them go to the other handlers. @default none */
  readonly commands?: readonly TelegramCommand[]
  /** Receives the failures that users see only as a short sentence. @default no log */
  readonly logger?: Logger
}

export const DEFAULT_MAX_FILE_BYTES = 5_000_000

const KNOWN: KnownOptions<TelegramOptions> = {
  allow: true,
  readFile: true,
  maxFileBytes: true,
  commands: true,
  logger: true,
}

/**
 * Connects an agent to a Telegram bot: one conversation for each chat or topic. Call this function before you start the
 * bot. The caller starts the bot; `close()` stops it.
 * @throws {SkillError} INVALID_OPTION
 *
 * @example
 * ```ts no-run
 * import { createOfflineModel, SkillAgent } from '@skillstoke/agent'
 * import { connectTelegram } from '@skillstoke/agent/telegram'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { Bot } from 'grammy'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * await using agent = new SkillAgent({ skills, model: createOfflineModel() })
 * const bot = new Bot('1234:token')
 * await using chats = connectTelegram(bot, agent, { allow: userId => userId === 5678 })
 * process.once('SIGINT', () => void chats.close())
 * await bot.start()
 * ```
 */
export function connectTelegram(
  bot: TelegramBot,
  agent: SkillAgent,
  options: TelegramOptions,
): TelegramConnection {
  checkOptions('connectTelegram()', options, KNOWN)
  const { allow, readFile, maxFileBytes = DEFAULT_MAX_FILE_BYTES, logger = silentLogger } = options
  checkAllow(allow)
  checkWholeNumber('maxFileBytes', maxFileBytes, 1)
  const commands = options.commands ?? []
  for (const command of commands) checkCommand(command)
  return new TelegramConnection({
    ...{ bot, agent, commands, logger },
    isAllowed: userId => isAllowed(allow, userId, logger),
    attachments: readFile && { readFile, maxFileBytes },
  })
}

function checkAllow(allow: unknown): void {
  if (typeof allow === 'function' || allow === 'everyone') return
  const shown = typeof allow === 'string' ? quote(allow) : String(allow)
  throw new SkillError(
    'INVALID_OPTION',
    `allow is ${shown}; use a function that receives a user id, or "everyone" to let every user of Telegram use the agent`,
  )
}

function checkCommand({ command, description }: TelegramCommand): void {
  if (!/^[a-z0-9_]{1,32}$/.test(command))
    throw new SkillError(
      'INVALID_OPTION',
      `the command ${quote(command)} is not valid; use 1 to 32 lower-case letters, digits and underscores`,
    )
  if (description.length < 1 || description.length > MAX_DESCRIPTION_LENGTH)
    throw new SkillError(
      'INVALID_OPTION',
      `the description of the command "${command}" has ${description.length} characters; use 1 to ${MAX_DESCRIPTION_LENGTH}`,
    )
}

/** Refuses a user unless `allow` returns exactly `true`, because a promise would allow everyone. */
function isAllowed(allow: TelegramOptions['allow'], userId: number | undefined, logger: Logger): boolean {
  if (allow === 'everyone') return true
  if (userId === undefined) return false
  try {
    const answer: unknown = allow(userId)
    if (typeof answer !== 'boolean')
      logger.error('allow returned no boolean, so the user is refused', { userId, answer })
    return answer === true
  } catch (error) {
    logger.error('allow failed, so the user is refused', { userId, error })
    return false
  }
}
