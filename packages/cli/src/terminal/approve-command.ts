import type { Diagnostic } from '@skillstoke/core'
import type { Config } from '../config/config.ts'
import { toCommandLine } from './command-line.ts'
import { toTerminalLine } from './output.ts'
import { findProgramName } from './program-name.ts'

/**
 * A skill whose newest revision waits for approval. A `SkillRow` has these fields. A `SkillReport` lacks only `target`.
 */
export interface WaitingSkill {
  /** `source/name`, or another identifier that names only this folder. */
  readonly target: string
  readonly revision?: string | null | undefined
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Returns a command, ready to paste, that approves the newest revision of a skill. The command never contains
 * `--confirm-hidden`, which a person must add.
 */
export function toApproveCommand(skill: WaitingSkill, { options }: Config): string {
  const words = ['approve', `${skill.target}@${skill.revision}`, ...options]
  const note = isHiding(skill) ? ' (to approve it, check its hidden text and add --confirm-hidden)' : ''
  return `${findProgramName()} ${toTerminalLine(toCommandLine(words))}${note}`
}

/** Returns the diagnostics about invisible text and about names that look like other names. */
export function doubtsAbout({ diagnostics }: Pick<WaitingSkill, 'diagnostics'>): readonly Diagnostic[] {
  return diagnostics.filter(({ code }) => code === 'HIDDEN_TEXT' || code === 'NAME_LOOKALIKE')
}

/** Whether a skill has invisible characters, or scripts that are not text. */
export function isHiding({ diagnostics }: Pick<WaitingSkill, 'diagnostics'>): boolean {
  return diagnostics.some(({ code }) => code === 'HIDDEN_TEXT')
}

/**
 * Returns the diagnostics of a skill. In the diagnostic REVISION_HELD, adds the commands to the fix. They
 * repeat the options of the running command.
 */
export function withApproveCommand(skill: WaitingSkill, config: Config): readonly Diagnostic[] {
  const { diagnostics, revision } = skill
  return diagnostics.map(each =>
    each.code === 'REVISION_HELD' && revision ? { ...each, fix: describeReview(skill, config) } : each,
  )
}

function describeReview(skill: WaitingSkill, config: Config): string {
  const diff = toTerminalLine(toCommandLine(['diff', skill.target, ...config.options]))
  return `review it first with ${findProgramName()} ${diff}; then run ${toApproveCommand(skill, config)}`
}
