import type { WriteLock } from '../authoring/write-lock.ts'
import type { DecisionStore } from '../history/decisions.ts'
import type { RevisionLog } from '../history/revision-log.ts'
import type { KnownOptions } from '../options.ts'
import type { SkillStore } from '../store/skill-store.ts'

/**
 * What a runtime keeps: any of the four, each in memory or on a disk. `openState` of `@skillstoke/core/node` opens all of them
 * in one state directory. The runtime closes them when it is closed, and `createSkillRuntime` when it fails.
 */
export interface SkillState {
  /** Keeps what was read. @default in memory */
  readonly store?: SkillStore
  /** Keeps approvals, pins and the like. @default in memory */
  readonly decisions?: DecisionStore
  /** Records every revision, for `history`. @default none: nothing is recorded */
  readonly history?: RevisionLog
  /** Keeps writers apart; one that other processes respect, too, when they write to the same folders. @default within this process */
  readonly writeLock?: WriteLock
}

export const STATE_PARTS: KnownOptions<SkillState> = {
  store: true,
  decisions: true,
  history: true,
  writeLock: true,
}
