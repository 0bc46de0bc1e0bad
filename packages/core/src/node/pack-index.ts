import type { DatabaseSync, StatementSync } from 'node:sqlite'
// No named import: on an old Node, the import would fail before `assertSupported` can name the needed version.
import zlib from 'node:zlib'
import type { Digest } from '../index.ts'
import { revisionOf } from '../internal-entry.ts'
import type { FolderNote, SkillFile } from '../source-entry.ts'
import { libraryId } from './library.ts'
import { nodeHasher } from './node-hasher.ts'
import type { NoteChange } from './packed-notes.ts'
import { inTransaction, readRows } from './private-database.ts'
import type { StateDatabase } from './state-database.ts'

/** Location of the bytes that have a given digest. */
export interface PackPosition {
  readonly pack: string
  readonly offset: number
  readonly length: number
}

/** The age of a row, which determines how long the index keeps a key without a name. */
export interface IndexedAge {
  /** Time of the last use or end of the lease, whichever is later, in milliseconds since the epoch. */
  readonly at: number
  /** 1 if a collection is about to remove the row. Until the removal, the row can be read. */
  readonly isDoomed: 0 | 1
}

export interface IndexedPosition extends PackPosition, IndexedAge {}

export interface IndexedTree extends IndexedAge {
  readonly files: readonly SkillFile[]
}

/** A name and the revision that the name points at. */
export interface IndexedRef {
  readonly name: string
  readonly revision: Digest
}

/** A range of digests, from `from` inclusive to `to` exclusive. */
export interface IndexPart {
  readonly from: string
  readonly to: string
}

// Digests are evenly distributed over 16 parts, so a query over one part takes a sixteenth of the time of a full query.
const HEX_DIGITS = [...'0123456789abcdef']

/** The index is divided into these ranges of digests. Every digest is in exactly one of these ranges. */
export const INDEX_PARTS: readonly IndexPart[] = HEX_DIGITS.map((digit, index) => ({
  from: `sha256:${digit}`,
  to: `sha256:${HEX_DIGITS[index + 1] ?? 'g'}`,
}))

const DAY_MS = 86_400_000

/** The revisions that a name pointed to before and after a change. */
export interface RefChange {
  readonly revision: Digest | undefined
  before: Digest | undefined
}

const SCHEMA = `
  PRAGMA busy_timeout = 5000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  PRAGMA journal_size_limit = 1048576;
  CREATE TABLE IF NOT EXISTS blob (
    digest TEXT PRIMARY KEY, pack TEXT NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
    at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tree (
    revision TEXT PRIMARY KEY, files TEXT NOT NULL, at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ref (name TEXT PRIMARY KEY, revision TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS note (
    source TEXT NOT NULL, location TEXT NOT NULL, revision TEXT NOT NULL, facts BLOB NOT NULL, text TEXT NOT NULL,
    sum INTEGER NOT NULL, PRIMARY KEY (source, location)
  );
  CREATE INDEX IF NOT EXISTS note_revision ON note (revision);
  CREATE TABLE IF NOT EXISTS note_source (source TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS doomed (key TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
`

/**
 * Time value that marks a key as spared in the table of doomed keys. A process that needs a key while a round runs
 * marks the key, because the round may have already examined the key.
 */
export const SPARED: number = Number.MAX_SAFE_INTEGER

/** The database file of the index. The packs are in the same folder. */
export const PACK_INDEX: StateDatabase = {
  name: 'index.db',
  what: 'the index entries of the store',
  schema: SCHEMA,
}

/**
 * The shared index of a pack store. SQLite locks the index between processes and keeps it consistent if a process
 * crashes.
 */
export class PackIndex {
  readonly #database: DatabaseSync
  readonly #findBlob: StatementSync
  readonly #touchBlob: StatementSync
  readonly #touchTree: StatementSync
  readonly #addBlob: StatementSync
  readonly #removeBlob: StatementSync
  readonly #findTree: StatementSync
  readonly #addTree: StatementSync
  readonly #findRef: StatementSync
  readonly #setRef: StatementSync
  readonly #removeRef: StatementSync
  readonly #listRefs: StatementSync
  readonly #findNote: StatementSync
  readonly #setNote: StatementSync
  readonly #removeNote: StatementSync
  readonly #hasDoomed: StatementSync
  readonly #spare: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#findBlob = database.prepare(
      `SELECT pack, offset, length, at, ${isDoomed('digest')} AS isDoomed FROM blob WHERE digest = ?`,
    )
    this.#touchBlob = database.prepare('UPDATE blob SET at = ? WHERE digest = ?')
    this.#touchTree = database.prepare('UPDATE tree SET at = max(at, ?) WHERE revision = ?')
    this.#addBlob = database.prepare(
      'INSERT OR REPLACE INTO blob (digest, pack, offset, length, at) VALUES (?, ?, ?, ?, ?)',
    )
    this.#removeBlob = database.prepare('DELETE FROM blob WHERE digest = ? AND pack = ? AND offset = ?')
    this.#findTree = database.prepare(
      `SELECT files, at, ${isDoomed('revision')} AS isDoomed FROM tree WHERE revision = ?`,
    )
    // Putting a revision again restarts its grace period.
    this.#addTree = database.prepare(
      'INSERT INTO tree (revision, files, at) VALUES (?, ?, ?) ON CONFLICT (revision) DO UPDATE SET at = excluded.at',
    )
    this.#findRef = database.prepare('SELECT revision FROM ref WHERE name = ?')
    this.#setRef = database.prepare(
      'INSERT INTO ref (name, revision) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET revision = excluded.revision',
    )
    this.#removeRef = database.prepare('DELETE FROM ref WHERE name = ?')
    this.#listRefs = database.prepare(
      'SELECT name, revision FROM ref WHERE name >= ? AND name < ? ORDER BY name LIMIT ?',
    )
    this.#findNote = database.prepare(
      `SELECT revision, facts, text, sum FROM note WHERE source = ? AND location = ?
       AND EXISTS (SELECT 1 FROM tree WHERE tree.revision = note.revision)`,
    )
    this.#findNote.setReturnArrays(true)
    this.#setNote = database.prepare(
      `INSERT OR REPLACE INTO note (source, location, revision, facts, text, sum)
       SELECT ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM tree WHERE revision = ?)`,
    )
    this.#removeNote = database.prepare('DELETE FROM note WHERE source = ? AND location = ?')
    this.#hasDoomed = database.prepare('SELECT EXISTS (SELECT 1 FROM doomed) AS found')
    this.#spare = database.prepare(
      `INSERT INTO doomed (key, at) VALUES (?, ${SPARED}) ON CONFLICT (key) DO UPDATE SET at = ${SPARED}`,
    )
  }

  isEmpty(): boolean {
    return this.#database.prepare('SELECT 1 FROM blob LIMIT 1').get() === undefined
  }

  findBlob(digest: Digest): IndexedPosition | undefined {
    return this.#findBlob.get(digest) as IndexedPosition | undefined
  }

  /** Records that blobs and trees are used now, so that no collection removes them within the grace period. */
  touch(keys: readonly Digest[]): void {
    inTransaction(this.#database, () => {
      const now = Date.now()
      for (const key of keys) {
        this.#touchBlob.run(now, key)
        this.#touchTree.run(now, key)
      }
      this.#spareAll(keys)
    })
  }

  addBlobs(entries: readonly (readonly [Digest, PackPosition])[]): void {
    inTransaction(this.#database, () => {
      for (const [digest, { pack, offset, length }] of entries)
        this.#addBlob.run(digest, pack, offset, length, Date.now())
      this.#spareAll(entries.map(([digest]) => digest))
    })
  }

  /**
   * Removes the row of a blob, unless the blob was moved to another pack meanwhile. If the row is removed, also removes
   * all notes, so that the next start reads every folder and stores the bytes again.
   */
  removeBlob(digest: Digest, { pack, offset }: PackPosition): void {
    if (this.#removeBlob.run(digest, pack, offset).changes > 0) this.removeNotes()
  }

  findTree(revision: Digest): IndexedTree | undefined {
    const row = this.#findTree.get(revision) as (IndexedAge & { files: string }) | undefined
    return row === undefined ? undefined : { ...row, files: JSON.parse(row.files) as SkillFile[] }
  }

  addTrees(entries: readonly (readonly [Digest, readonly SkillFile[]])[]): void {
    inTransaction(this.#database, () => {
      for (const [revision, files] of entries) this.#addTree.run(revision, JSON.stringify(files), Date.now())
      // Also spares the files of the revisions. A collection may have doomed these files after this process looked them
      // up.
      this.#spareAll(entries.flatMap(([revision, files]) => [revision, ...files.map(({ digest }) => digest)]))
    })
  }

  /** Returns at most `limit` names that begin with `beginning`, sorted. Skips names that sort before `from`. */
  listRefs(beginning: string, from: string, limit: number): readonly IndexedRef[] {
    return this.#listRefs.all(from, beyond(beginning), limit) as unknown as readonly IndexedRef[]
  }

  /**
   * Returns the note of a folder. Ignores damaged notes and notes that another build of the library wrote. The next put
   * replaces an ignored note.
   */
  findNote(source: string, location: string): FolderNote | undefined {
    const row = this.#findNote.get(source, location) as unknown as NoteRow | undefined
    return row === undefined ? undefined : toNote(location, row)
  }

  removeNotes(): void {
    this.#database.exec('DELETE FROM note')
  }

  /**
   * Returns the packs that one part of the index refers to. For each pack, returns the minimum size of the pack file.
   */
  packSizes(part: IndexPart): ReadonlyMap<string, number> {
    const rows = this.#database
      .prepare(
        `SELECT pack, max(offset + length) AS size FROM blob
         WHERE digest >= ? AND digest < ? AND pack NOT LIKE 'git:%' GROUP BY pack`,
      )
      .all(part.from, part.to) as unknown as { pack: string; size: number }[]
    return new Map(rows.map(({ pack, size }) => [pack, size]))
  }

  /** Records that the notes of a source are in use. Writes at most once a day. */
  useNotes(source: string): void {
    const now = Date.now()
    this.#database
      .prepare(
        `INSERT INTO note_source (source, at) VALUES (?, ?)
         ON CONFLICT (source) DO UPDATE SET at = excluded.at WHERE at < excluded.at - ${DAY_MS}`,
      )
      .run(source, now)
  }

  /** Writes and removes notes. Skips notes whose revision is not in the index. */
  setNotes(changes: readonly NoteChange[]): void {
    inTransaction(this.#database, () => {
      for (const { source, location, note } of changes) {
        if (note === undefined) this.#removeNote.run(source, location)
        else if (libraryId() !== undefined) {
          const { revision, text } = note
          const facts = new Uint8Array(note.facts.buffer, note.facts.byteOffset, note.facts.byteLength)
          const sum = sumOf(location, revision, facts, text)
          this.#setNote.run(source, location, revision, facts, text, sum, revision)
        }
      }
    })
  }

  /** Keeps revisions until the given time. */
  leaseTrees(revisions: readonly Digest[], until: number): void {
    inTransaction(this.#database, () => {
      for (const revision of revisions) this.#touchTree.run(until, revision)
      this.#spareTrees(revisions)
    })
  }

  #spareTrees(revisions: readonly Digest[]): void {
    if (!this.#isCollecting()) return
    for (const revision of revisions)
      this.#spareAll([revision, ...(this.findTree(revision)?.files ?? []).map(({ digest }) => digest)])
  }

  /** Makes a running collection spare the keys, including keys that are already doomed. */
  #spareAll(keys: readonly Digest[]): void {
    if (this.#isCollecting()) for (const key of keys) this.#spare.run(key)
  }

  #isCollecting(): boolean {
    return this.#hasDoomed.get()?.['found'] === 1
  }

  findRef(name: string): Digest | undefined {
    return (this.#findRef.get(name) as { revision: Digest } | undefined)?.revision
  }

  /** Changes names. Skips names that another process has changed meanwhile, because that change is newer. */
  setRefs(entries: readonly (readonly [string, RefChange])[]): void {
    inTransaction(this.#database, () => {
      const now = Date.now()
      for (const [name, { revision, before }] of entries) {
        if (this.findRef(name) !== before) continue
        if (revision === undefined) this.#removeRef.run(name)
        else this.#setRef.run(name, revision)
        // The grace period of the previous revision starts now, because a process may still use that revision.
        if (before !== undefined) this.#touchTree.run(now, before)
      }
      this.#spareTrees(entries.flatMap(([, { revision }]) => revision ?? []))
    })
  }
}

function isDoomed(key: string): string {
  return `EXISTS (SELECT 1 FROM doomed WHERE key = ${key} AND doomed.at < ${SPARED})`
}

/** Returns a text that sorts after every text that begins with `beginning`. */
function beyond(beginning: string): string {
  const last = beginning.charCodeAt(beginning.length - 1)
  return last < 0x7f ? beginning.slice(0, -1) + String.fromCharCode(last + 1) : '\u{10ffff}\u{10ffff}'
}

type NoteRow = readonly [revision: Digest, facts: Uint8Array<ArrayBuffer>, text: string, sum: number]

/** Returns `undefined` if the note is damaged or was written by another build of the library. */
function toNote(location: string, [revision, facts, text, sum]: NoteRow): FolderNote | undefined {
  if (libraryId() === undefined || sumOf(location, revision, facts, text) !== sum) return undefined
  const length = facts.byteLength / Float64Array.BYTES_PER_ELEMENT
  return { revision, facts: new Float64Array(facts.buffer, facts.byteOffset, length), text }
}

function sumOf(location: string, revision: Digest, facts: Uint8Array, text: string): number {
  return zlib.crc32(text, zlib.crc32(facts, zlib.crc32(`${libraryId()}\0${location}\0${revision}`)))
}

/**
 * Adds the rows of the index `from` that the index `to` does not have. If `from` is damaged, adds its readable rows.
 */
export function mergeIndexes(from: DatabaseSync, to: DatabaseSync): void {
  addAll(from, to, 'IGNORE')
}

/**
 * Adds the rows of the index `from` to the index `to`. If a name is in both indexes, `to` gets the revision in `from`.
 */
export function overwriteIndex(from: DatabaseSync, to: DatabaseSync): void {
  addAll(from, to, 'REPLACE')
}

function addAll(from: DatabaseSync, to: DatabaseSync, conflict: 'IGNORE' | 'REPLACE'): void {
  const addRef = to.prepare(`INSERT OR ${conflict} INTO ref (name, revision) VALUES (?, ?)`)
  for (const { name, revision } of readRows(from, 'ref', 'name')) addRef.run(String(name), String(revision))
  const addTree = to.prepare('INSERT OR IGNORE INTO tree (revision, files, at) VALUES (?, ?, ?)')
  for (const { revision, files, at } of readRows(from, 'tree', 'revision'))
    if (isTree(String(revision), String(files))) addTree.run(String(revision), String(files), Number(at))
  // Blob rows are not checked here, because every read compares the bytes with their digest.
  const addBlob = to.prepare(
    'INSERT OR IGNORE INTO blob (digest, pack, offset, length, at) VALUES (?, ?, ?, ?, ?)',
  )
  for (const { digest, pack, offset, length, at } of readRows(from, 'blob', 'digest'))
    addBlob.run(String(digest), String(pack), Number(offset), Number(length), Number(at))
}

function isTree(revision: string, files: string): boolean {
  try {
    return revisionOf(JSON.parse(files) as SkillFile[], nodeHasher) === revision
  } catch {
    return false // truncated text: not JSON, or not a list of files
  }
}
