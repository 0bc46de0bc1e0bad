import { escapeEndTag, escapeText } from '../catalog/escape.ts'
import { toKnownName } from '../reader/find-by-name.ts'
import type { Generation } from '../registry/generation.ts'
import type { Skill } from '../skill/skill.ts'
import type { Conversation } from './conversation.ts'
import { noteLostFile } from './lost-skill-file.ts'
import {
  orderArguments,
  readArgumentNames,
  substituteArguments,
  toArguments,
} from './substitute-arguments.ts'

/** A skill of a generation, and the name under which a model or a person asked for it. */
export interface AskedSkill {
  readonly generation: Generation
  readonly skill: Skill
  readonly name: string
}

/** The result of expanding a message. */
export interface SlashExpansion {
  /** The message for the model: the arguments as a person types them, followed by the instructions. */
  readonly text: string
  /** The skill whose instructions the text contains; absent if the message names no skill and stays unchanged. */
  readonly skill?: Skill
  /** The arguments as a person types them. */
  readonly arguments?: string
}

/**
 * Reads the instructions of a skill, and records that the conversation received them. Does not read the folder of the
 * skill again.
 * @throws {SkillError} REVISION_NOT_FOUND; `signal.reason` when the signal aborts; in this case, nothing is recorded
 */
export async function activateSkill(
  { generation, skill, name }: AskedSkill,
  conversation: Conversation,
  signal?: AbortSignal,
): Promise<string> {
  const body = await conversation.reader.readBody(skill)
  signal?.throwIfAborted()
  conversation.activate(skill, toKnownName(generation, skill, name))
  return body
}

/**
 * Puts the instructions of a skill into a message, with arguments in place of their names. Does not read the folder of
 * the skill again.
 * @param given the arguments: the typed text, or a text for each name
 */
export async function invokeSkill(
  asked: AskedSkill,
  given: string | Readonly<Record<string, string>>,
  conversation: Conversation,
): Promise<Required<SlashExpansion>> {
  const { skill } = asked
  const names = readArgumentNames(skill.extra)
  const values = typeof given === 'string' ? toArguments(given) : orderArguments(names, given)
  const body = substituteArguments(await activateSkill(asked, conversation), values, names)
  // In the format of crabtalk. A closing tag in the instructions is escaped, so that it cannot end the block.
  const block = `<skill name="${escapeText(skill.name)}">\n${escapeEndTag(body, 'skill')}\n</skill>`
  const note = noteLostFile(skill)
  const shown = note === undefined ? block : `${block}\n${note}`
  return { text: values.text === '' ? shown : `${values.text}\n\n${shown}`, skill, arguments: values.text }
}
