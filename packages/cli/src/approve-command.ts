import type { Diagnostic } from '@skillstoke/core'
import type { Config } from './config/config.ts'
import { toCommandLine, toTerminalLine } from './output.ts'

/** A skill whose newest revision waits, as a report or as a row. */
export interface WaitingSkill {
  /** `source/name`, or another identifier of exactly this folder. */
  readonly target: string
  readonly revision?: string | null | undefined
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Returns the command that approves the newest revision of a skill, ready to paste. Leaves it to the person to add
 * `--confirm-hidden`.
 */
export function toApproveCommand(skill: WaitingSkill, { options }: Config): string {
  const words = ['approve', `${skill.target}@${skill.revision}`, ...options]
  const note = isHiding(skill)
    ? ' (to approve it, check its invisible characters and add --confirm-hidden)'
    : ''
  return `stoke ${toTerminalLine(toCommandLine(words))}${note}`
}

/** Whether a skill has invisible characters. */
export function isHiding({ diagnostics }: Pick<WaitingSkill, 'diagnostics'>): boolean {
  return diagnostics.some(({ code }) => code === 'HIDDEN_TEXT')
}

/** Returns the diagnostics of a skill. The fix of REVISION_HELD becomes the approve command with the options of this call. */
export function withApproveCommand(skill: WaitingSkill, config: Config): readonly Diagnostic[] {
  const { diagnostics, revision } = skill
  return diagnostics.map(each =>
    each.code === 'REVISION_HELD' && revision ? { ...each, fix: toApproveCommand(skill, config) } : each,
  )
}
