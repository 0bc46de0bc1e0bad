import type { Digest, SkillReader, SkillReport, SkillSession } from '@skillstoke/core'
import { isUserInvocable } from '@skillstoke/core/internal'
import { CHAT_COMMAND_NAMES } from './chat-commands.ts'

/** A skill in the lists of a chat. */
export interface ShownSkill {
  readonly report: SkillReport
  /** The revision that this conversation gets, even if the conversation wrote it and it is not approved yet. */
  readonly here: Digest | undefined
  /** The revision that the conversation loaded last. */
  readonly loaded: Digest | undefined
  /** The text after the name, as the skill asks for it. */
  readonly argumentHint: string | undefined
  /** Whether `/name` invokes the skill. */
  readonly isInvocable: boolean
  /** Whether a command of the chat has the name, so that `/name` does not invoke the skill. */
  readonly isReserved: boolean
}

/** Returns the skills that the conversation may see, also those that are broken or shadowed. */
export function listShownSkills(reader: SkillReader, session: SkillSession): readonly ShownSkill[] {
  const { current } = reader
  return current
    .reports()
    .filter(({ name }) => reader.isInScope(name))
    .map(report => {
      const skill = report.status === 'shadowed' ? undefined : current.find(report.name)
      const hint = skill?.extra['argument-hint']
      const isReserved = CHAT_COMMAND_NAMES.some(name => name === report.name)
      return {
        report,
        here: skill?.revision,
        loaded: session.ledger.find(report.name)?.revision,
        argumentHint: typeof hint === 'string' ? hint : undefined,
        isInvocable: skill !== undefined && isUserInvocable(skill) && !isReserved,
        isReserved,
      }
    })
}
