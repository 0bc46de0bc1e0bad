import type { Digest } from '../skill/digest.ts'
import type { SkillCommand } from './command.ts'
import type { CommandSwap } from './program-slot.ts'
import type { CommandProgress, ScriptLine } from './script-runner.ts'

/** What a call is about. */
export interface ScriptCall {
  /** Counts the calls of this process. */
  readonly call: number
  readonly skill: string
  /** `skill.command`, or the path of a script. */
  readonly target: string
  /** Of the code that ran; absent until that is known. */
  readonly revision?: Digest
}

/** Commands that came, went, or are described in another way. */
export interface CommandsChange {
  readonly skill: string
  readonly revision?: Digest
  readonly added: readonly SkillCommand[]
  readonly removed: readonly SkillCommand[]
  readonly modified: readonly SkillCommand[]
}

/** What may be told outside of scripts, by event name. */
export interface ScriptEvents {
  /** Commands of a skill came, went, or are described in another way. */
  'commands:changed': CommandsChange
  /** A command or a script begins to run; the calls of a process are counted. */
  'command:started': ScriptCall
  'command:progress': ScriptCall & CommandProgress
  /** It has written a line. */
  'command:line': ScriptCall & ScriptLine
  'command:finished': ScriptCall & { readonly isError: boolean; readonly durationMs: number }
}

/** What a swap of code means for callers. */
export function toCommandsChange({ skill, revision, before, after }: CommandSwap): CommandsChange {
  const old = new Map(before.map(command => [command.name, command]))
  const now = new Set(after.map(({ name }) => name))
  return {
    skill,
    ...(revision === undefined ? {} : { revision }),
    added: after.filter(({ name }) => !old.has(name)),
    removed: before.filter(({ name }) => !now.has(name)),
    modified: after.filter(command => isDescribedOtherwise(old.get(command.name), command)),
  }
}

/** Whether callers would have to know: where the command is in its file is not their business. */
function isDescribedOtherwise(old: SkillCommand | undefined, now: SkillCommand): boolean {
  const shown = ({ description, inputSchema, hints }: SkillCommand): string =>
    JSON.stringify([description, inputSchema, hints])
  return old !== undefined && shown(old) !== shown(now)
}
