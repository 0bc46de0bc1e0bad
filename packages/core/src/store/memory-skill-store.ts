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
  trees: number
  /**
   * Monotonic time of the last put or lookup of the blob. The blob stays in memory for a while after this moment,
   * because each blob is put before the tree that refers to the blob.
   */
  idleSince: number
}

interface Tree {
  readonly files: readonly SkillFile[]
  users: number
  names: number
  /**
   * Number of bytes that the tree adds to the total size of replaced trees; 0 if the tree is in use or was never used.
   */
  replacedBytes: number
  /** Monotonic time at which the tree was last put, requested, or released by its last user. */
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
  /** Trees that have neither users nor names, longest idle first. */
  readonly #idleTrees = new Map<Digest, Tree>()
  /** Blobs that no tree refers to, longest idle first. */
  readonly #looseBlobs = new Map<Digest, Blob>()
  readonly #graceMs: number
  readonly #clock: Clock
  #replacedBytes = 0
  #cancelCollection: (() => void) | undefined

  constructor(options: MemorySkillStoreOptions = {}) {
    checkOptions('MemorySkillStore', options, KNOWN)
    this.#graceMs = options.graceMs ?? DEFAULT_STORE_GRACE_MS
    this.#clock = options.clock ?? systemClock
  }

  has(digest: Digest): boolean {
    const blob = this.#blobs.get(digest)
    if (blob === undefined) return false
    blob.idleSince = this.#clock.monotonic()
    if (blob.trees === 0) this.#loosen(digest, blob)
    return true
  }

  put(digest: Digest, bytes: Uint8Array): void {
    if (this.has(digest)) return
    const blob = { bytes, trees: 0, idleSince: this.#clock.monotonic() }
    this.#blobs.set(digest, blob)
    this.#loosen(digest, blob)
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#blobs.get(digest)?.bytes.slice()
  }

  putTree(revision: Digest, files: readonly SkillFile[]): void {
    let tree = this.#trees.get(revision)
    if (tree === undefined) {
      tree = { files, users: 0, names: 0, replacedBytes: 0, idleSince: 0 }
      this.#trees.set(revision, tree)
      for (const { digest } of files) this.#hold(digest)
    }
    if (isIdle(tree)) this.#rest(revision, tree)
  }

  async getTree(revision: Digest): Promise<readonly SkillFile[] | undefined> {
    const tree = this.#trees.get(revision)
    // The caller is about to use the tree, so the grace period of the tree starts again.
    if (tree !== undefined && isIdle(tree)) this.#rest(revision, tree)
    return tree?.files
  }

  retain(revision: Digest): void {
    this.#use(revision, 'users')
  }

  release(revision: Digest): void {
    this.#leave(revision, 'users')
  }

  setRef(name: string, revision: Digest | undefined): void {
    const before = this.#refs.get(name)
    if (before === revision) return
    if (before !== undefined) this.#leave(before, 'names')
    if (revision === undefined) this.#refs.delete(name)
    else {
      this.#refs.set(name, revision)
      this.#use(revision, 'names')
    }
  }

  getRef(name: string): Digest | undefined {
    return this.#refs.get(name)
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {
    this.#cancelCollection?.()
    this.#cancelCollection = undefined
  }

  #use(revision: Digest, counter: 'users' | 'names'): void {
    const tree = this.#trees.get(revision)
    if (tree === undefined) return
    this.#wake(revision, tree)
    tree[counter]++
  }

  #leave(revision: Digest, counter: 'users' | 'names'): void {
    const tree = this.#trees.get(revision)
    if (tree === undefined || tree[counter] === 0) return
    tree[counter]--
    if (!isIdle(tree)) return
    this.#rest(revision, tree)
    // Counts only blobs that no other tree refers to, because shared blobs stay in memory.
    const own = tree.files.filter(({ digest }) => this.#blobs.get(digest)?.trees === 1)
    tree.replacedBytes = own.reduce((sum, { size }) => sum + size, BYTES_PER_TREE)
    this.#replacedBytes += tree.replacedBytes
    this.#forgetReplaced()
  }

  /** If replaced trees need too much memory, removes the oldest of these trees before their grace period ends. */
  #forgetReplaced(): void {
    if (this.#graceMs === Infinity) return
    const since = this.#clock.monotonic() - MIN_GRACE_MS
    for (const [revision, tree] of this.#idleTrees) {
      if (this.#replacedBytes <= MAX_REPLACED_BYTES || tree.idleSince > since) break
      if (tree.replacedBytes > 0) this.#forget(revision, tree)
    }
  }

  /** Starts the grace period of a tree without users. */
  #rest(revision: Digest, tree: Tree): void {
    this.#wake(revision, tree)
    tree.idleSince = this.#clock.monotonic()
    this.#idleTrees.set(revision, tree)
    this.#scheduleCollection()
  }

  #wake(revision: Digest, tree: Tree): void {
    this.#idleTrees.delete(revision)
    this.#replacedBytes -= tree.replacedBytes
    tree.replacedBytes = 0
  }

  #forget(revision: Digest, tree: Tree): void {
    this.#wake(revision, tree)
    this.#trees.delete(revision)
    for (const { digest } of tree.files) this.#letGo(digest)
  }

  /** Starts the grace period of a blob that no tree refers to. Called after the blob was put or requested. */
  #loosen(digest: Digest, blob: Blob): void {
    this.#looseBlobs.delete(digest)
    this.#looseBlobs.set(digest, blob)
    this.#scheduleCollection()
  }

  #hold(digest: Digest): void {
    const blob = this.#blobs.get(digest)
    if (blob === undefined) return
    blob.trees++
    this.#looseBlobs.delete(digest)
  }

  #letGo(digest: Digest): void {
    const blob = this.#blobs.get(digest)
    if (blob === undefined || --blob.trees > 0) return
    // Keeps a recently found blob, because the caller may be about to put a tree that refers to the blob.
    if (blob.idleSince > this.#clock.monotonic() - MIN_GRACE_MS) this.#loosen(digest, blob)
    else this.#blobs.delete(digest)
  }

  #scheduleCollection(): void {
    this.#cancelCollection ??= this.#clock.after(this.#graceMs, () => this.#collect(), { background: true })
  }

  #collect(): void {
    this.#cancelCollection = undefined
    const oldest = this.#clock.monotonic() - this.#graceMs
    for (const [revision, tree] of this.#idleTrees) {
      if (tree.idleSince > oldest) break
      this.#forget(revision, tree)
    }
    for (const [digest, blob] of this.#looseBlobs) {
      if (blob.idleSince > oldest) break
      this.#looseBlobs.delete(digest)
      this.#blobs.delete(digest)
    }
    if (this.#idleTrees.size + this.#looseBlobs.size > 0) this.#scheduleCollection()
  }
}

function isIdle(tree: Tree): boolean {
  return tree.users === 0 && tree.names === 0
}
