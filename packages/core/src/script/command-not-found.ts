import { SkillError } from '../errors.ts'
import { quote } from '../quote.ts'
import { type Diagnostic, describePlace } from '../skill/diagnostic.ts'
import { findNearNames } from '../skill/near-names.ts'
import type { ScriptScan, SkillCommand } from './command.ts'

/** The commands of a skill, and the diagnostics about its newest code. */
interface Offered {
  readonly commands: readonly SkillCommand[]
  readonly problems: readonly Diagnostic[]
  /** The result of scanning the newest code, without running it. */
  readonly scan: ScriptScan | undefined
}

/**
 * Returns the error for a command that cannot be called, with a suggestion. The error is COMMAND_NOT_FOUND if the
 * scripts define no such command. The error is SCRIPT_FAILED or SCRIPT_REFUSED if the scripts define the command, or
 * if an unreadable script may define the command.
 */
export function toNotFound(
  skill: string,
  command: string,
  slot: Offered | undefined,
  isUnloaded: boolean,
): SkillError {
  const shown = quote(`${skill}.${command}`)
  const names = namesOf(slot)
  const data = { available: (slot?.commands ?? []).map(({ id }) => id) }
  const problem = isUnloaded ? undefined : findProblem(slot)
  if (problem !== undefined && (names.includes(command) || !isAllKnown(slot?.scan))) {
    const isRefused = problem.code === 'CAPABILITY_NOT_GRANTED'
    const reason = describeProblem(slot)
    return isRefused
      ? new SkillError('SCRIPT_REFUSED', `there is no command ${shown}; ${reason}`, { data })
      : new SkillError(
          'SCRIPT_FAILED',
          names.includes(command)
            ? `the command ${shown} does not load; ${reason}`
            : `there is no command ${shown} in the code that can be read; ${reason}`,
          { data },
        )
  }
  const near = findNearNames(command, names)
  const hint = isUnloaded
    ? 'the skill was unloaded; reload it first'
    : near.length > 0
      ? `did you mean ${near.map(each => quote(`${skill}.${each}`)).join(' or ')}?`
      : names.length === 0
        ? 'the skill has no commands'
        : `there are: ${names.map(each => `${skill}.${each}`).join(', ')}`
  return new SkillError('COMMAND_NOT_FOUND', `there is no command ${shown}; ${hint}`, { data })
}

/** Returns the names of the commands that can be called, and of the commands that the scan found in the newest code. */
function namesOf(slot: Offered | undefined): readonly string[] {
  const names = [...(slot?.commands ?? []), ...(slot?.scan?.commands ?? [])].map(({ name }) => name)
  return [...new Set(names)].sort()
}

/** True if the scan could read all scripts and command names, and so found every command. */
function isAllKnown(scan: ScriptScan | undefined): boolean {
  const isUnread = ({ code }: Diagnostic): boolean => code === 'SCRIPT_INVALID' || code === 'COMMAND_INVALID'
  return scan?.isComplete === true && !scan.diagnostics.some(isUnread)
}

/** Returns the diagnostic that explains why the newest commands of a skill cannot be called. */
function findProblem(slot: Pick<Offered, 'commands' | 'problems'> | undefined): Diagnostic | undefined {
  return slot?.problems.find(
    ({ code, severity }) =>
      severity === 'error' ||
      code === 'CAPABILITY_NOT_GRANTED' ||
      (code === 'COMMAND_INVALID' && slot.commands.length === 0),
  )
}

/** Explains to a person or a model why the newest commands of a skill cannot be called; `undefined` if they can be called. */
export function describeProblem(
  slot: Pick<Offered, 'commands' | 'problems'> | undefined,
): string | undefined {
  const problem = findProblem(slot)
  if (problem === undefined) return undefined
  const { code, message, fix } = problem
  const place = describePlace(problem)
  const advice = code === 'CAPABILITY_NOT_GRANTED' && fix !== undefined ? `; a person can ${fix}` : ''
  return `${place === '' ? '' : `${place}: `}${message}${advice}`
}
