import { setTimeout as delay } from 'node:timers/promises'
import type { SkillAgent } from '@skillstoke/agent'
import { createScopeTest, type Generation, type Skill } from '@skillstoke/core'
import type { Api } from 'grammy'

/** Receives a failure that users see only as a short sentence, or not at all. */
export type Log = (failure: unknown) => void

/** The commands of the bot itself, with their descriptions in the menu. */
const OWN_COMMANDS = new Map([
  ['skills', 'List the skills'],
  ['reset', 'Start a new conversation'],
  ['retry', 'Try the last message again'],
])
const MAX_COMMANDS = 100
/** Telegram also limits the total length of a menu, and does not document the limit. */
const MAX_DESCRIPTION = 64
/** How long a change of skills waits for further changes. */
const SETTLE_MS = 1_000

/** Returns the skills of an agent that users may invoke. */
export function listInvocable(generation: Generation, { options }: SkillAgent): readonly Skill[] {
  const isInScope = createScopeTest(options.scope)
  return generation.list().filter(({ name, extra }) => isInScope(name) && extra['user-invocable'] !== false)
}

/**
 * Returns the command of each skill, for example `release_notes` for `release-notes`. If two skills have the same
 * command, it belongs to the skill with exactly this name, or else to the first one.
 */
export function toCommands(skills: readonly Skill[]): ReadonlyMap<string, Skill> {
  const commands = new Map<string, Skill>()
  for (const skill of skills) {
    const command = toCommandName(skill.name)
    const isFree = !commands.has(command) || command === skill.name
    if (isFree && !OWN_COMMANDS.has(command)) commands.set(command, skill)
  }
  return commands
}

/** Returns 1 to 32 lower-case letters, digits and underscores, which Telegram accepts as a command. */
function toCommandName(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const words = plain.replaceAll(/[^a-z0-9]+/g, '_').replaceAll(/^_|_$/g, '')
  return words.slice(0, 32).replace(/_$/, '') || 'skill'
}

/** Returns the description of a skill in one line. */
export function toDescription({ description }: Skill): string {
  const line = description.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
  return line.length <= MAX_DESCRIPTION ? line : `${line.slice(0, MAX_DESCRIPTION - 1).toWellFormed()}…`
}

/**
 * Returns the message for the agent, in which a command of Telegram is replaced by the name of its skill. Returns
 * `undefined` if a command names no skill.
 */
export function toInput(message: string, skills: readonly Skill[]): string | undefined {
  const [, word, rest = ''] = /^\/([\w-]+)(?:@\w+)?(?=\s|$)(.*)$/s.exec(message) ?? []
  if (word === undefined) return message
  // A name may have several words. The agent finds the longest name.
  const typed = `${word}${rest}`
  if (skills.some(({ name }) => typed.startsWith(name) && /^(?:\s|$)/.test(typed.slice(name.length))))
    return `/${typed}`
  const skill = toCommands(skills).get(word.toLowerCase())
  return skill && `/${skill.name}${rest}`
}

/** Keeps the menu of commands in Telegram equal to the skills until the signal aborts. */
export async function updateMenu(agent: SkillAgent, api: Api, signal: AbortSignal, log: Log): Promise<void> {
  const { skills } = agent.options
  let published: string | undefined
  for await (const _ of skills.watch(signal)) {
    if (published !== undefined) await delay(SETTLE_MS, undefined, { signal }).catch(() => undefined)
    const menu = new Map(OWN_COMMANDS)
    for (const [command, skill] of toCommands(listInvocable(skills.current, agent)))
      menu.set(command, toDescription(skill))
    const commands = [...menu]
      .slice(0, MAX_COMMANDS)
      .map(([command, description]) => ({ command, description }))
    if (JSON.stringify(commands) === published || signal.aborted) continue
    published = JSON.stringify(commands)
    await api.setMyCommands(commands).catch((error: unknown) => {
      if (!signal.aborted) log(error)
    })
  }
}
