import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { ignoring } from '../disk/ignoring.ts'
import { toMessage } from '../internal-entry.ts'

// Primary result codes of SQLite. The low byte of an extended result code is its primary code.
const BUSY = 5
const READ_ONLY = 8
const IO_ERROR = 10
const CORRUPT = 11
const FULL = 13
const CANNOT_OPEN = 14
const NOT_A_DATABASE = 26

// EBUSY occurs on Windows, because Windows refuses to move or remove a database that a process has open.
const UNWRITABLE = ['EROFS', 'EACCES', 'EPERM', 'EBUSY', 'ENOSPC', 'EDQUOT']

/**
 * Suffixes of the database file and of the files in which SQLite keeps recent changes. All these files have the same
 * mode.
 */
const COMPANIONS = ['', '-wal', '-shm']

/** Opens a database file. Creates a missing file with a mode that lets only the owner read the file. */
export async function openPrivateDatabase(path: string): Promise<DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite')
  makePrivate(path)
  return new DatabaseSync(path)
}

function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
  // An older version of the library may have created the file with a different mode.
  for (const companion of COMPANIONS) ignoring(['ENOENT'], () => chmodSync(`${path}${companion}`, 0o600))
}

/** An open database. */
export interface OpenedDatabase {
  readonly database: DatabaseSync
  /** The inode of its file; `undefined` in memory. */
  readonly inode: number | undefined
  /** Why the database is a copy in memory, whose changes do not reach the disk. */
  readonly fault?: string
}

/**
 * Returns a function that opens the database at a path and prepares it. If the disk is not writable, the function opens
 * a copy.
 */
export async function createOpener(
  prepare: (database: DatabaseSync) => void,
): Promise<(path: string) => OpenedDatabase> {
  const { DatabaseSync } = await import('node:sqlite')
  const create = (at: string): DatabaseSync => {
    const database = new DatabaseSync(at)
    try {
      prepare(database)
      return database
    } catch (thrown) {
      database.close()
      throw thrown
    }
  }
  return path => {
    if (path === ':memory:') return { database: create(path), inode: undefined }
    try {
      makePrivate(path)
      return { database: create(path), inode: inodeOf(path) }
    } catch (thrown) {
      if (!isUnwritable(thrown) || !existsSync(dirname(path))) throw thrown
      return { database: openCopy(path, create), inode: undefined, fault: toMessage(thrown) }
    }
  }
}

/**
 * Opens a temporary copy, because SQLite cannot read a write-ahead log in a read-only folder. The copy can be used
 * until the process ends.
 */
function openCopy(path: string, create: (path: string) => DatabaseSync): DatabaseSync {
  const folder = mkdtempSync(join(tmpdir(), 'skillstoke-state-'))
  try {
    const copy = join(folder, basename(path))
    for (const companion of ['', '-wal'])
      ignoring(['ENOENT'], () => {
        copyFileSync(`${path}${companion}`, `${copy}${companion}`)
        // Adds write permission, because the copy of a read-only file is also read-only.
        chmodSync(`${copy}${companion}`, 0o600)
      })
    makePrivate(copy)
    return create(copy)
  } finally {
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch {
      // Windows does not remove an open file, so the copied file stays in the user's folder for temporary files.
    }
  }
}

export function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

/** Runs `work` in one transaction. If `work` throws, rolls back and throws the same error. */
export function inTransaction<Value>(database: DatabaseSync, work: () => Value): Value {
  database.exec('BEGIN IMMEDIATE')
  try {
    const value = work()
    database.exec('COMMIT')
    return value
  } catch (thrown) {
    try {
      database.exec('ROLLBACK')
    } catch {
      // SQLite has already rolled back, for example because the disk is full.
    }
    throw thrown
  }
}

/** Returns whether an error reports that the disk is full or not writable. */
export function isUnwritable(thrown: unknown): boolean {
  const { code, cause } = thrown as NodeJS.ErrnoException & { readonly cause?: unknown }
  const primary = primaryCodeOf(thrown)
  return (
    UNWRITABLE.includes(code ?? '') ||
    (primary !== undefined && [READ_ONLY, IO_ERROR, FULL, CANNOT_OPEN].includes(primary)) ||
    (cause !== undefined && isUnwritable(cause))
  )
}

/** Returns whether an error reports that nothing can be written now: as `isUnwritable`, or another process writes. */
export function cannotWrite(thrown: unknown): boolean {
  return primaryCodeOf(thrown) === BUSY || isUnwritable(thrown)
}

/**
 * Checks every page of a database. The check takes as long as reading the whole file.
 * @throws an error for which `isDamage` returns true, when a page is damaged
 */
export function assertWhole(database: DatabaseSync): void {
  const [check] = database.prepare('PRAGMA quick_check(1)').all()
  const found = String(check?.['quick_check'])
  if (found !== 'ok') throw new DamageError(found.split('\n').at(-1))
}

class DamageError extends Error {
  readonly errcode = CORRUPT
}

/** Returns whether an error of SQLite means that the file itself is damaged. */
export function isDamage(thrown: unknown): boolean {
  const primary = primaryCodeOf(thrown)
  return primary !== undefined && [CORRUPT, NOT_A_DATABASE].includes(primary)
}

function primaryCodeOf(thrown: unknown): number | undefined {
  const code = (thrown as { readonly errcode?: number }).errcode
  return code === undefined ? undefined : code & 0xff
}

/**
 * Yields the rows of a table. If the table is damaged, yields the rows that can be read forwards from its start or
 * backwards from its end.
 */
export function* readRows(
  database: DatabaseSync,
  table: string,
  key: string,
): Generator<Record<string, SQLOutputValue>> {
  for (const direction of ['ASC', 'DESC']) {
    try {
      yield* database.prepare(`SELECT * FROM ${table} ORDER BY ${key} ${direction}`).iterate()
      return
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown
    }
  }
}

/** Moves a damaged database aside, so that a person can examine it. Returns its new path. */
export function setAside(path: string, at: number = Date.now()): string {
  const damaged = `${path}.damaged-${at}`
  for (const companion of COMPANIONS)
    ignoring(['ENOENT'], () => renameSync(`${path}${companion}`, `${damaged}${companion}`))
  return damaged
}
