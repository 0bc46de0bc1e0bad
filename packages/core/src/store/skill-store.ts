import type { Digest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { FolderNotes } from './folder-notes.ts'

/** What is wrong with a store. */
export interface StoreFault {
  /** For people: half a sentence. */
  readonly message: string
  /** Whether what is read is stored all the same; if not, it lives in memory. */
  readonly isStoring: boolean
}

/**
 * What was read, by content: file bytes by their digest, whole folders by their revision. A skill is captured here
 * before it becomes visible, so everything that a reader can see stays readable while it is retained.
 */
export interface SkillStore {
  /** Whether the bytes of a digest are held. */
  has(digest: Digest): boolean
  /**
   * Keeps bytes under their digest, which the caller has computed. The bytes belong to the store from then on. A store
   * that can read from where a locator points may keep that instead of a copy.
   */
  put(digest: Digest, bytes: Uint8Array, locator?: string): void
  /** The bytes, verified against their digest, or `undefined` when they are not held. */
  get(digest: Digest): Promise<Uint8Array | undefined>

  /** Keeps the sorted file list of a folder under its revision. Its bytes must have been put before. */
  putTree(revision: Digest, files: readonly SkillFile[]): void
  getTree(revision: Digest): Promise<readonly SkillFile[] | undefined>

  /** Counts one more user of a revision; a used revision is never collected. */
  retain(revision: Digest): void
  /** Counts one user less. After the last one the revision stays readable for a grace period. */
  release(revision: Digest): void

  /** Points a lasting name at a revision, or removes it with `undefined`; a named revision is never collected. */
  setRef(name: string, revision: Digest | undefined): void
  getRef(name: string): Digest | undefined
  /**
   * Yields the names that begin with a text, and what they point at, in any order. Somebody who pauses in between may miss
   * what is set meanwhile. Where it is absent, each name is asked for by itself.
   */
  listRefs?(beginning: string): Iterable<readonly [string, Digest]>

  /** Absent where nothing outlives the process. */
  readonly notes?: FolderNotes | undefined

  /** What is wrong at the moment; absent when all is well. Reading goes on in any case. */
  readonly fault?: StoreFault | undefined

  /** Resolves when everything put before is as durable as the medium can make it. */
  flush(): Promise<void>
  /** Flushes and frees the medium. Idempotent. */
  close(): Promise<void>
}
