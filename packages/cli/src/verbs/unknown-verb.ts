import type { Command } from 'commander'
import { editDistance } from '../config/known-values.ts'

/** Makes each unknown verb an error with a suggestion. */
export function refuseUnknownVerbs(program: Command): void {
  for (const command of [program, ...program.commands.filter(each => each.commands.length > 0)])
    command.on('command:*', ([verb = '']: readonly string[]) => refuse(verb, command))
}

/**
 * Prints the help of a verb, for example of `fleet publish`. Prints nothing if no verb is given.
 * @throws {CommanderError} always if a verb is given, because that is how the library ends a command
 */
export function printHelp(program: Command, verbs: readonly string[]): void {
  let command = program
  for (const verb of verbs) command = findVerb(verb, command) ?? refuse(verb, command)
  if (command !== program) command.help()
}

/** Returns the verb of a command that has this name or alias. */
export function findVerb(verb: string, { commands }: Command): Command | undefined {
  return commands.find(each => each.name() === verb || each.aliases().includes(verb))
}

function refuse(verb: string, command: Command): never {
  const near = command.commands.filter(each =>
    [each.name(), ...each.aliases()].some(name => isNear(verb, name)),
  )
  const names = near.map(each => `"${each.name()}"`)
  const hint = names.length === 0 ? '' : `; did you mean ${names.join(' or ')}?`
  return command.error(`error: there is no verb ${JSON.stringify(verb)}${hint}`, {
    code: 'commander.unknownCommand',
  })
}

/** Whether a verb may be a mistyped name. A verb that only sounds alike, such as "login" and "log", is not near. */
function isNear(verb: string, name: string): boolean {
  const most = verb.length <= 5 ? 1 : 2
  return editDistance(verb, name, most) <= most || (verb.length >= 3 && name.startsWith(verb))
}
