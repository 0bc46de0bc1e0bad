import type { Digest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { FolderNotes } from './folder-notes.ts'

/** A fault of a store. */
export interface StoreFault {
  /** Description for people, worded so that it can be part of a sentence. */
  readonly message: string
  /** Whether the store still writes new content to its medium. If false, new content stays in memory. */
  readonly isStoring: boolean
}

/**
 * Stores the content that sources have read: file bytes by digest, and file lists of folders by revision. A skill is
 * stored before it becomes visible, so its files stay readable while its revision is retained.
 */
export interface SkillStore {
  /** Returns whether the store has the bytes with this digest. */
  has(digest: Digest): boolean
  /** Stores bytes under their digest, which the caller has computed. The caller must not change the bytes afterwards. */
  put(digest: Digest, bytes: Uint8Array): void
  /** Returns the bytes, verified against their digest, or `undefined` if the store does not have them. */
  get(digest: Digest): Promise<Uint8Array | undefined>

  /**
   * Stores the sorted file list of a folder under the revision of the folder. The caller must put the bytes of all
   * files before this call.
   */
  putTree(revision: Digest, files: readonly SkillFile[]): void
  getTree(revision: Digest): Promise<readonly SkillFile[] | undefined>

  /** Registers a user of a revision. A revision with users is never collected. */
  retain(revision: Digest): void
  /** Unregisters a user of a revision. After the last release the revision stays readable for a grace period. */
  release(revision: Digest): void

  /** Points a lasting name at a revision; `undefined` removes the name. A named revision is never collected. */
  setRef(name: string, revision: Digest | undefined): void
  getRef(name: string): Digest | undefined

  /**
   * Runs work while no other process that shares the store runs work of the same name. Throws LOCKED if another process still
   * runs such work after the timeout. Absent if no other process shares the store.
   */
  exclusively?<T>(name: string, timeoutMs: number, work: () => Promise<T>): Promise<T>

  /** Absent if the store loses its content when the process ends. */
  readonly notes?: FolderNotes | undefined

  /** The current fault; absent if there is none. Content can be read even during a fault. */
  readonly fault?: StoreFault | undefined

  /** Resolves when all content that was put before the call is as durable as the medium allows. */
  flush(): Promise<void>
  /** Flushes the store, then closes its files. Idempotent. */
  close(): Promise<void>
}
