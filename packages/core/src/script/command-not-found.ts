import { SkillError } from '../errors.ts'
import { type Diagnostic, describePlace } from '../skill/diagnostic.ts'
import { findNearNames } from '../skill/near-names.ts'
import type { Command } from './command.ts'

/** What a skill offers, and what is wrong with the rest. */
interface Offered {
  readonly commands: readonly Command[]
  readonly problems: readonly Diagnostic[]
}

/** Why a command cannot be called, with what would be right. */
export function toNotFound(
  skill: string,
  command: string,
  slot: Offered | undefined,
  isUnloaded: boolean,
): SkillError {
  const available = (slot?.commands ?? []).map(({ id }) => id)
  const near = findNearNames(
    command,
    (slot?.commands ?? []).map(({ name }) => name),
  )
  const problem = findProblem(slot)
  const hint = isUnloaded
    ? 'the skill was unloaded; reload it first'
    : problem !== undefined
      ? describeProblem(slot)
      : near.length > 0
        ? `did you mean ${near.map(each => JSON.stringify(`${skill}.${each}`)).join(' or ')}?`
        : available.length === 0
          ? 'the skill has no commands'
          : `there are: ${available.join(', ')}`
  const code =
    problem === undefined
      ? 'COMMAND_NOT_FOUND'
      : problem.code === 'CAPABILITY_NOT_GRANTED'
        ? 'SCRIPT_REFUSED'
        : 'SCRIPT_FAILED'
  return new SkillError(code, `there is no command ${JSON.stringify(`${skill}.${command}`)}; ${hint}`, {
    data: { available },
  })
}

/** What keeps the newest commands of a skill from being called. */
function findProblem(slot: Offered | undefined): Diagnostic | undefined {
  return slot?.problems.find(
    ({ code, severity }) =>
      severity === 'error' ||
      code === 'CAPABILITY_NOT_GRANTED' ||
      (code === 'COMMAND_INVALID' && slot.commands.length === 0),
  )
}

/** The same in words, for a person or a model. */
export function describeProblem(slot: Offered | undefined): string | undefined {
  const problem = findProblem(slot)
  if (problem === undefined) return undefined
  const { code, message, fix } = problem
  const place = describePlace(problem)
  const advice = code === 'CAPABILITY_NOT_GRANTED' && fix !== undefined ? `; a person can: ${fix}` : ''
  return `${place === '' ? '' : `${place}: `}${message}${advice}`
}
