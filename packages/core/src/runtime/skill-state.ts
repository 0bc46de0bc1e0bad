import type { WriteLock } from '../authoring/write-lock.ts'
import type { DecisionStore } from '../history/decisions.ts'
import type { RevisionLog } from '../history/revision-log.ts'
import type { KnownOptions } from '../options.ts'
import type { SkillStore } from '../store/skill-store.ts'

/**
 * The stores in which a runtime keeps its state, each in memory or on disk. `openState` of `@skillstoke/core/node`
 * opens all these stores in one state directory. `close()` of the runtime closes the stores, and so does a failed
 * `createSkillRuntime`.
 */
export interface SkillState {
  /** Keeps the content of files that were read. @default in memory */
  readonly store?: SkillStore
  /** Keeps approvals, pins and other decisions. @default in memory */
  readonly decisions?: DecisionStore
  /** Records every revision, for `history`. @default none: nothing is recorded */
  readonly history?: RevisionLog
  /**
   * Prevents concurrent writes. If several processes write to the same folders, use a lock that they share.
   * @default a lock within this process
   */
  readonly writeLock?: WriteLock
  /**
   * Key of at least 32 random bytes with which `state()` of a session seals its result. A session then resumes only
   * sealed states. Use a key if clients or other programs can write the stored states. To change the key, pass a list:
   * the first key seals, and every key of the list opens.
   * @default states are not sealed, and what they claim is checked against the decisions
   */
  readonly sealKey?: string | Uint8Array | readonly (string | Uint8Array)[]
}

export const STATE_PARTS: KnownOptions<SkillState> = {
  store: true,
  decisions: true,
  history: true,
  writeLock: true,
  sealKey: true,
}
