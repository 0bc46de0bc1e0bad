import { findByNameOrFolder, type SkillAccess } from '../activation/skill-access.ts'
import { normalizeName } from '../skill/skill-name.ts'

/** What to tell a model that called a tool which does not exist: often it takes a skill for one. */
export function describeUnknownTool(
  name: string,
  tools: readonly string[],
  access: Pick<SkillAccess, 'current' | 'isInScope'>,
  skillToolName: string,
): string {
  const quoted = JSON.stringify(name)
  const skill = findByNameOrFolder(access.current(), normalizeName(name), access.isInScope)
  if (skill !== undefined) {
    const input = JSON.stringify({ name: skill.name })
    return `there is no tool ${quoted}: it is a skill; call the tool ${JSON.stringify(skillToolName)} with ${input} and follow its instructions`
  }
  return `there is no tool ${quoted}; the tools are ${tools.map(tool => JSON.stringify(tool)).join(', ')}`
}
