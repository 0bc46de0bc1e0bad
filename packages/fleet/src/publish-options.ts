import type { Digest } from '@skillstoke/core'
import type { RefusedSkill } from './publishable.ts'

/** Options of every call that changes a channel. */
export interface ChannelOptions {
  /** @default 'stable' */
  readonly channel?: string
  /**
   * The version that the skill must have now; 0 if it must not exist. Allowed if the call changes one skill.
   * @default the version that the call reads first
   */
  readonly expect?: number
  /** Why the version is published. Recorded with each version. */
  readonly note?: string
  /** Reports what would change, and changes nothing. @default false */
  readonly isDryRun?: boolean
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: PublishProgress) => void
}

export interface PublishOptions extends ChannelOptions {
  /** Names of the skills to publish. @default all */
  readonly names?: readonly string[]
  /**
   * Removes all other skills of the channel. After the streams were lost, this says that the channel has all its skills
   * again, unless a folder was refused. @default false
   */
  readonly isMirror?: boolean
  /** Also publishes files that a rollback or a removal took back. @default false */
  readonly isForced?: boolean
  /**
   * How long the commit waits until all agents of the channel have the new files, at most 600,000. Without them, nothing is
   * committed.
   * @default 0: does not wait
   */
  readonly prefetchMs?: number
}

export interface PromoteOptions extends ChannelOptions {
  /** Names of the skills to promote. @default all skills of the channel `from` */
  readonly names?: readonly string[]
}

export interface RollbackOptions extends ChannelOptions {
  /** The earlier version. @default the newest version with other files than the current one */
  readonly version?: number
}

/** How far a call is. */
export interface PublishProgress {
  /** `compare`: skills; `upload`: pieces of files; `prefetch`: agents that have all files; `commit`: skills. */
  readonly step: 'compare' | 'upload' | 'prefetch' | 'commit'
  readonly done: number
  readonly total: number
}

/**
 * What happened to one skill. `rolled-back`: a rollback or a removal took the files back, so nothing was done.
 * `kept`: a mirror would remove the skill, but a refused folder may contain it.
 */
export interface PublishedSkill {
  readonly name: string
  readonly outcome: 'published' | 'unchanged' | 'removed' | 'rolled-back' | 'kept'
  /** The version now. In a dry run: the version that the skill would have. */
  readonly version: number
  /** The version before; absent if the skill is new. */
  readonly previousVersion?: number
  /** Absent if the skill was removed. */
  readonly revision?: Digest
  /** Sequence of the commit; absent if nothing was committed. */
  readonly seq?: number
}

export interface PublishReport {
  readonly channel: string
  /** Sorted by name. */
  readonly skills: readonly PublishedSkill[]
  /** Folders that were not published. What agents have of them stays. */
  readonly refused: readonly RefusedSkill[]
  /** Bytes of files that the servers did not have. */
  readonly uploadedBytes: number
  /**
   * Whether the channel is filled in this epoch. Agents that know an earlier epoch keep their skills until it is.
   */
  readonly isFilled: boolean
}
