import { SkillError } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import type { WatchedSkill } from './exo-skill.ts'

export type SkillChangeKind = 'added' | 'modified' | 'removed'

export interface SkillChangeFields {
  readonly kind: SkillChangeKind
  readonly skillName: string
  /** The changed skill; `null` only if the skill was removed. */
  readonly skill: WatchedSkill | null
  /** Folder or URL of the source. May also be the folder of the skill, or its SKILL.md. */
  readonly sourcePath: string
}

const KINDS: readonly SkillChangeKind[] = ['added', 'modified', 'removed']

/**
 * A change of one skill that a watcher found: the skill was added, modified or removed. Immutable.
 *
 * @example
 * ```ts
 * import { SkillChangeEvent } from '@skillstoke/compat'
 *
 * const skill = { name: 'maps', description: 'Finds routes.', body: 'Call route.' }
 * const event = new SkillChangeEvent({ kind: 'added', skillName: 'maps', skill, sourcePath: './skills' })
 * console.log(event.kind, event.skill?.name) // prints added maps
 * ```
 */
export class SkillChangeEvent implements SkillChangeFields {
  readonly kind: SkillChangeKind
  readonly skillName: string
  readonly skill: WatchedSkill | null
  readonly sourcePath: string

  /** @throws {SkillError} INVALID_OPTION when the kind is unknown, or when a skill that was not removed is `null` */
  constructor(fields: SkillChangeFields) {
    const { kind, skillName, skill, sourcePath } = fields
    if (!KINDS.includes(kind))
      throw new SkillError(
        'INVALID_OPTION',
        `the kind of an event is ${quote(kind)}; use one of ${KINDS.join(', ')}`,
      )
    if (typeof skillName !== 'string' || typeof sourcePath !== 'string')
      throw new SkillError('INVALID_OPTION', 'an event needs the texts skillName and sourcePath')
    if ((skill ?? null) === null && kind !== 'removed') {
      throw new SkillError(
        'INVALID_OPTION',
        `the event "${kind}" of ${quote(skillName)} has no skill; only "removed" events may omit it`,
      )
    }
    this.kind = kind
    this.skillName = skillName
    this.skill = skill
    this.sourcePath = sourcePath
    Object.freeze(this)
  }
}

/** Finds changes of skills. Any object with the methods `watch` and `stop` is accepted. */
export interface SkillWatcherLike {
  /** Yields one batch of changes after each burst, and then waits for the next burst. A batch is never empty. */
  watch(): AsyncIterable<readonly SkillChangeFields[]>
  /** Makes `watch` return. */
  stop(): void | Promise<void>
  /** Resolves when the watcher knows the existing skills. From then on, the watcher reports every difference as a change. @default immediately */
  readonly ready?: Promise<void>
  /**
   * The folder or URL that is watched. After a manager has started the watcher, the manager reads this folder or URL
   * again, to find changes since the last load. @default unknown
   */
  readonly origin?: string
}

/**
 * Base class for watchers.
 *
 * @example
 * ```ts
 * import { fromWatcher, SkillChangeEvent, SkillWatcher } from '@skillstoke/compat'
 *
 * class OnceWatcher extends SkillWatcher {
 *   async *watch() {
 *     const skill = { name: 'maps', description: 'Finds routes.' }
 *     yield [new SkillChangeEvent({ kind: 'added', skillName: 'maps', skill, sourcePath: 'rows:main' })]
 *   }
 *   stop() {}
 * }
 * console.log(fromWatcher(new OnceWatcher(), { label: 'rows' }).label) // prints rows
 * ```
 */
export abstract class SkillWatcher implements SkillWatcherLike {
  abstract watch(): AsyncIterable<readonly SkillChangeEvent[]>
  abstract stop(): void | Promise<void>
}
