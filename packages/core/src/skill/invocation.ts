import type { Skill } from './skill.ts'

/** Returns whether a person may invoke the skill, for example with a slash command or an MCP prompt. */
export function isUserInvocable({ extra }: Pick<Skill, 'extra'>): boolean {
  return extra['user-invocable'] !== false
}

/**
 * Returns whether a model may find and load the skill by itself. If not, the skill is in no catalog and no list of the
 * skill tool, and enters a conversation only when a person invokes it.
 */
export function isModelInvocable({ extra }: Pick<Skill, 'extra'>): boolean {
  return extra['disable-model-invocation'] !== true
}
