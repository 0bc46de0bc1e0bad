import type { Digest } from '../skill/digest.ts'

import type { Skill } from '../skill/skill.ts'

/** What can be called of a skill, and what keeps its newest commands from being called. */
export interface CommandOffer {
  readonly commands: readonly CommandSummary[]
  /** The revision whose code answers; absent when no code does. */
  readonly revision?: Digest
  /** Why some of the commands in its scripts are missing. */
  readonly problem?: string
}

/** A command as a model is told of it. */
export interface CommandSummary {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input object. */
  readonly inputSchema: Readonly<Record<string, unknown>>
}

/** The commands of every skill. `ProgramSlots` implements it. */
export interface CommandOffers {
  offer(skill: Pick<Skill, 'name' | 'source' | 'location'>): CommandOffer
}

export const NO_COMMANDS: CommandOffer = Object.freeze({ commands: Object.freeze([]) })
