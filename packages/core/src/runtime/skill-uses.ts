import { defined } from '../defined.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { Clock } from '../host.ts'
import type { Digest } from '../skill/digest.ts'
import type { ModelCallSkills, SkillMiss, SkillUse, UseListener } from '../tool/skill-use.ts'

/** How often a skill was used since the runtime started, and its last use. */
export interface SkillUsage {
  readonly count: number
  /** Wall time of the last use, in milliseconds since the epoch. */
  readonly lastAt: number
  /** The revision of the last use. */
  readonly revision: Digest
  /** The conversation of the last use; absent without a session. */
  readonly conversation?: string
}

/** Counts the uses of each skill, and emits an event for each use, each search without a match and each model call. */
export class SkillUses implements UseListener {
  readonly #usage = new Map<string, SkillUsage>()
  readonly #clock: Clock
  readonly #events: EventBus

  constructor({ clock, events }: { readonly clock: Clock; readonly events: EventBus }) {
    this.#clock = clock
    this.#events = events
  }

  readonly used = (use: SkillUse): void => {
    const { skill, revision, conversation } = use
    this.#usage.set(skill, {
      count: (this.#usage.get(skill)?.count ?? 0) + 1,
      lastAt: this.#clock.now(),
      revision,
      ...defined({ conversation }),
    })
    void this.#events.emit('skill:used', use)
  }

  readonly missed = (miss: SkillMiss): void => void this.#events.emit('skill:missed', miss)

  readonly offered = (call: ModelCallSkills): void => void this.#events.emit('skills:offered', call)

  find(skill: string): SkillUsage | undefined {
    return this.#usage.get(skill)
  }
}
