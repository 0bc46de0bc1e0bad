import { quote, quoteAll, showValue } from '../quote.ts'
import { findByNameOrFolder } from '../reader/find-by-name.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import { normalizeName } from '../skill/skill-name.ts'
import { TOOL_NAMES } from './tool-names.ts'

/** Returns the answer to a model that called an unknown tool. Often the model mistook a skill for a tool. */
export function describeUnknownTool(
  name: string,
  tools: readonly string[],
  reader: SkillReader,
  skillToolName: string,
): string {
  const quoted = quote(name)
  const skill = findByNameOrFolder(reader.current, normalizeName(name), reader.isInScope)
  if (skill !== undefined) {
    const input = showValue({ name: skill.name })
    return `there is no tool ${quoted}: it is a skill; call the tool ${quote(skillToolName)} with ${input} and follow its instructions`
  }
  const meant = findCommand(name, reader)
  if (meant !== undefined)
    return meant.problem === undefined
      ? `there is no tool ${quoted}: it is a command of a skill; call the tool "${TOOL_NAMES.runCommand}" with ${showValue({ skill: meant.skill, command: meant.command })} and its input`
      : `there is no tool ${quoted}; not all commands of ${quote(meant.skill)} are there: ${meant.problem}`
  return `there is no tool ${quoted}; the tools are ${quoteAll(tools)}`
}

/**
 * Finds the command that a model called in the form `skill.command` or `skill__command`. Other servers use these forms.
 */
function findCommand(
  name: string,
  reader: SkillReader,
): { readonly skill: string; readonly command: string; readonly problem?: string } | undefined {
  const [, skillName = '', command = ''] = /^(.+?)(?:\.|__)([A-Za-z0-9_-]+)$/.exec(name) ?? []
  const skill = findByNameOrFolder(reader.current, normalizeName(skillName), reader.isInScope)
  if (skill === undefined) return undefined
  const { commands, problem } = reader.commandsOf(skill)
  if (commands.some(each => each.name === command)) return { skill: skill.name, command }
  return problem === undefined ? undefined : { skill: skill.name, command, problem }
}
