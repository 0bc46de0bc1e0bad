import { escapeEndTag, escapeText } from '../catalog/escape.ts'
import type { ScopeTest } from '../catalog/scope.ts'
import { SkillError } from '../errors.ts'
import type { KnownOptions } from '../options.ts'
import { findByNameOrFolder, toKnownName } from '../reader/find-by-name.ts'
import { useNewest } from '../reader/use-newest.ts'
import type { Generation } from '../registry/generation.ts'
import type { Skill } from '../skill/skill.ts'
import { isLoadableName, normalizeName } from '../skill/skill-name.ts'
import type { Conversation } from './conversation.ts'
import { noteLostFile } from './lost-skill-file.ts'
import {
  orderArguments,
  readArgumentNames,
  substituteArguments,
  toArguments,
} from './substitute-arguments.ts'

/** The result of expanding a message. */
export interface SlashExpansion {
  /** The message for the model; equal to the input if the input names no skill. */
  readonly text: string
  /** The skill whose instructions the text contains; absent if the message is unchanged. */
  readonly skill?: Skill
  /** The text after the name, trimmed. */
  readonly arguments?: string
}

export interface SlashOptions {
  /** Commands of the host, without the slash. A reserved command never expands to a skill. @default [] */
  readonly reserved?: readonly string[]
  /**
   * The arguments by name, for example from a form. They replace the text after the name of the skill. The names are
   * those of the field `arguments` or, without this field, of `argument-hint`. If a skill has no names, `ARGUMENTS` is
   * the whole text.
   */
  readonly values?: Readonly<Record<string, string>>
}

export const KNOWN_SLASH: KnownOptions<SlashOptions> = { reserved: true, values: true }

/**
 * Puts the instructions of a skill into a message that begins with `/` and the skill's name. If several names match,
 * the longest name is used. A match must end at the end of a word: `/greet_foo` does not match `greet`. A message that
 * names an unknown, broken or out-of-scope skill stays unchanged.
 */
export async function expandSlash(
  message: string,
  conversation: Conversation,
  options: SlashOptions = {},
): Promise<SlashExpansion> {
  const unchanged = { text: message }
  const command = /^\s*\/(.*)$/s.exec(message)?.[1]
  const [word] = command?.split(/\s/, 1) ?? []
  if (command === undefined || word === undefined || word === '') return unchanged
  if (options.reserved?.includes(word) === true) return unchanged
  await lookAgain({ command, word }, conversation)
  const expand = async (generation: Generation): Promise<SlashExpansion> =>
    await expandFrom(generation, { message, command, word }, conversation, options)
  const asked = { generation: conversation.reader.current, name: normalizeName(word) }
  return await useNewest(conversation.reader, asked, expand).catch((thrown: unknown) => {
    if (SkillError.isInstance(thrown, 'REVISION_NOT_FOUND')) return unchanged
    throw thrown
  })
}

/**
 * Reads the folders that may contain the named skill. A name may have several words.
 * @throws {SkillError} TIMED_OUT when the newest text of a known skill cannot be read
 */
async function lookAgain(
  { command, word }: Readonly<Record<'command' | 'word', string>>,
  { reader }: Conversation,
): Promise<void> {
  const known = findCommand(command, word, reader.current, reader.isInScope)?.skill.name
  const name = known ?? normalizeName(word)
  if (!isLoadableName(name)) return
  try {
    await reader.refresh(name)
  } catch (thrown) {
    // A message such as "/etc is full" names no skill, so a slow disk must not refuse it.
    if (known !== undefined || !SkillError.isInstance(thrown, 'TIMED_OUT')) throw thrown
  }
}

async function expandFrom(
  generation: Generation,
  { message, command, word }: Readonly<Record<'message' | 'command' | 'word', string>>,
  conversation: Conversation,
  options: SlashOptions,
): Promise<SlashExpansion> {
  const found = findCommand(command, word, generation, conversation.reader.isInScope)
  if (found === undefined) return { text: message }
  const { skill } = found
  const names = readArgumentNames(skill.extra)
  const given = options.values === undefined ? toArguments(found.rest) : orderArguments(names, options.values)
  const rest = given.text
  const body = await conversation.reader.readBody(skill)
  conversation.activate(skill, toKnownName(generation, skill, normalizeName(word)))
  const block = renderBlock(skill.name, substituteArguments(body, given, names))
  const note = noteLostFile(skill)
  const shown = note === undefined ? block : `${block}\n${note}`
  return { text: rest === '' ? shown : `${rest}\n\n${shown}`, skill, arguments: rest }
}

function findCommand(
  command: string,
  word: string,
  generation: Generation,
  isInScope: ScopeTest,
): { skill: Skill; rest: string } | undefined {
  // Skill names are compared in normal form (NFKC). The text after the name stays as the user typed it.
  const text = command.normalize('NFKC')
  let best: Skill | undefined
  for (const skill of generation.list()) {
    const { name } = skill
    const isNamed = text.startsWith(name) && /^(?:\s|$)/.test(text.slice(name.length))
    if (isNamed && name.length > (best?.name.length ?? 0) && isInScope(name)) best = skill
  }
  const length = best === undefined ? word.length : lengthOfName(command, best.name)
  const skill = best ?? findByNameOrFolder(generation, normalizeName(word), isInScope)
  return skill === undefined ? undefined : { skill, rest: command.slice(length).trim() }
}

/**
 * Returns how many characters at the start of the command spell the skill name. The count may differ from the length of
 * the name, because the name is in normal form (NFKC).
 */
function lengthOfName(command: string, name: string): number {
  let length = 0
  while (length < command.length && command.slice(0, length).normalize('NFKC') !== name) length++
  return length
}

/**
 * Renders the instructions in the format of crabtalk. A closing tag in the instructions is escaped, so that it cannot
 * end the block.
 */
function renderBlock(name: string, body: string): string {
  return `<skill name="${escapeText(name)}">\n${escapeEndTag(body, 'skill')}\n</skill>`
}
