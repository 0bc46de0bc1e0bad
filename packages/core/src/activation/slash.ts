import type { ScopeTest } from '../catalog/scope.ts'
import { SkillError } from '../errors.ts'
import type { KnownOptions } from '../options.ts'
import { findByNameOrFolder } from '../reader/find-by-name.ts'
import { useNewest } from '../reader/use-newest.ts'
import type { Generation } from '../registry/generation.ts'
import type { Skill } from '../skill/skill.ts'
import { isLoadableName, normalizeName } from '../skill/skill-name.ts'
import type { Conversation } from './conversation.ts'
import { invokeSkill, type SlashExpansion } from './invoke-skill.ts'

export interface SlashOptions {
  /** Commands of the host, without the slash. A reserved command never expands to a skill. @default [] */
  readonly reserved?: readonly string[]
}

export const KNOWN_SLASH: KnownOptions<SlashOptions> = { reserved: true }

/**
 * Puts the instructions of a skill into a message that begins with `/` and the skill's name. If several names match,
 * the longest name is used. A match must end at the end of a word: `/greet_foo` does not match `greet`. A message that
 * names an unknown, broken or out-of-scope skill stays unchanged.
 */
export async function expandSlash(
  message: string,
  conversation: Conversation,
  { reserved = [] }: SlashOptions = {},
): Promise<SlashExpansion> {
  const unchanged = { text: message }
  const [, command, word] = /^\s*\/((\S+).*)$/s.exec(message) ?? []
  if (command === undefined || word === undefined || reserved.includes(word)) return unchanged
  const { reader } = conversation
  await lookAgain({ command, word }, conversation)
  const name = normalizeName(word)
  try {
    return await useNewest(reader, { generation: reader.current, name }, async generation => {
      const found = findCommand(command, word, generation, reader.isInScope)
      if (found === undefined) return unchanged
      return await invokeSkill({ generation, skill: found.skill, name }, found.rest, conversation)
    })
  } catch (thrown) {
    if (SkillError.isInstance(thrown, 'REVISION_NOT_FOUND')) return unchanged
    throw thrown
  }
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
