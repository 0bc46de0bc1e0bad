import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Digest, SkillFile } from '../index.ts'
import { inTransaction } from './private-database.ts'

/** Where the bytes of a digest are. */
export interface PackPosition {
  readonly pack: string
  readonly offset: number
  readonly length: number
}

/** A position in the index, and when it was last known to be wanted. */
export interface IndexedPosition extends PackPosition {
  /** Milliseconds since the epoch. */
  readonly at: number
}

export const PACK_INDEX_SCHEMA = `
  PRAGMA busy_timeout = 5000;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS blob (
    digest TEXT PRIMARY KEY, pack TEXT NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
    at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tree (
    revision TEXT PRIMARY KEY, files TEXT NOT NULL, at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ref (name TEXT PRIMARY KEY, revision TEXT NOT NULL) WITHOUT ROWID;
`

/** The shared index of a pack store: SQLite is the lock between processes and survives their crashes. */
export class PackIndex {
  readonly #database: DatabaseSync
  readonly #findBlob: StatementSync
  readonly #touchBlob: StatementSync
  readonly #addBlob: StatementSync
  readonly #removeBlob: StatementSync
  readonly #findTree: StatementSync
  readonly #addTree: StatementSync
  readonly #findRef: StatementSync
  readonly #setRef: StatementSync
  readonly #removeRef: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#findBlob = database.prepare('SELECT pack, offset, length, at FROM blob WHERE digest = ?')
    this.#touchBlob = database.prepare('UPDATE blob SET at = ? WHERE digest = ?')
    this.#addBlob = database.prepare(
      'INSERT OR REPLACE INTO blob (digest, pack, offset, length, at) VALUES (?, ?, ?, ?, ?)',
    )
    this.#removeBlob = database.prepare('DELETE FROM blob WHERE digest = ? AND pack = ? AND offset = ?')
    this.#findTree = database.prepare('SELECT files FROM tree WHERE revision = ?')
    // Put once more means wanted once more: its grace begins anew.
    this.#addTree = database.prepare(
      'INSERT INTO tree (revision, files, at) VALUES (?, ?, ?) ON CONFLICT (revision) DO UPDATE SET at = excluded.at',
    )
    this.#findRef = database.prepare('SELECT revision FROM ref WHERE name = ?')
    this.#setRef = database.prepare(
      'INSERT INTO ref (name, revision) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET revision = excluded.revision WHERE revision <> excluded.revision',
    )
    this.#removeRef = database.prepare('DELETE FROM ref WHERE name = ?')
  }

  findBlob(digest: Digest): IndexedPosition | undefined {
    return this.#findBlob.get(digest) as IndexedPosition | undefined
  }

  /** Says that blobs are wanted: no collection takes them for a while. */
  touchBlobs(digests: readonly Digest[]): void {
    inTransaction(this.#database, () => {
      for (const digest of digests) this.#touchBlob.run(Date.now(), digest)
    })
  }

  addBlobs(entries: readonly (readonly [Digest, PackPosition])[]): void {
    inTransaction(this.#database, () => {
      for (const [digest, { pack, offset, length }] of entries)
        this.#addBlob.run(digest, pack, offset, length, Date.now())
    })
  }

  /** Forgets a blob, unless it is somewhere else by now. */
  removeBlob(digest: Digest, { pack, offset }: PackPosition): void {
    this.#removeBlob.run(digest, pack, offset)
  }

  findTree(revision: Digest): readonly SkillFile[] | undefined {
    const row = this.#findTree.get(revision) as { files: string } | undefined
    return row === undefined ? undefined : (JSON.parse(row.files) as SkillFile[])
  }

  addTrees(entries: readonly (readonly [Digest, readonly SkillFile[]])[]): void {
    inTransaction(this.#database, () => {
      for (const [revision, files] of entries) this.#addTree.run(revision, JSON.stringify(files), Date.now())
    })
  }

  findRef(name: string): Digest | undefined {
    return (this.#findRef.get(name) as { revision: Digest } | undefined)?.revision
  }

  setRefs(entries: readonly (readonly [string, Digest | undefined])[]): void {
    inTransaction(this.#database, () => {
      for (const [name, revision] of entries) {
        if (revision === undefined) this.#removeRef.run(name)
        else this.#setRef.run(name, revision)
      }
    })
  }
}

/** Adds names and trees that another index does not have; where the bytes are each process says itself. */
export function mergeIndexes(from: DatabaseSync, to: DatabaseSync): void {
  const addRef = to.prepare('INSERT OR IGNORE INTO ref (name, revision) VALUES (?, ?)')
  for (const { name, revision } of from.prepare('SELECT * FROM ref').all())
    addRef.run(String(name), String(revision))
  const addTree = to.prepare('INSERT OR IGNORE INTO tree (revision, files, at) VALUES (?, ?, ?)')
  for (const { revision, files, at } of from.prepare('SELECT * FROM tree').all())
    addTree.run(String(revision), String(files), Number(at))
}
