import { defined } from '../defined.ts'
import type { Digest } from '../skill/digest.ts'
import type { ToolProgress } from '../tool/tool-definition.ts'
import type { SkillCommand } from './command.ts'
import type { CommandSwap } from './program-slot.ts'
import type { ScriptLine } from './script-runner.ts'

/** The call that an event describes. */
export interface ScriptCall {
  /** Number of the call, counted in this process. */
  readonly call: number
  readonly skill: string
  /** `skill.command`, or the path of a script. */
  readonly target: string
  /** Revision of the code that runs; absent until the revision is known. */
  readonly revision?: Digest
}

/** The difference between two command lists of a skill. */
export interface CommandsChange {
  readonly skill: string
  readonly revision?: Digest
  readonly added: readonly SkillCommand[]
  readonly removed: readonly SkillCommand[]
  readonly modified: readonly SkillCommand[]
}

/** The payload of each script event, by event name. */
export interface ScriptEvents {
  /** Commands of a skill were added, removed, or changed in a way that callers can see. */
  'commands:changed': CommandsChange
  /** A command or a script starts. */
  'command:started': ScriptCall
  'command:progress': ScriptCall & ToolProgress
  /** A command or a script wrote a line. */
  'command:line': ScriptCall & ScriptLine
  'command:finished': ScriptCall & { readonly isError: boolean; readonly durationMs: number }
}

/** Returns how a swap changes the command list. */
export function toCommandsChange({ skill, revision, before, after }: CommandSwap): CommandsChange {
  const old = new Map(before.map(command => [command.name, command]))
  const now = new Set(after.map(({ name }) => name))
  return {
    skill,
    ...defined({ revision }),
    added: after.filter(({ name }) => !old.has(name)),
    removed: before.filter(({ name }) => !now.has(name)),
    modified: after.filter(command => isDescribedOtherwise(old.get(command.name), command)),
  }
}

/**
 * True if callers see a difference between two commands. The position of a command in its file does not count, because
 * callers do not see it.
 */
function isDescribedOtherwise(old: SkillCommand | undefined, now: SkillCommand): boolean {
  const shown = ({ description, inputSchema, hints }: SkillCommand): string =>
    JSON.stringify([description, inputSchema, hints])
  return old !== undefined && shown(old) !== shown(now)
}
