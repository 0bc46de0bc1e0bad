import { checkNumber } from '../errors.ts'
import { type Clock, systemClock } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import type { Digest } from '../skill/digest.ts'
import type { SkillFile } from '../skill/manifest.ts'
import type { SkillStore } from './skill-store.ts'

/** How long an unused revision stays readable, in milliseconds. */
export const DEFAULT_STORE_GRACE_MS = 60_000

export interface MemorySkillStoreOptions {
  /** How long an unused revision stays readable, in milliseconds; `Infinity` is for good. @default DEFAULT_STORE_GRACE_MS */
  readonly graceMs?: number
  readonly clock?: Clock
}

const KNOWN: KnownOptions<MemorySkillStoreOptions> = { graceMs: true, clock: true }

interface Blob {
  readonly bytes: Uint8Array
  trees: number
  /** Monotonic time at which no tree held it any more; bytes are put before the tree that names them. */
  idleSince: number
}

interface Tree {
  readonly files: readonly SkillFile[]
  users: number
  names: number
  /** Monotonic time at which nobody used it any more. */
  idleSince: number
}

/** The default store: lives and dies with the process. Revisions that nobody uses are collected after a grace period. */
export class MemorySkillStore implements SkillStore {
  readonly #blobs = new Map<Digest, Blob>()
  readonly #trees = new Map<Digest, Tree>()
  readonly #refs = new Map<string, Digest>()
  readonly #graceMs: number
  readonly #clock: Clock
  #cancelCollection: (() => void) | undefined

  constructor(options: MemorySkillStoreOptions = {}) {
    checkOptions('MemorySkillStore', options, KNOWN)
    checkNumber('graceMs', options.graceMs, 0)
    this.#graceMs = options.graceMs ?? DEFAULT_STORE_GRACE_MS
    this.#clock = options.clock ?? systemClock
  }

  has(digest: Digest): boolean {
    return this.#blobs.has(digest)
  }

  put(digest: Digest, bytes: Uint8Array): void {
    const known = this.#blobs.get(digest)
    if (known !== undefined) {
      known.idleSince = this.#clock.monotonic() // somebody is about to need it
      return
    }
    this.#blobs.set(digest, { bytes, trees: 0, idleSince: this.#clock.monotonic() })
    this.#scheduleCollection()
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#blobs.get(digest)?.bytes.slice()
  }

  putTree(revision: Digest, files: readonly SkillFile[]): void {
    const known = this.#trees.get(revision)
    if (known !== undefined) {
      known.idleSince = this.#clock.monotonic()
      return
    }
    this.#trees.set(revision, { files, users: 0, names: 0, idleSince: this.#clock.monotonic() })
    for (const { digest } of files) this.#count(digest, 1)
    this.#scheduleCollection()
  }

  async getTree(revision: Digest): Promise<readonly SkillFile[] | undefined> {
    return this.#trees.get(revision)?.files
  }

  retain(revision: Digest): void {
    const tree = this.#trees.get(revision)
    if (tree) tree.users++
  }

  release(revision: Digest): void {
    const tree = this.#trees.get(revision)
    if (tree) this.#drop(tree, 'users')
  }

  setRef(name: string, revision: Digest | undefined): void {
    const before = this.#refs.get(name)
    if (before === revision) return
    const old = before === undefined ? undefined : this.#trees.get(before)
    if (old) this.#drop(old, 'names')
    if (revision === undefined) this.#refs.delete(name)
    else {
      this.#refs.set(name, revision)
      const tree = this.#trees.get(revision)
      if (tree) tree.names++
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

  #drop(tree: Tree, counter: 'users' | 'names'): void {
    tree[counter] = Math.max(0, tree[counter] - 1)
    tree.idleSince = this.#clock.monotonic()
    if (isIdle(tree)) this.#scheduleCollection()
  }

  #scheduleCollection(): void {
    this.#cancelCollection ??= this.#clock.after(this.#graceMs, () => this.#collect(), { background: true })
  }

  #collect(): void {
    this.#cancelCollection = undefined
    const oldest = this.#clock.monotonic() - this.#graceMs
    let waiting = false
    for (const [revision, tree] of this.#trees) {
      if (!isIdle(tree)) continue
      if (tree.idleSince > oldest) {
        waiting = true
        continue
      }
      this.#trees.delete(revision)
      for (const { digest } of tree.files) this.#count(digest, -1)
    }
    for (const [digest, blob] of this.#blobs) {
      if (blob.trees > 0) continue
      if (blob.idleSince > oldest) waiting = true
      else this.#blobs.delete(digest)
    }
    if (waiting) this.#scheduleCollection()
  }

  #count(digest: Digest, change: 1 | -1): void {
    const blob = this.#blobs.get(digest)
    if (blob === undefined) return
    blob.trees += change
    blob.idleSince = this.#clock.monotonic()
  }
}

function isIdle(tree: Tree): boolean {
  return tree.users === 0 && tree.names === 0
}
