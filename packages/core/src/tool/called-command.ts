/**
 * Returns the skill and the command of a call. Splits a command of the form `skill.command`. Returns `undefined` if the
 * skill or the command is missing.
 */
export function splitCalledCommand(
  skill: string | undefined,
  command: string | undefined,
): { readonly skill: string; readonly command: string } | undefined {
  if (command === undefined || command === '') return undefined
  const dot = command.lastIndexOf('.')
  const own = skill === undefined || skill === '' ? command.slice(0, Math.max(dot, 0)) : skill
  return own === '' ? undefined : { skill: own, command: command.slice(dot + 1) }
}
