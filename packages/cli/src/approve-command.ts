import type { Diagnostic } from '@skillstoke/core'
import type { Config } from './config/config.ts'
import { toCommandLine, toTerminalLine } from './output.ts'

/** A skill whose newest revision waits, in a report or in a row. */
export interface WaitingSkill {
  /** `source/name`, or whatever names exactly this folder. */
  readonly target: string
  readonly revision?: string | null | undefined
  readonly diagnostics: readonly Diagnostic[]
}

/**
 * Returns the command that approves the newest revision of a skill, as a person can paste it here. Whether what nobody sees is
 * meant is left for them to say.
 */
export function toApproveCommand(skill: WaitingSkill, { options }: Config): string {
  const words = ['approve', `${skill.target}@${skill.revision}`, ...options]
  const note = isHiding(skill)
    ? ' (add --confirm-hidden if the characters that show nothing are meant; it is refused without)'
    : ''
  return `stoke ${toTerminalLine(toCommandLine(words))}${note}`
}

/** Whether a skill has text that a person does not see. */
export function isHiding({ diagnostics }: Pick<WaitingSkill, 'diagnostics'>): boolean {
  return diagnostics.some(({ code }) => code === 'HIDDEN_TEXT')
}

/** The findings about a skill; that its newest revision is held comes with the command that approves it from here. */
export function withApproveCommand(skill: WaitingSkill, config: Config): readonly Diagnostic[] {
  const { diagnostics, revision } = skill
  return diagnostics.map(each =>
    each.code === 'REVISION_HELD' && revision ? { ...each, fix: toApproveCommand(skill, config) } : each,
  )
}
