import { checkOptions, type KnownOptions, whole } from '../options.ts'
import type { FolderPlace } from '../registry/admission.ts'
import type { Digest } from '../skill/digest.ts'
import { type DecisionKind, keyOf } from './decisions.ts'

/** The author of a revision, if known. */
export interface RevisionAuthor {
  /** `commit`: the author of a commit. `source`: an unknown author who changed a remote source. */
  readonly kind: 'person' | 'agent' | 'commit' | 'source'
  /** Display name of the author. */
  readonly name?: string
}

/** Why a step was recorded. */
export type RevisionCause = 'found' | 'edit' | 'fetch' | 'rollback' | 'removal' | DecisionKind

/** One step in the history of a folder. */
export interface RevisionRecord extends FolderPlace {
  /** Label that the source had when the step was recorded. */
  readonly source: string
  readonly name: string
  /** The revision; absent if the step is the removal of the skill. */
  readonly revision?: Digest
  /**
   * `live`: the revision was served from this time on. `held`: the revision was seen, but not served. `removed`: no
   * longer served. `decided`: a decision without immediate effect.
   */
  readonly event: 'live' | 'held' | 'removed' | 'decided'
  readonly cause: RevisionCause
  readonly author: RevisionAuthor
  /** Message of the commit, or note of the decision. */
  readonly note?: string
  /** Wall time in milliseconds since the epoch. */
  readonly at: number
}

/** A store for the history of skills. */
export interface RevisionLog {
  /** Describes damage that was found when the history was loaded or read. */
  readonly damage?: string | undefined
  /** Returns the last record of a folder, from memory. */
  last(place: FolderPlace): RevisionRecord | undefined
  /** Returns the last record of every folder, in any order. */
  lasts(): readonly RevisionRecord[]
  /**
   * Appends records. Resolves when the records are stored, which for a durable log means flushed to disk. The result
   * is the list of old records that were dropped to make room.
   */
  append(records: readonly RevisionRecord[]): Promise<readonly RevisionRecord[]>
  /** Returns the records of a folder, newest first. */
  list(place: FolderPlace): Promise<readonly RevisionRecord[]>
  close(): Promise<void>
}

/** Default number of steps kept per folder. */
export const DEFAULT_HISTORY_LENGTH = 100

export interface MemoryRevisionLogOptions {
  /** Steps kept per folder. @default 100 */
  readonly maxRecords?: number
}

export const LOG_OPTIONS: KnownOptions<MemoryRevisionLogOptions> = { maxRecords: whole(1) }

/**
 * Keeps the history in memory. The history is lost when the process ends.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
 * import { MemoryRevisionLog } from '@skillstoke/core/source'
 *
 * const source = new MemorySource({ label: 'mine' }, [{ name: 'greet', description: 'Use when greeting.' }])
 * const history = new MemoryRevisionLog({ maxRecords: 20 })
 * await using skills = await createSkillRuntime({ sources: [source], state: { history } })
 * console.log((await skills.history.log('greet')).map(({ event, name }) => `${event} ${name}`))
 * // prints [ 'live greet' ]
 * ```
 */
export class MemoryRevisionLog implements RevisionLog {
  readonly #records = new Map<string, readonly RevisionRecord[]>()
  readonly #maxRecords: number

  constructor(options: MemoryRevisionLogOptions = {}) {
    checkOptions('MemoryRevisionLog', options, LOG_OPTIONS)
    this.#maxRecords = options.maxRecords ?? DEFAULT_HISTORY_LENGTH
  }

  last(place: FolderPlace): RevisionRecord | undefined {
    return this.#records.get(keyOf(place))?.[0]
  }

  lasts(): readonly RevisionRecord[] {
    return [...this.#records.values()].flatMap(([last]) => last ?? [])
  }

  async append(records: readonly RevisionRecord[]): Promise<readonly RevisionRecord[]> {
    const dropped: RevisionRecord[] = []
    for (const record of records) {
      const key = keyOf(record)
      const all = [record, ...(this.#records.get(key) ?? [])]
      dropped.push(...all.splice(this.#maxRecords))
      this.#records.set(key, all)
    }
    return dropped
  }

  async list(place: FolderPlace): Promise<readonly RevisionRecord[]> {
    return this.#records.get(keyOf(place)) ?? []
  }

  async close(): Promise<void> {
    this.#records.clear()
  }
}
