import type { Logger } from '@skillstoke/core'
import { systemClock } from '@skillstoke/core/source'
import { type InvocableSkill, MAX_DESCRIPTION_LENGTH, toMenu } from './chat-command.ts'
import { isRefusal, withFloodControl } from './flood-control.ts'
import type { TelegramApi, TelegramCommand } from './telegram-bot.ts'

export interface CommandMenuParts {
  readonly api: TelegramApi
  readonly subscribe: (subscriber: () => void) => () => void
  readonly listSkills: () => readonly InvocableSkill[]
  /** The commands of the host. */
  readonly commands: readonly TelegramCommand[]
  readonly logger: Logger
}

/** How long a change of skills waits for further changes. */
const DELAY_MS = 1_000
/** Telegram also limits the total length of a menu. The limit is not documented, so shorter descriptions are tried. */
const DESCRIPTION_LENGTHS = [MAX_DESCRIPTION_LENGTH, 128, 64, 32]

/** Keeps the menu of commands in Telegram equal to the skills. */
export class CommandMenu {
  readonly #parts: CommandMenuParts
  readonly #closing = new AbortController()
  readonly #unsubscribe: () => void
  /** The menu that Telegram accepted last, as JSON. */
  #published: string | undefined
  #publishing: Promise<void>
  #cancel: (() => void) | undefined

  constructor(parts: CommandMenuParts) {
    this.#parts = parts
    this.#publishing = this.#publish()
    this.#unsubscribe = parts.subscribe(() => {
      this.#cancel ??= systemClock.after(DELAY_MS, () => {
        this.#cancel = undefined
        this.#publishing = this.#publishing.then(() => this.#publish())
      })
    })
  }

  /** Stops following the skills, and waits for the running call. */
  async close(): Promise<void> {
    this.#unsubscribe()
    this.#cancel?.()
    this.#closing.abort()
    await this.#publishing
  }

  async #publish(): Promise<void> {
    if (this.#closing.signal.aborted) return
    const skills = this.#parts.listSkills()
    const key = JSON.stringify(toMenu(skills, this.#parts.commands))
    if (key === this.#published) return
    try {
      await this.#send(skills)
      this.#published = key
    } catch (error) {
      if (!this.#closing.signal.aborted)
        this.#parts.logger.warn('the menu of commands could not be set', { error })
    }
  }

  async #send(skills: readonly InvocableSkill[]): Promise<void> {
    for (const maxDescription of DESCRIPTION_LENGTHS) {
      try {
        await this.#set(toMenu(skills, this.#parts.commands, maxDescription))
        return
      } catch (thrown) {
        if (!isRefusal(thrown, 'BOT_COMMANDS_TOO_MUCH') || maxDescription === DESCRIPTION_LENGTHS.at(-1))
          throw thrown
      }
    }
  }

  async #set(commands: TelegramCommand[]): Promise<void> {
    const patience = { signal: this.#closing.signal, graceMs: 0 }
    await withFloodControl(async () => await this.#parts.api.setMyCommands(commands), patience)
  }
}
