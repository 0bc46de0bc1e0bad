import { findByNameOrFolder, type SkillAccess } from '../activation/skill-access.ts'
import { normalizeName } from '../skill/skill-name.ts'

/** What to tell a model that called a tool which does not exist: often it takes a skill for one. */
export function describeUnknownTool(
  name: string,
  tools: readonly string[],
  access: Pick<SkillAccess, 'current' | 'isInScope' | 'commandsOf'>,
  skillToolName: string,
): string {
  const quoted = JSON.stringify(name)
  const skill = findByNameOrFolder(access.current(), normalizeName(name), access.isInScope)
  if (skill !== undefined) {
    const input = JSON.stringify({ name: skill.name })
    return `there is no tool ${quoted}: it is a skill; call the tool ${JSON.stringify(skillToolName)} with ${input} and follow its instructions`
  }
  const meant = findCommand(name, access)
  if (meant !== undefined)
    return `there is no tool ${quoted}: it is a command of a skill; call the tool "run_skill_command" with ${JSON.stringify(meant)} and its input`
  return `there is no tool ${quoted}; the tools are ${tools.map(tool => JSON.stringify(tool)).join(', ')}`
}

/** `skill.command` or `skill__command`, as other servers would call it. */
function findCommand(
  name: string,
  access: Pick<SkillAccess, 'current' | 'isInScope' | 'commandsOf'>,
): { readonly skill: string; readonly command: string } | undefined {
  const [, skillName = '', command = ''] = /^(.+?)(?:\.|__)([A-Za-z0-9_-]+)$/.exec(name) ?? []
  const skill = findByNameOrFolder(access.current(), normalizeName(skillName), access.isInScope)
  const isThere =
    skill !== undefined && access.commandsOf?.(skill).some(each => each.name === command) === true
  return isThere ? { skill: skill.name, command } : undefined
}
