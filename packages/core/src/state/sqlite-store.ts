import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
// No named import: on an old Node, the import would fail before `assertSupported` can name the needed version.
import zlib from 'node:zlib'
import { libraryId } from '../disk/library.ts'
import { nodeHasher } from '../disk/node-hasher.ts'
import { type Digest, SkillError } from '../index.ts'
import { digestOf, revisionOf, toMessage } from '../internal-entry.ts'
import {
  type FolderNote,
  type FolderNotes,
  type SkillFile,
  type SkillStore,
  type StoreFault,
  systemClock,
} from '../source-entry.ts'
import { cannotWrite } from './private-database.ts'
import { openWriteLock } from './shared-write-lock.ts'
import { openStateDatabase, type StateDatabase } from './state-database.ts'
import { GRACE_MS, StoreCollection } from './store-collection.ts'
import { forgetDamaged, STORE } from './store-schema.ts'

/** Until its lease ends, a revision in use is kept by all processes, even if it loses its name. */
const LEASE_MS = 7_200_000
/** A process that ends earlier needs no leases, because a put or lookup keeps a revision for the grace period. */
const LEASE_AFTER_MS = 10_000
const TOUCH_AFTER_MS = GRACE_MS / 2
/** Delay from a change of a name to the next flush. Short, because there may be no later scan that flushes. */
const FLUSH_AFTER_MS = 100
/** After this time, a transaction ends and the event loop gets a turn. */
const SLICE_MS = 3

/**
 * Opens the store of a state directory: one SQLite database that several processes may share. Content can be read
 * immediately after a put, and is written to the database by the next flush. If the database cannot be written, content
 * stays in memory, `fault` has the reason, and each later flush tries again.
 * @throws {SkillError} IO_FAILED when the directory or the database cannot be used
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory, openSkillStore } from '@skillstoke/core/node'
 *
 * const store = await openSkillStore('./state') // closed with the runtime
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')], state: { store } })
 * console.log(store.has(skills.current.get('support-pdf').files[0]?.digest ?? 'sha256:')) // prints true
 * ```
 */
export async function openSkillStore(stateDirectory: string): Promise<SkillStore> {
  return new SqliteStore(stateDirectory, await openStateDatabase(stateDirectory, STORE))
}

/** One change that waits for the next flush. */
interface Change {
  write(): void
  /** Called after the transaction of the change was committed. */
  onWritten(): void
}

interface RefChange {
  readonly revision: Digest | undefined
  /** The revision in the database when the change was made. */
  readonly before: Digest | undefined
}

interface NoteChange {
  readonly source: string
  readonly location: string
  readonly note: FolderNote | undefined
}

interface Use {
  users: number
  /** Time until which the database keeps the revision, in milliseconds since the epoch. */
  leasedUntil: number
}

class SqliteStore implements SkillStore {
  readonly notes: FolderNotes = {
    find: (source, location) => this.#findNote(source, location),
    put: (source, location, note) => {
      this.#notes.set(`${source}\0${location}`, { source, location, note })
      this.#flushSoon()
    },
  }
  readonly #directory: string
  readonly #state: StateDatabase
  readonly #collection: StoreCollection
  readonly #leaseTimer: NodeJS.Timeout
  readonly #blobs = new Map<Digest, Uint8Array>()
  readonly #trees = new Map<Digest, readonly SkillFile[]>()
  readonly #refs = new Map<string, RefChange>()
  readonly #notes = new Map<string, NoteChange>()
  /** Until when to keep revisions and bytes that are in use, or that this process looked up long after their last use. */
  readonly #kept = new Map<Digest, number>()
  readonly #uses = new Map<Digest, Use>()
  #flushing: Promise<void> | undefined
  #flushTimer: NodeJS.Timeout | undefined
  /** Why the last flush failed. */
  #failure: string | undefined
  #closing: Promise<void> | undefined

  constructor(directory: string, state: StateDatabase) {
    this.#directory = directory
    this.#state = state
    this.#collection = new StoreCollection(state, systemClock)
    this.#leaseTimer = setInterval(() => this.#lease(), LEASE_AFTER_MS).unref()
  }

  get fault(): StoreFault | undefined {
    const lasting = this.#failure ?? this.#state.fault
    if (lasting !== undefined) return { message: lasting, isStoring: false }
    const passing = this.#state.damage ?? this.#collection.failure
    return passing === undefined ? undefined : { message: passing, isStoring: true }
  }

  has(digest: Digest): boolean {
    if (this.#blobs.has(digest)) return true
    const row = this.#state.get('SELECT at FROM blob WHERE digest = ?', digest)
    // Marks the bytes as used, because the caller may put a tree later that refers to these bytes.
    if (row !== undefined) this.#touch(digest, Number(row['at']))
    return row !== undefined
  }

  put(digest: Digest, bytes: Uint8Array): void {
    this.#assertOpen()
    this.#blobs.set(digest, bytes)
  }

  async get(digest: Digest): Promise<Uint8Array | undefined> {
    this.#assertOpen()
    const pending = this.#blobs.get(digest)
    if (pending !== undefined) return pending.slice()
    const bytes = this.#state.get(FIND_BYTES, digest)?.['bytes'] as Uint8Array | undefined
    if (bytes === undefined || digestOf(bytes, nodeHasher) === digest) return bytes
    forgetDamaged(this.#state, [digest])
    return undefined
  }

  putTree(revision: Digest, files: readonly SkillFile[]): void {
    this.#assertOpen()
    this.#trees.set(revision, files)
  }

  async getTree(revision: Digest): Promise<readonly SkillFile[] | undefined> {
    this.#assertOpen()
    const pending = this.#trees.get(revision)
    if (pending !== undefined) return pending
    const tree = this.#state.get('SELECT until FROM tree WHERE revision = ?', revision)
    if (tree === undefined) return undefined
    const files = this.#state
      .all('SELECT path, digest, size, isExecutable FROM member WHERE revision = ? ORDER BY place', revision)
      .map(row => ({ ...row, isExecutable: row['isExecutable'] === 1 }) as unknown as SkillFile)
    if (revisionOf(files, nodeHasher) === revision) {
      // The caller is about to serve the tree.
      this.#touch(revision, Number(tree['until']) - GRACE_MS)
      return files
    }
    forgetDamaged(this.#state, [revision])
    return undefined
  }

  /** Marks a key whose last use is so long ago that a collection could remove it soon. */
  #touch(key: Digest, usedAt: number): void {
    if (usedAt > Date.now() - TOUCH_AFTER_MS) return
    this.#kept.set(key, Math.max(this.#kept.get(key) ?? 0, Date.now() + GRACE_MS))
    this.#flushSoon()
  }

  retain(revision: Digest): void {
    const use = this.#uses.get(revision)
    if (use === undefined) this.#uses.set(revision, { users: 1, leasedUntil: 0 })
    else use.users++
  }

  release(revision: Digest): void {
    const use = this.#uses.get(revision)
    if (use !== undefined && --use.users === 0) this.#uses.delete(revision)
  }

  setRef(name: string, revision: Digest | undefined): void {
    this.#assertOpen()
    const pending = this.#refs.get(name)
    const before = pending === undefined ? this.#findRef(name) : pending.before
    if (revision === before) this.#refs.delete(name)
    else this.#refs.set(name, { revision, before })
    if (this.#refs.size > 0) this.#flushSoon()
  }

  getRef(name: string): Digest | undefined {
    const pending = this.#refs.get(name)
    return pending === undefined ? this.#findRef(name) : pending.revision
  }

  #findRef(name: string): Digest | undefined {
    return this.#state.get('SELECT revision FROM ref WHERE name = ?', name)?.['revision'] as
      | Digest
      | undefined
  }

  async exclusively<T>(name: string, timeoutMs: number, work: () => Promise<T>): Promise<T> {
    const folder = join(this.#directory, 'locks', nodeHasher.sha256(name).slice(0, 32))
    await using lock = await openWriteLock(folder, { timeoutMs })
    return await lock.run(work)
  }

  #findNote(source: string, location: string): FolderNote | undefined {
    const pending = this.#notes.get(`${source}\0${location}`)
    if (pending !== undefined) return pending.note
    const row = this.#state.get(FIND_NOTE, source, location)
    return row === undefined ? undefined : toNote(location, row as unknown as NoteRow)
  }

  #flushSoon(): void {
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined
      this.flush().catch(() => undefined) // reported as the fault of the store; the next flush tries again
    }, FLUSH_AFTER_MS).unref()
  }

  /** Plans the leases of the revisions that have been in use for some seconds. */
  #lease(): void {
    const until = Date.now() + LEASE_MS
    for (const [revision, use] of this.#uses) {
      if (use.leasedUntil > until - LEASE_MS / 2) continue
      use.leasedUntil = until
      this.#kept.set(revision, until)
    }
    if (this.#kept.size > 0) this.#flushSoon()
  }

  async flush(): Promise<void> {
    // Only one flush runs at a time. Content that is put while a flush runs needs another flush.
    while (this.#flushing !== undefined) await this.#flushing.catch(() => undefined)
    if (!this.#state.isOpen) return
    this.#flushing = this.#flush().finally(() => (this.#flushing = undefined))
    await this.#flushing
  }

  async #flush(): Promise<void> {
    try {
      const changes = this.#listChanges()
      for (const first of changes) {
        this.#write(first, changes)
        // Also after the last slice, so that a caller that flushes again and again does not stop the timers.
        await setImmediate()
      }
      this.#failure = undefined
    } catch (thrown) {
      this.#failure = toMessage(thrown)
      if (!cannotWrite(thrown)) throw thrown
      throw new SkillError('IO_FAILED', `${STORE.what} cannot be written: ${this.#failure}`, {
        cause: thrown,
      })
    }
  }

  /** Writes changes in one transaction until the time of a slice is over. */
  #write(first: Change, changes: Iterator<Change>): void {
    const slice = [first]
    // If the transaction finds damage, it runs again, and writes all changes of the slice once more.
    this.#state.transaction(() => {
      const end = performance.now() + SLICE_MS
      for (const change of slice) {
        change.write()
        if (change !== slice.at(-1) || performance.now() >= end) continue
        const next = changes.next()
        if (next.done !== true) slice.push(next.value)
      }
    })
    for (const each of slice) each.onWritten()
  }

  /** Yields all changes of this moment. Nothing is written before what it refers to. */
  *#listChanges(): Generator<Change> {
    const now = Date.now()
    const state = this.#state
    const lists = [
      toChanges(this.#blobs, (digest, bytes) => {
        if (state.run('UPDATE blob SET at = ? WHERE digest = ?', now, digest) > 0) return
        state.run('INSERT INTO content (bytes) VALUES (?)', bytes)
        state.run('INSERT INTO blob (digest, at, content) VALUES (?, ?, last_insert_rowid())', digest, now)
      }),
      toChanges(this.#trees, (revision, files) => addTree(state, revision, files, now + GRACE_MS)),
      toChanges(this.#refs, (name, { revision, before }) => {
        // Another process has changed the name meanwhile, and that change is newer.
        if (this.#findRef(name) !== before) return
        if (revision === undefined) state.run('DELETE FROM ref WHERE name = ?', name)
        else state.run('INSERT OR REPLACE INTO ref (name, revision) VALUES (?, ?)', name, revision)
        // A process may still use the previous revision.
        if (before !== undefined) extend(state, before, now + GRACE_MS)
      }),
      toChanges(this.#notes, (_, change) => setNote(state, change)),
      toChanges(this.#kept, (key, until) => {
        state.run('UPDATE blob SET at = ? WHERE digest = ?', now, key)
        extend(state, key, until)
      }),
    ]
    for (const each of lists) yield* each
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
      clearTimeout(this.#flushTimer)
      this.#state.close()
    }
  }

  #assertOpen(): void {
    if (!this.#state.isOpen) throw new SkillError('CLOSED', 'the store is closed')
  }
}

/**
 * Yields the changes of this moment. A value that is replaced during the flush is written by the next flush, after what
 * it refers to. One change exists at a time, because a first start has some ten thousand.
 */
function toChanges<Key, Value>(
  pending: Map<Key, Value>,
  write: (key: Key, value: Value) => void,
): Iterable<Change> {
  const keys = [...pending.keys()]
  const values = [...pending.values()]
  return keys.values().map((key, index) => {
    const value = values[index] as Value
    return {
      write() {
        if (pending.get(key) === value) write(key, value)
      },
      onWritten() {
        if (pending.get(key) === value) pending.delete(key)
      },
    }
  })
}

const FIND_BYTES = 'SELECT bytes FROM content WHERE id = (SELECT content FROM blob WHERE digest = ?)'

function addTree(state: StateDatabase, revision: Digest, files: readonly SkillFile[], until: number): void {
  if (extend(state, revision, until) > 0) return
  state.run('INSERT INTO tree (revision, until) VALUES (?, ?)', revision, until)
  for (const [place, { path, digest, size, isExecutable }] of files.entries())
    state.run(ADD_MEMBER, revision, place, path, digest, size, isExecutable ? 1 : 0)
}

const ADD_MEMBER = `INSERT OR REPLACE INTO member (revision, place, path, digest, size, isExecutable)
  VALUES (?, ?, ?, ?, ?, ?)`

/** Keeps a revision at least until the given time. Returns the number of changed rows. */
function extend(state: StateDatabase, revision: Digest, until: number): number {
  return state.run('UPDATE tree SET until = max(until, ?) WHERE revision = ?', until, revision)
}

const FIND_NOTE = `SELECT revision, facts, text, sum FROM note WHERE source = ? AND location = ?
  AND EXISTS (SELECT 1 FROM tree WHERE tree.revision = note.revision)`

const SET_NOTE = `INSERT OR REPLACE INTO note (source, location, revision, facts, text, sum)
  SELECT ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM tree WHERE revision = ?)`

function setNote(state: StateDatabase, { source, location, note }: NoteChange): void {
  if (note === undefined) {
    state.run('DELETE FROM note WHERE source = ? AND location = ?', source, location)
    return
  }
  if (libraryId() === undefined) return
  const { revision, text } = note
  const facts = new Uint8Array(note.facts.buffer, note.facts.byteOffset, note.facts.byteLength)
  const sum = sumOf(location, revision, facts, text)
  state.run(SET_NOTE, source, location, revision, facts, text, sum, revision)
}

interface NoteRow {
  readonly revision: Digest
  readonly facts: Uint8Array<ArrayBuffer>
  readonly text: string
  readonly sum: number
}

/** Returns `undefined` if the note is damaged or was written by another build of the library. */
function toNote(location: string, { revision, facts, text, sum }: NoteRow): FolderNote | undefined {
  if (libraryId() === undefined || sumOf(location, revision, facts, text) !== sum) return undefined
  const length = facts.byteLength / Float64Array.BYTES_PER_ELEMENT
  return { revision, facts: new Float64Array(facts.buffer, facts.byteOffset, length), text }
}

function sumOf(location: string, revision: Digest, facts: Uint8Array, text: string): number {
  return zlib.crc32(text, zlib.crc32(facts, zlib.crc32(`${libraryId()}\0${location}\0${revision}`)))
}
