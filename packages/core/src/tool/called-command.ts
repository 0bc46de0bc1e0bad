/**
 * Splits a called command into skill and command, also from the form `skill.command`. Returns `undefined` if a part is
 * missing.
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
