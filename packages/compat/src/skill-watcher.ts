import { SkillError } from '@skillstoke/core'
import type { WatchedSkill } from './exo-skill.ts'

export type SkillChangeKind = 'added' | 'modified' | 'removed'

export interface SkillChangeFields {
  readonly kind: SkillChangeKind
  readonly skillName: string
  /** `null` for a removed skill, and for no other. */
  readonly skill: WatchedSkill | null
  /** The folder or URL of the source that it came from; the skill's own folder or text will do, too. */
  readonly sourcePath: string
}

const KINDS: readonly SkillChangeKind[] = ['added', 'modified', 'removed']

/** What a watcher found: one skill that came, changed or went. Immutable. */
export class SkillChangeEvent implements SkillChangeFields {
  readonly kind: SkillChangeKind
  readonly skillName: string
  readonly skill: WatchedSkill | null
  readonly sourcePath: string

  /** @throws {SkillError} INVALID_OPTION when only a removed skill could be `null` */
  constructor(fields: SkillChangeFields) {
    const { kind, skillName, skill, sourcePath } = fields
    if (!KINDS.includes(kind))
      throw new SkillError(
        'INVALID_OPTION',
        `the kind of an event is ${JSON.stringify(kind)}; use one of ${KINDS.join(', ')}`,
      )
    if (typeof skillName !== 'string' || typeof sourcePath !== 'string')
      throw new SkillError('INVALID_OPTION', 'an event needs the texts skillName and sourcePath')
    if ((skill ?? null) === null && kind !== 'removed') {
      throw new SkillError(
        'INVALID_OPTION',
        `the event "${kind}" of ${JSON.stringify(skillName)} has no skill; only "removed" goes without`,
      )
    }
    this.kind = kind
    this.skillName = skillName
    this.skill = skill
    this.sourcePath = sourcePath
    Object.freeze(this)
  }
}

/** Finds changes of skills in its own way and at its own pace; anything with these two methods will do. */
export interface SkillWatcherLike {
  /** Batches of changes, one for each time that things came to rest; never empty ones. Waits in between. */
  watch(): AsyncIterable<readonly SkillChangeFields[]>
  /** Makes `watch` return. */
  stop(): void | Promise<void>
  /** Resolves when it knows what exists, so that everything from then on is a change. @default at once */
  readonly ready?: Promise<void>
  /** The folder or URL that it watches: a manager makes up for what changed there since it was loaded. @default unknown */
  readonly origin?: string
}

/** The base for watchers. */
export abstract class SkillWatcher implements SkillWatcherLike {
  abstract watch(): AsyncIterable<readonly SkillChangeEvent[]>
  abstract stop(): void | Promise<void>
}
