import { type Clock, systemClock } from '../host.ts'
import { checkOptions, type KnownOptions, number } from '../options.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { SkillStore } from './skill-store.ts'

/** How long an unused revision stays readable, in milliseconds. */
export const DEFAULT_STORE_GRACE_MS = 60_000
// Maximum size of all replaced revisions together, in bytes. Without this limit, thousands of edits within the grace
// period would fill the memory.
const MAX_REPLACED_BYTES = 4_194_304
// Minimum grace period. The limit is large enough that a running call still finds its revision after many edits.
const MIN_GRACE_MS = 5_000
// Delay of a collection after a revision was replaced.
const EARLY_MS = 1_000
// Estimated memory that a revision needs in addition to its files, for digests, the file list and map entries.
const BYTES_PER_TREE = 1_024

export interface MemorySkillStoreOptions {
  /**
   * How long an unused revision stays readable, in milliseconds; `Infinity` keeps every revision forever. When all
   * replaced revisions together need more than 4 MB, the oldest of them stay readable for only five seconds. @default
   * DEFAULT_STORE_GRACE_MS
   */
  readonly graceMs?: number
  readonly clock?: Clock
}

const KNOWN: KnownOptions<MemorySkillStoreOptions> = { graceMs: number(0), clock: true }

interface Blob {
  readonly bytes: Uint8Array
  /** Monotonic time of the last put or lookup. Each blob is put before the tree that refers to it. */
  idleSince: number
}

interface Tree {
  readonly files: readonly SkillFile[]
  users: number
  /** Whether the tree has lost a user or a name. */
  isReplaced: boolean
  /** Monotonic time of the last put or lookup, or of the loss of a user or a name. */
  idleSince: number
}

/**
 * The default store. The content of this store is lost when the process ends. The store collects unused revisions after
 * a grace period. When all replaced revisions together need more than 4 MB, the store collects the oldest of them after
 * five seconds.
 *
 * @example
 * ```ts
 * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
 * import { MemorySkillStore } from '@skillstoke/core/source'
 *
 * const source = new MemorySource({ label: 'mine' }, [{ name: 'greet', description: 'Use when greeting.' }])
 * const store = new MemorySkillStore({ graceMs: Infinity }) // keeps every revision
 * await using skills = await createSkillRuntime({ sources: [source], state: { store } })
 * const { revision } = skills.current.get('greet')
 * source.remove('greet')
 * await skills.fresh()
 * console.log((await store.getTree(revision))?.map(file => file.path)) // prints [ 'SKILL.md' ]
 * ```
 */
export class MemorySkillStore implements SkillStore {
  readonly #blobs = new Map<Digest, Blob>()
  readonly #trees = new Map<Digest, Tree>()
  readonly #refs = new Map<string, Digest>()
  readonly #graceMs: number
  readonly #clock: Clock
  /** The next collection, and its monotonic time. */
  #next: { readonly at: number; readonly cancel: () => void } | undefined

  constructor(options: MemorySkillStoreOptions = {}) {
    checkOptions('MemorySkillStore', options, KNOWN)
    this.#graceMs = options.graceMs ?? DEFAULT_STORE_GRACE_MS
    this.#clock = options.clock ?? systemClock
  }

  has(digest: Digest): boolean {
    const blob = this.#blobs.get(digest)
    if (blob !== undefined) this.#touch(blob)
    return blob !== undefined
  }

  put(digest: Digest, bytes: Uint8Array): void {
    const blob = this.#blobs.get(digest) ?? { bytes, idleSince: 0 }
    this.#blobs.set(digest, blob)
    this.#touch(blob)
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#blobs.get(digest)?.bytes.slice()
  }

  putTree(revision: Digest, files: readonly SkillFile[]): void {
    const tree = this.#trees.get(revision) ?? { files, users: 0, isReplaced: false, idleSince: 0 }
    this.#trees.set(revision, tree)
    this.#touch(tree)
  }

  async getTree(revision: Digest): Promise<readonly SkillFile[] | undefined> {
    const tree = this.#trees.get(revision)
    // The caller is about to use the tree, so the grace period of the tree starts again.
    if (tree !== undefined) this.#touch(tree)
    return tree?.files
  }

  retain(revision: Digest): void {
    const tree = this.#trees.get(revision)
    if (tree !== undefined) tree.users++
  }

  release(revision: Digest): void {
    const tree = this.#trees.get(revision)
    if (tree === undefined || tree.users === 0) return
    tree.users--
    this.#leave(tree)
  }

  setRef(name: string, revision: Digest | undefined): void {
    const before = this.#refs.get(name)
    if (before === revision) return
    if (revision === undefined) this.#refs.delete(name)
    else this.#refs.set(name, revision)
    const tree = before === undefined ? undefined : this.#trees.get(before)
    if (tree !== undefined) this.#leave(tree)
  }

  getRef(name: string): Digest | undefined {
    return this.#refs.get(name)
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {
    this.#next?.cancel()
    this.#next = undefined
  }

  #touch(used: Blob | Tree): void {
    used.idleSince = this.#clock.monotonic()
    this.#schedule(this.#graceMs)
  }

  #leave(tree: Tree): void {
    tree.isReplaced = true
    this.#touch(tree)
    this.#schedule(Math.min(this.#graceMs, EARLY_MS))
  }

  #schedule(delayMs: number): void {
    const at = this.#clock.monotonic() + delayMs
    if (this.#graceMs === Infinity || (this.#next !== undefined && this.#next.at <= at)) return
    this.#next?.cancel()
    this.#next = { at, cancel: this.#clock.after(delayMs, () => this.#collect(), { background: true }) }
  }

  /** Removes idle trees, and the blobs that only they refer to. */
  #collect(): void {
    this.#next = undefined
    const now = this.#clock.monotonic()
    const named = new Set(this.#refs.values())
    const held = new Set<Digest>()
    const idle: (readonly [Digest, Tree])[] = []
    for (const [revision, tree] of this.#trees)
      if (tree.users === 0 && !named.has(revision)) idle.push([revision, tree])
      else for (const { digest } of tree.files) held.add(digest)
    const freed = new Set<Digest>()
    let nextAt = Infinity
    const isDue = ({ idleSince }: Blob | Tree, graceMs: number): boolean => {
      if (idleSince + graceMs > now) nextAt = Math.min(nextAt, idleSince + graceMs)
      return idleSince + graceMs <= now
    }
    let replacedBytes = 0
    for (const [revision, tree] of idle.sort(([, a], [, b]) => b.idleSince - a.idleSince)) {
      // Counts only blobs that no younger tree refers to, because shared blobs stay in memory.
      const own = tree.files.filter(({ digest }) => !held.has(digest))
      if (tree.isReplaced) replacedBytes += own.reduce((sum, { size }) => sum + size, BYTES_PER_TREE)
      const isExcess = tree.isReplaced && replacedBytes > MAX_REPLACED_BYTES
      const isGone = isDue(tree, isExcess ? MIN_GRACE_MS : this.#graceMs)
      if (isGone) this.#trees.delete(revision)
      for (const { digest } of own) (isGone ? freed : held).add(digest)
    }
    // Keeps a recently found blob, because the caller may be about to put a tree that refers to the blob.
    for (const [digest, blob] of this.#blobs)
      if (!held.has(digest) && isDue(blob, freed.has(digest) ? MIN_GRACE_MS : this.#graceMs))
        this.#blobs.delete(digest)
    if (nextAt < Infinity) this.#schedule(nextAt - now)
  }
}
