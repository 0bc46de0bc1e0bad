import type { Digest } from '../skill/digest.ts'

import type { Skill } from '../skill/skill.ts'

/** The commands of a skill that can be called, and the reason if some commands are missing. */
export interface CommandOffer {
  readonly commands: readonly CommandSummary[]
  /** The revision whose code runs the commands; absent if no code is loaded. */
  readonly revision?: Digest
  /** The reason why some commands that the skill's scripts define are missing. */
  readonly problem?: string
}

/** The description of a command for a model. */
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
