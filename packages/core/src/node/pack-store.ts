import {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fstatSync,
  futimesSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Digest, SkillError } from '../index.ts'
import { digestOf, quote, toMessage } from '../internal-entry.ts'
import { type SkillFile, type SkillStore, type StoreFault, systemClock } from '../source-entry.ts'
import { GitBlobs } from './git/git-blobs.ts'
import { nodeHasher } from './node-hasher.ts'
import { createPack, listPacks, type OpenPack } from './pack-files.ts'
import {
  INDEX_PARTS,
  type IndexedAge,
  type IndexedPosition,
  mergeIndexes,
  overwriteIndex,
  PACK_INDEX,
  PackIndex,
  type PackPosition,
  type RefChange,
} from './pack-index.ts'
import { PackedNotes } from './packed-notes.ts'
import { isDamage, type KeptDatabase } from './private-database.ts'
import { RetainedTrees } from './retained-trees.ts'
import { openWriteLock } from './shared-write-lock.ts'
import { describeDamage, openStateDatabase } from './state-database.ts'
import { createStateDirectory } from './state-directory.ts'
import { StoreCollection } from './store-collection.ts'

const WRITE_BUFFER_BYTES = 1024 * 1024
const ROWS_PER_TRANSACTION = 200
const ROWS_PER_SORT = 10_000
const NAMES_PER_PAGE = 500
// This time is half the grace period of a collection.
const TOUCH_AFTER_MS = 1_800_000
// Delay from a change of a name to the next flush. The delay is short, because there may be no later scan that flushes.
const FLUSH_AFTER_MS = 100
// Maximum size of a pack. A collection can compact a pack only after the process that created the pack has stopped
// writing to it.
const MAX_PACK_BYTES = 16 * 1024 * 1024
const LEASE_CHECK_MS = 10_000
// If the directory is removed, only open packs can be restored.
const MAX_OPEN_PACKS = 256

const sync = promisify(fdatasync)

/**
 * Opens the store of a state directory. Each process appends file bytes to its own packs, and all processes share an
 * index in SQLite. The store does not copy bytes that a git mirror in the same directory has. Bytes are readable
 * immediately after a put. The index refers to bytes only after the bytes are on the disk, so a crash loses at most the
 * last puts. After a crash, the store still has all bytes of every named revision.
 * @throws {SkillError} IO_FAILED when the directory or the index cannot be used
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory, openPackStore } from '@skillstoke/core/node'
 *
 * const store = await openPackStore('./state') // closed with the runtime
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')], state: { store } })
 * console.log(store.has(skills.current.get('support-pdf').files[0]?.digest ?? 'sha256:')) // prints true
 * ```
 */
export async function openPackStore(stateDirectory: string): Promise<SkillStore> {
  createStateDirectory(stateDirectory)
  const folder = join(stateDirectory, 'store')
  const loss = findLoss(folder)
  return await openStateDatabase(
    folder,
    PACK_INDEX,
    (kept, damage) => new PackStore(folder, kept, new GitBlobs(resolve(stateDirectory)), damage ?? loss),
  )
}

/** Returns a message if the index is missing although packs exist. */
function findLoss(folder: string): string | undefined {
  const index = join(folder, PACK_INDEX.name)
  if (existsSync(index) || !existsSync(folder) || listPacks(folder).length === 0) return undefined
  return `${PACK_INDEX.what} in ${quote(index)} are missing; the last good revisions are no longer known`
}

class PackStore implements SkillStore {
  readonly #folder: string
  readonly #kept: KeptDatabase
  #index: PackIndex
  readonly #gitBlobs: GitBlobs
  readonly notes: PackedNotes = new PackedNotes({
    ask: question => this.#ask(question),
    // Checks twice, because a collection may remove a pack between the query of the index and the check of the pack.
    hasPacks: async () => (await this.#hasPacks()) || (await this.#hasPacks()),
    onPut: () => this.#flushSoon(),
  })
  readonly #retained = new RetainedTrees()
  readonly #collection: StoreCollection
  readonly #leaseTimer: NodeJS.Timeout
  readonly #readers = new Map<string, number>()
  readonly #packSizes = new Map<string, number>()
  #writer: OpenPack | undefined
  /** Bytes that were put and are not yet written to a pack. */
  #buffer: { readonly digest: Digest; readonly bytes: Uint8Array }[] = []
  #bufferedBytes = 0
  /** Blobs that are not yet in the index. */
  #blobs = new Map<Digest, Uint8Array | PackPosition>()
  #trees = new Map<Digest, readonly SkillFile[]>()
  #refs = new Map<string, RefChange>()
  /**
   * Whether the index was empty at the first put and this process has not flushed since then. `undefined` before the
   * first put.
   */
  #isEmpty: boolean | undefined
  /**
   * Keys that this process has looked up and whose row is old or doomed. The next flush records that these keys were
   * used.
   */
  #touched = new Set<Digest>()
  #flushing: Promise<void> | undefined
  #flushTimer: NodeJS.Timeout | undefined
  /** Why the last flush failed. */
  #failure: StoreFault | undefined
  /** A fault that was repaired. `fault` reports this fault until the process ends. */
  #mended: StoreFault | undefined
  #isClosed = false
  #closing: Promise<void> | undefined

  constructor(folder: string, kept: KeptDatabase, gitBlobs: GitBlobs, damage: string | undefined) {
    this.#folder = folder
    this.#kept = kept
    this.#index = new PackIndex(kept.database)
    this.#failure = this.#findFault()
    this.#gitBlobs = gitBlobs
    this.#mended = damage === undefined ? undefined : { message: damage, isStoring: true }
    this.#collection = new StoreCollection({
      folder,
      clock: systemClock,
      isWriting: pack => pack === this.#writer?.name,
      isCurrent: () => !this.#isClosed && kept.fault === undefined && !kept.isGone(),
      onDone: () => this.#closeGonePacks(),
    })
    this.#leaseTimer = setInterval(() => {
      if (this.#retained.isDue(Date.now())) this.#flushSoon()
    }, LEASE_CHECK_MS).unref()
  }

  get fault(): StoreFault | undefined {
    return this.#failure ?? this.#mended ?? this.#findCollectionFault()
  }

  #findCollectionFault(): StoreFault | undefined {
    const { failure } = this.#collection
    if (failure === undefined) return undefined
    return {
      message: `unneeded content cannot be removed from the store: ${failure}`,
      isStoring: true,
    }
  }

  has(digest: Digest): boolean {
    if (this.#blobs.has(digest)) return true
    const position = this.#findBlob(digest)
    if (position === undefined || position.isDoomed === 1 || !this.#isThere(position)) return false
    // Marks the bytes as used, because the caller may put a tree later that refers to these bytes.
    this.#touch(digest, position)
    return true
  }

  put(digest: Digest, bytes: Uint8Array, locator?: string): void {
    this.#assertOpen()
    this.#isEmpty ??= this.#ask(index => index.isEmpty())
    // If another process fills the empty index meanwhile, some bytes are stored twice. This is harmless.
    if (this.#isEmpty ? this.#blobs.has(digest) : this.has(digest)) return
    const place = locator === undefined ? undefined : this.#gitBlobs.toPlace(locator)
    if (place !== undefined) {
      this.#blobs.set(digest, { pack: place, offset: 0, length: bytes.length })
      return
    }
    this.#blobs.set(digest, bytes)
    this.#buffer.push({ digest, bytes })
    this.#bufferedBytes += bytes.length
    if (this.#bufferedBytes < WRITE_BUFFER_BYTES) return
    try {
      this.#write()
    } catch (thrown) {
      // The bytes stay readable in memory, and the next flush writes them.
      this.#failure = toFault(thrown)
    }
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    this.#assertOpen()
    const pending = this.#blobs.get(digest)
    if (pending instanceof Uint8Array) return pending.slice()
    const position = pending ?? this.#findBlob(digest)
    if (position === undefined) return undefined
    const bytes = await this.#read(digest, position)
    if (bytes !== undefined) return bytes
    // A collection may have just moved the bytes to another pack.
    const moved = this.#findBlob(digest)
    if (moved !== undefined && moved.pack !== position.pack) return await this.#read(digest, moved)
    // The bytes are damaged. The row of the damaged bytes is removed, so that the next read of the file stores the
    // bytes again.
    if (pending === position) this.#blobs.delete(digest)
    this.#ask(index => index.removeBlob(digest, position))
    return undefined
  }

  async #read(digest: Digest, position: PackPosition): Promise<Uint8Array | undefined> {
    const bytes = this.#gitBlobs.isPlace(position.pack)
      ? await this.#gitBlobs.read(position.pack)
      : this.#readPack(position)
    return bytes !== undefined && digestOf(bytes, nodeHasher) === digest ? bytes : undefined
  }

  putTree(revision: Digest, files: readonly SkillFile[]): void {
    this.#assertOpen()
    this.#trees.set(revision, files)
  }

  async getTree(revision: Digest): Promise<readonly SkillFile[] | undefined> {
    this.#assertOpen()
    const put = this.#trees.get(revision)
    const stored = put === undefined ? this.#ask(index => index.findTree(revision)) : undefined
    // The caller is about to serve the tree, but the skill folder may no longer contain all files of the tree. Open
    // packs keep the bytes of these files available.
    const doomed: Digest[] = []
    if (stored !== undefined && this.#touch(revision, stored)) doomed.push(revision)
    const files = put ?? stored?.files
    for (const { digest } of files ?? []) {
      const position = this.#blobs.has(digest) ? undefined : this.#findBlob(digest)
      if (position === undefined || !this.#isThere(position)) continue
      if (this.#touch(digest, position)) doomed.push(digest)
    }
    // Spares doomed keys immediately, because a collection may remove these keys before the next flush.
    if (doomed.length > 0) this.#ask(index => index.touch(doomed))
    return files
  }

  /**
   * Marks a key so that the next flush records its use. Marks nothing if the index already has a recent use of the key.
   * Returns whether the key is doomed.
   */
  #touch(key: Digest, { at, isDoomed }: IndexedAge): boolean {
    if (isDoomed === 1 || at < Date.now() - TOUCH_AFTER_MS) {
      this.#touched.add(key)
      this.#flushSoon()
    }
    return isDoomed === 1
  }

  // The store keeps revisions that have a name or a lease. From the number of users, the store determines which
  // revisions need a lease.
  retain(revision: Digest): void {
    this.#retained.retain(revision, Date.now())
  }

  release(revision: Digest): void {
    this.#retained.release(revision)
  }

  setRef(name: string, revision: Digest | undefined): void {
    this.#assertOpen()
    const pending = this.#refs.get(name)
    const before = pending === undefined ? this.#ask(index => index.findRef(name)) : pending.before
    if (before !== undefined && revision !== before) this.#collection.noteWritten(0)
    if (revision === before) this.#refs.delete(name)
    else this.#refs.set(name, { revision, before })
    if (this.#refs.size > 0) this.#flushSoon()
  }

  getRef(name: string): Digest | undefined {
    const pending = this.#refs.get(name)
    return pending === undefined ? this.#ask(index => index.findRef(name)) : pending.revision
  }

  *listRefs(beginning: string): Generator<readonly [string, Digest]> {
    const pending = [...this.#refs].filter(([name]) => name.startsWith(beginning))
    for (const [name, { revision }] of pending) if (revision !== undefined) yield [name, revision]
    const passed = new Set(pending.map(([name]) => name))
    for (let from = beginning; ; ) {
      const page = this.#ask(index => index.listRefs(beginning, from, NAMES_PER_PAGE))
      for (const { name, revision } of page)
        if (name.startsWith(beginning) && !passed.has(name)) yield [name, revision]
      if (page.length < NAMES_PER_PAGE) return
      from = `${page.at(-1)?.name}\0`
    }
  }

  async exclusively<T>(name: string, timeoutMs: number, work: () => Promise<T>): Promise<T> {
    const folder = join(this.#folder, '../locks', nodeHasher.sha256(name).slice(0, 32))
    await using lock = await openWriteLock(folder, { timeoutMs })
    return await lock.run(work)
  }

  #flushSoon(): void {
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined
      this.flush().catch(() => undefined) // reported as the fault of the store; the next flush retries
    }, FLUSH_AFTER_MS).unref()
  }

  async flush(): Promise<void> {
    // Only one flush runs at a time. Content that is put while a flush runs needs another flush.
    while (this.#flushing !== undefined) await this.#flushing
    const waiting =
      this.#blobs.size + this.#trees.size + this.#refs.size + this.#touched.size + this.notes.waiting
    const isDue = waiting > 0 || this.#retained.isDue(Date.now())
    if (!isDue && this.#failure === undefined && !this.#kept.isGone()) return
    this.#assertOpen()
    this.#flushing = this.#flushOrFault().finally(() => (this.#flushing = undefined))
    await this.#flushing
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    clearInterval(this.#leaseTimer)
    try {
      await this.flush()
      await this.#collection.finish()
    } finally {
      await this.#collection.stop()
      this.#isClosed = true
      clearTimeout(this.#flushTimer)
      this.#gitBlobs.close()
      for (const descriptor of this.#readers.values()) closeSync(descriptor)
      if (this.#writer !== undefined) closeSync(this.#writer.descriptor)
      this.#kept.close()
    }
  }

  async #flushOrFault(): Promise<void> {
    try {
      const wasGone = this.#kept.isGone()
      const isTaken = existsSync(join(this.#folder, PACK_INDEX.name))
      if (wasGone) this.#restore()
      else if (this.#kept.fault !== undefined && this.#kept.heal(mergeIndexes)) this.#useIndex()
      await this.#flushAll()
      this.#failure = this.#findFault()
      if (wasGone) this.#mended = isTaken ? REPLACED : REMOVED
    } catch (thrown) {
      this.#failure = toFault(thrown)
      throw thrown
    }
  }

  /** While the database exists only in memory, returns a fault, because new rows do not reach the disk. */
  #findFault(): StoreFault | undefined {
    const { fault } = this.#kept
    return fault === undefined ? undefined : { message: fault, isStoring: false }
  }

  /**
   * Creates new files for the index and for the packs that this process still has open. The sources deliver all other
   * content again.
   */
  #restore(): void {
    // The existing index may be an old copy, so its names are replaced with the names of this process.
    this.#kept.restore(overwriteIndex)
    this.#useIndex()
    this.#packSizes.clear()
    const writer = this.#writer
    const open = new Map(this.#readers)
    if (writer !== undefined) open.set(writer.name, writer.descriptor)
    for (const [name, descriptor] of open) writePack(join(this.#folder, name), descriptor)
    // Closes the descriptors of the removed pack files and opens the new pack files.
    for (const descriptor of this.#readers.values()) closeSync(descriptor)
    this.#readers.clear()
    for (const name of open.keys()) if (name !== writer?.name) this.#openReader(name)
    if (writer === undefined) return
    // Goes on with the same pack. With a new one, each removal would leave one more pack open.
    const descriptor = openSync(join(this.#folder, writer.name), constants.O_RDWR)
    closeSync(writer.descriptor)
    this.#writer = { ...writer, descriptor }
  }

  /** Runs a query on the index. If SQLite reports damage, replaces the index and repeats the query once. */
  #ask<Answer>(question: (index: PackIndex) => Answer): Answer {
    this.#assertOpen()
    try {
      return question(this.#index)
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown
      const aside = this.#kept.replaceDamaged(mergeIndexes)
      this.#useIndex()
      const message = describeDamage(PACK_INDEX, this.#folder, thrown, aside)
      this.#mended = { message, isStoring: true }
      this.#failure = this.#findFault()
      return question(this.#index)
    }
  }

  #findBlob(digest: Digest): IndexedPosition | undefined {
    return this.#ask(index => index.findBlob(digest))
  }

  /**
   * Switches to the new index. For pending changes of names, reads the previous revisions again, because the new index
   * may contain other revisions.
   */
  #useIndex(): void {
    this.#index = new PackIndex(this.#kept.database)
    for (const [name, change] of this.#refs) change.before = this.#index.findRef(name)
  }

  async #flushAll(): Promise<void> {
    const trees = [...this.#trees]
    const refs = [...this.#refs]
    const notes = this.notes.list()
    const touched = [...this.#touched]
    this.#isEmpty = false
    this.#touched.clear()
    for (const batch of inBatches(touched)) {
      this.#ask(index => index.touch(batch))
      await setImmediate()
    }
    while (!(await this.#flushBlobs()));
    for (const batch of inSortedBatches(trees)) {
      this.#ask(index => index.addTrees(batch))
      for (const [revision] of batch) this.#trees.delete(revision)
      await setImmediate()
    }
    for (const batch of inSortedBatches(refs)) {
      // If a name was changed during this flush, the bytes of its new revision may not be written yet. The next flush
      // writes that name.
      const names = batch.flatMap(([name, change]) => (this.#refs.get(name) === change ? name : []))
      this.#ask(index => index.setRefs(names.map(name => [name, this.#refs.get(name) as RefChange])))
      for (const name of names) this.#refs.delete(name)
      await setImmediate()
    }
    await this.notes.write(notes)
    // Names are written before leases, because the names already keep most of the revisions.
    for (const now = Date.now(); this.#retained.isDue(now); ) {
      const { revisions, until } = this.#retained.takeDue(now)
      for (const batch of inBatches([...revisions].sort())) {
        this.#ask(index => index.leaseTrees(batch, until))
        await setImmediate()
      }
    }
    this.#rotate()
  }

  /**
   * Writes the buffered blobs and adds them to the index. If the pack was removed meanwhile, buffers the blobs for a
   * new pack and returns false.
   */
  async #flushBlobs(): Promise<boolean> {
    this.#write()
    const writer = this.#writer
    const blobs = [...this.#blobs].filter(
      (entry): entry is [Digest, PackPosition] => !(entry[1] instanceof Uint8Array),
    )
    const isWritten = blobs.some(([, { pack }]) => pack === writer?.name)
    if (isWritten && writer !== undefined) {
      // Sets a new modification time, because a collection removes old packs without rows.
      futimesSync(writer.descriptor, new Date(), new Date())
      await sync(writer.descriptor)
    }
    for (const batch of inSortedBatches(blobs)) {
      this.#ask(index => index.addBlobs(batch))
      await setImmediate()
    }
    if (isWritten && writer !== undefined) {
      if (this.#writer !== writer) return false
      if (fstatSync(writer.descriptor).nlink === 0) {
        this.#retire(writer)
        return false
      }
    }
    for (const [digest, position] of blobs)
      if (this.#blobs.get(digest) === position) this.#blobs.delete(digest)
    return true
  }

  /** Stops writing to a large pack as soon as the index refers to all its bytes. The pack stays open for reading. */
  #rotate(): void {
    const writer = this.#writer
    if (writer === undefined || writer.offset < MAX_PACK_BYTES) return
    const isPending = [...this.#blobs.values()].some(
      position => !(position instanceof Uint8Array) && position.pack === writer.name,
    )
    if (isPending) return
    if (this.#readers.has(writer.name)) closeSync(writer.descriptor)
    else this.#readers.set(writer.name, writer.descriptor)
    this.#writer = undefined
  }

  /**
   * Closes packs that a collection has removed. The system frees the disk space of a removed file only when the file is
   * closed.
   */
  #closeGonePacks(): void {
    // If the whole directory was removed, `#restore` needs the open packs.
    if (this.#isClosed || this.#kept.isGone()) return
    for (const [pack, descriptor] of this.#readers) {
      if (fstatSync(descriptor).nlink > 0) continue
      closeSync(descriptor)
      this.#readers.delete(pack)
      this.#packSizes.delete(pack)
    }
  }

  /** Appends the buffered bytes to the pack of this process. */
  #write(): void {
    if (this.#buffer.length === 0) return
    // Another process may have considered this process dead and removed the idle pack of this process.
    if (this.#writer !== undefined && fstatSync(this.#writer.descriptor).nlink === 0)
      this.#retire(this.#writer)
    this.#writer ??= createPack(this.#folder)
    const writer = this.#writer
    const all = Buffer.concat(this.#buffer.map(({ bytes }) => bytes))
    for (let written = 0; written < all.length; ) {
      written += writeSync(writer.descriptor, all, written, all.length - written, writer.offset + written)
    }
    for (const { digest, bytes } of this.#buffer) {
      this.#blobs.set(digest, { pack: writer.name, offset: writer.offset, length: bytes.length })
      writer.offset += bytes.length
    }
    this.#buffer = []
    this.#bufferedBytes = 0
    this.#collection.noteWritten(all.length)
  }

  /**
   * Closes a removed pack and buffers the bytes that the index does not refer to yet. All other bytes of the pack have
   * been moved to other packs.
   */
  #retire(writer: { readonly name: string; readonly descriptor: number }): void {
    for (const [digest, position] of this.#blobs) {
      if (position instanceof Uint8Array || position.pack !== writer.name) continue
      const bytes = new Uint8Array(position.length)
      readSync(writer.descriptor, bytes, 0, position.length, position.offset)
      this.#blobs.set(digest, bytes)
      this.#buffer.push({ digest, bytes })
    }
    closeSync(writer.descriptor)
    this.#writer = undefined
  }

  #readPack({ pack, offset, length }: PackPosition): Uint8Array | undefined {
    try {
      const descriptor = pack === this.#writer?.name ? this.#writer.descriptor : this.#openReader(pack)
      if (fstatSync(descriptor).size < offset + length) return undefined
      const bytes = new Uint8Array(length)
      return length === 0 || readSync(descriptor, bytes, 0, length, offset) === length ? bytes : undefined
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw thrown
    }
  }

  /**
   * Returns whether the pack still exists and is long enough to contain the bytes. If not, the bytes must be stored
   * again.
   */
  #isThere({ pack, offset, length }: PackPosition): boolean {
    if (this.#gitBlobs.isPlace(pack)) return this.#gitBlobs.isThere(pack)
    if ((this.#packSizes.get(pack) ?? -1) >= offset + length) return true
    const size = this.#sizeOf(pack)
    this.#packSizes.set(pack, size)
    return size >= offset + length
  }

  async #hasPacks(): Promise<boolean> {
    for (const part of INDEX_PARTS) {
      const sizes = this.#ask(index => index.packSizes(part))
      if (!sizes.entries().every(([pack, size]) => this.#sizeOf(pack) >= size)) return false
      await setImmediate()
    }
    return true
  }

  #sizeOf(pack: string): number {
    try {
      if (this.#readers.size < MAX_OPEN_PACKS) return fstatSync(this.#openReader(pack)).size
      return statSync(join(this.#folder, pack)).size
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return -1
      throw thrown
    }
  }

  #openReader(pack: string): number {
    const known = this.#readers.get(pack)
    if (known !== undefined) return known
    const descriptor = openSync(join(this.#folder, pack), constants.O_RDONLY)
    this.#readers.set(pack, descriptor)
    return descriptor
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new SkillError('CLOSED', 'the store is closed')
  }
}

const REMOVED: StoreFault = {
  message: 'the state directory was removed; the served revisions were written again',
  isStoring: true,
}

const REPLACED: StoreFault = {
  message: `another process replaced ${PACK_INDEX.what}; the served revisions were added to the new entries`,
  isStoring: true,
}

function toFault(thrown: unknown): StoreFault {
  return { message: toMessage(thrown), isStoring: false }
}

/** If the file of an open pack was removed, writes the bytes of the pack to a new file. */
function writePack(path: string, descriptor: number): void {
  if (existsSync(path)) return
  const copy = openSync(path, 'wx', 0o600)
  try {
    const bytes = Buffer.alloc(WRITE_BUFFER_BYTES)
    for (let at = 0, length = -1; length !== 0; at += length) {
      length = readSync(descriptor, bytes, 0, bytes.length, at)
      for (let written = 0; written < length; )
        written += writeSync(copy, bytes, written, length - written, at + written)
    }
  } finally {
    closeSync(copy)
  }
}

function* inBatches<T>(items: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < items.length; i += ROWS_PER_TRANSACTION) yield items.slice(i, i + ROWS_PER_TRANSACTION)
}

/**
 * Yields batches in the order of the index, so that neighbouring rows are written together. To limit the time of a
 * sort, sorts at most `ROWS_PER_SORT` items at once.
 */
function* inSortedBatches<Key extends string, T>(
  items: readonly (readonly [Key, T])[],
): Generator<readonly (readonly [Key, T])[]> {
  for (let i = 0; i < items.length; i += ROWS_PER_SORT)
    yield* inBatches(items.slice(i, i + ROWS_PER_SORT).sort(([a], [b]) => (a < b ? -1 : 1)))
}
