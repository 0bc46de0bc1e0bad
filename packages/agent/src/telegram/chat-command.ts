import type { Skill } from '@skillstoke/core'
import { isUserInvocable } from '@skillstoke/core/internal'
import { cutText } from './cut-text.ts'
import type { TelegramCommand } from './telegram-bot.ts'

/** The commands of the connection itself. */
export const OWN_COMMANDS = ['start', 'skills', 'reset', 'retry'] as const
export type OwnCommand = (typeof OWN_COMMANDS)[number]

const MENU: Readonly<Record<Exclude<OwnCommand, 'start'>, string>> = {
  skills: 'List the skills',
  reset: 'Start a new conversation',
  retry: 'Try the last message again',
}

/** The largest number of commands in a menu. */
const MAX_COMMANDS = 100
const MAX_NAME_LENGTH = 32
/** The longest description of a command in a menu. */
export const MAX_DESCRIPTION_LENGTH = 256
const MIN_DESCRIPTION_LENGTH = 3

/** A skill, and the command that invokes it in Telegram. */
export interface InvocableSkill {
  readonly skill: Skill
  /** Without the slash. */
  readonly command: string
}

/** What a message that begins with `/` asks for. */
export type ChatCommand =
  | { readonly kind: 'own'; readonly name: OwnCommand }
  /** Invokes a skill. `text` contains the name of the skill as its author wrote it. */
  | { readonly kind: 'skill'; readonly text: string }
  | { readonly kind: 'unknown'; readonly word: string }
  /** The message names no command, for example because it begins with a path. */
  | { readonly kind: 'none' }

/**
 * Returns a name that Telegram accepts for a command: 1 to 32 lower-case letters, digits and underscores. For example,
 * `release-notes` becomes `release_notes`.
 */
export function toCommandName(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const words = plain.replaceAll(/[^a-z0-9]+/g, '_').replaceAll(/^_|_$/g, '')
  return words.slice(0, MAX_NAME_LENGTH).replace(/_$/, '') || 'skill'
}

/**
 * Gives every skill that users may invoke its own command. A skill whose name is a command keeps its name; other skills
 * with the same command get a number. Returns the skills in their order.
 */
export function listInvocable(
  skills: readonly Skill[],
  reserved: readonly string[] = [],
): readonly InvocableSkill[] {
  const invocable = skills.filter(skill => isUserInvocable(skill) && !reserved.includes(skill.name))
  const taken = new Set<string>([...OWN_COMMANDS, ...reserved])
  const exact = invocable.filter(({ name }) => toCommandName(name) === name)
  const commands = new Map(
    [...exact, ...invocable.filter(skill => !exact.includes(skill))].map(skill => {
      const command = findFree(toCommandName(skill.name), taken)
      taken.add(command)
      return [skill, command]
    }),
  )
  return invocable.map(skill => ({ skill, command: commands.get(skill) ?? toCommandName(skill.name) }))
}

function findFree(command: string, taken: ReadonlySet<string>): string {
  let free = command
  for (let number = 2; taken.has(free); number++) {
    const suffix = `_${number}`
    free = command.slice(0, MAX_NAME_LENGTH - suffix.length) + suffix
  }
  return free
}

/** Returns the commands for Telegram's menu. The commands of the host come first, then the connection's own commands. */
export function toMenu(
  skills: readonly InvocableSkill[],
  host: readonly TelegramCommand[] = [],
  maxDescription: number = MAX_DESCRIPTION_LENGTH,
): TelegramCommand[] {
  const own = Object.entries(MENU)
    .map(([command, description]) => ({ command, description }))
    .filter(({ command }) => host.every(each => each.command !== command))
  const others = skills.map(({ skill, command }) => ({
    command,
    description: toDescription(skill, maxDescription),
  }))
  return [...host, ...own, ...others].slice(0, MAX_COMMANDS)
}

/** Returns the description of a skill in one line. */
export function toDescription({ name, description }: Skill, maxLength: number): string {
  const line = description.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
  const text = line.length < MIN_DESCRIPTION_LENGTH ? `Skill ${name}` : line
  if (text.length <= maxLength) return text
  return `${cutText(text, maxLength - 1)}…`
}

/** Returns the first word of a message that begins with `/`, without the slash and without the name of this bot. */
export function readWord(text: string, username: string): string | undefined {
  const [, word] = /^\/(\S+)/.exec(text) ?? []
  const suffix = `@${username}`.toLowerCase()
  return word?.toLowerCase().endsWith(suffix) === true ? word.slice(0, -suffix.length) : word
}

/** True if the first word names another bot, so that this bot must not answer. */
export function isForOther(text: string, username: string): boolean {
  const [, name] = /^\/\w+@(\w+)(?:\s|$)/.exec(text) ?? []
  return name !== undefined && name.toLowerCase() !== username.toLowerCase()
}

/** Finds the command that a message names, by its name in Telegram or by the name of the skill. */
export function readCommand(
  message: string,
  username: string,
  skills: readonly Skill[],
  invocable: readonly InvocableSkill[],
): ChatCommand {
  const word = readWord(message, username)
  if (word === undefined) return { kind: 'none' }
  const rest = message.slice(message.search(/\s|$/))
  const name = word.toLowerCase()
  const own = OWN_COMMANDS.find(each => each === name)
  if (own !== undefined) return { kind: 'own', name: own }
  const named = findNamed(word, rest, skills)
  if (named !== undefined && invocable.some(({ skill }) => skill === named.skill))
    return { kind: 'skill', text: named.text }
  const mapped = invocable.find(({ command }) => command === name)
  if (mapped !== undefined) return { kind: 'skill', text: `/${mapped.skill.name}${rest}` }
  // A skill that users may not invoke is reported in the same way as a skill that does not exist.
  return named !== undefined || /^[\w-]+$/.test(word) ? { kind: 'unknown', word } : { kind: 'none' }
}

/**
 * Finds the skill in the same way as `expandSlash()`: the longest name that ends at the end of a word, or else the name
 * of a folder.
 */
function findNamed(
  word: string,
  rest: string,
  skills: readonly Skill[],
): { readonly skill: Skill; readonly text: string } | undefined {
  const typed = `${word}${rest}`.normalize('NFKC')
  const [longest] = skills
    .filter(({ name }) => typed.startsWith(name) && /^(?:\s|$)/.test(typed.slice(name.length)))
    .sort((a, b) => b.name.length - a.name.length)
  if (longest !== undefined) return { skill: longest, text: `/${word}${rest}` }
  const folder = skills.find(({ location }) => location.split('/').at(-1) === word.normalize('NFKC'))
  return folder && { skill: folder, text: `/${folder.name}${rest}` }
}
