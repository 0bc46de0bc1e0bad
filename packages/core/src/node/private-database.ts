import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { toMessage } from '../internal-entry.ts'

// Primary result codes of SQLite, in the lower byte of its extended ones.
const BUSY = 5
const READ_ONLY = 8
const IO_ERROR = 10
const CORRUPT = 11
const FULL = 13
const CANNOT_OPEN = 14
const NOT_A_DATABASE = 26

// EBUSY: Windows moves and removes no database that a process has open.
const UNWRITABLE = ['EROFS', 'EACCES', 'EPERM', 'EBUSY', 'ENOSPC', 'EDQUOT']

/** SQLite keeps what is not in the database yet beside it, in files with these endings and the same mode. */
const COMPANIONS = ['', '-wal', '-shm']

/** Opens a database that its user alone can read, from its first byte on. */
export async function openPrivateDatabase(path: string): Promise<DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite')
  makePrivate(path)
  return new DatabaseSync(path)
}

function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
  // One that an older version made may have any mode.
  for (const companion of COMPANIONS) ignoringMissing(() => chmodSync(`${path}${companion}`, 0o600))
}

/** Adds to one database what another one holds. */
export type MergeDatabases = (from: DatabaseSync, to: DatabaseSync) => void

/**
 * A database of a state directory that is used although its disk is full or read-only, and that outlives its own file: what it
 * holds is written anew when somebody removes the directory.
 */
export class KeptDatabase {
  #fault: string | undefined
  readonly #path: string
  readonly #create: (path: string) => DatabaseSync
  #database: DatabaseSync
  #inode: number | undefined

  /** @throws what Node or SQLite throws when there is no database to be had */
  static async open(path: string, prepare: (database: DatabaseSync) => void): Promise<KeptDatabase> {
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
    try {
      makePrivate(path)
      return new KeptDatabase(path, create, create(path))
    } catch (thrown) {
      if (!isUnwritable(thrown) || !existsSync(dirname(path))) throw thrown
      return new KeptDatabase(path, create, openCopy(path, create), toMessage(thrown))
    }
  }

  private constructor(
    path: string,
    create: (path: string) => DatabaseSync,
    database: DatabaseSync,
    fault?: string,
  ) {
    this.#path = path
    this.#create = create
    this.#database = database
    this.#fault = fault
    if (fault === undefined) this.#inode = inodeOf(path)
  }

  /** Why nothing is stored; then this is a copy that ends with the process, or with a `heal`. */
  get fault(): string | undefined {
    return this.#fault
  }

  /** Changes with `restore`, `heal` and `replaceDamaged`. */
  get database(): DatabaseSync {
    return this.#database
  }

  /** Whether somebody has removed the file, or put another one in its place. */
  isGone(): boolean {
    return this.fault === undefined && this.#database.isOpen && inodeOf(this.#path) !== this.#inode
  }

  /**
   * Writes everything into a new file where the old one was removed. Where another process has made one meanwhile, `merge` adds
   * what this one holds.
   */
  restore(merge: MergeDatabases): void {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    const isCopied = !existsSync(this.#path) && this.#copyTo(this.#path)
    if (!isCopied) makePrivate(this.#path)
    this.#use(this.#path, isCopied ? undefined : merge)
    this.#inode = inodeOf(this.#path)
  }

  /** Tries to store what a copy holds where it belongs. Returns whether everything is stored from now on. */
  heal(merge: MergeDatabases): boolean {
    if (this.#fault === undefined) return true
    try {
      this.restore(merge)
    } catch (thrown) {
      if (!isUnwritable(thrown)) throw thrown
      this.#fault = toMessage(thrown)
      return false
    }
    this.#fault = undefined
    return true
  }

  /** Goes on in memory, with what `merge` adds from the file, while nothing can be written there. A later `heal` stores it. */
  leave(thrown: unknown, merge: MergeDatabases): void {
    this.#fault = toMessage(thrown)
    this.#use(':memory:', merge)
  }

  /**
   * Moves the damaged file aside and begins a new one, to which `merge` adds what can still be read. Returns where the damaged
   * one is; `undefined` when another process has moved it, or nothing can be written there.
   */
  replaceDamaged(merge: MergeDatabases): string | undefined {
    try {
      if (this.#fault === undefined) {
        const aside = this.isGone() ? undefined : setAside(this.#path)
        this.restore(merge)
        return aside
      }
    } catch (thrown) {
      if (!isUnwritable(thrown)) throw thrown
      this.#fault = toMessage(thrown)
    }
    this.#use(':memory:', merge)
    return undefined
  }

  /** Whether the file is a copy of this database now; of a damaged one there is none. */
  #copyTo(path: string): boolean {
    try {
      this.#database.prepare('VACUUM INTO ?').run(path)
      chmodSync(path, 0o600)
      return true
    } catch (thrown) {
      rmSync(path, { force: true })
      if (!isDamage(thrown)) throw thrown
      return false
    }
  }

  #use(path: string, merge: MergeDatabases | undefined): void {
    const next = this.#create(path)
    try {
      if (merge !== undefined) inTransaction(next, () => merge(this.#database, next))
    } catch (thrown) {
      next.close()
      throw thrown
    }
    this.#database.close()
    this.#database = next
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close()
  }
}

/** Opens a copy that nobody else sees and that goes with the process: SQLite itself cannot read a log where it may not write. */
function openCopy(path: string, create: (path: string) => DatabaseSync): DatabaseSync {
  const folder = mkdtempSync(join(tmpdir(), 'skillstoke-state-'))
  try {
    const copy = join(folder, basename(path))
    for (const companion of ['', '-wal'])
      ignoringMissing(() => {
        copyFileSync(`${path}${companion}`, `${copy}${companion}`)
        // A copy of a file that nobody may write to is such a file itself.
        chmodSync(`${copy}${companion}`, 0o600)
      })
    makePrivate(copy)
    return create(copy)
  } finally {
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch {
      // Windows removes no open file: the copy stays among the temporary files of this user.
    }
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino
}

/** Does all of some work or nothing; what went wrong first is what is thrown. */
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
      // SQLite has ended the transaction by itself, as it does on a full disk.
    }
    throw thrown
  }
}

/** Whether an error says that nothing can be written there at the moment. */
export function isUnwritable(thrown: unknown): boolean {
  const { code, cause } = thrown as NodeJS.ErrnoException & { readonly cause?: unknown }
  const primary = primaryCodeOf(thrown)
  return (
    UNWRITABLE.includes(code ?? '') ||
    (primary !== undefined && [READ_ONLY, IO_ERROR, FULL, CANNOT_OPEN].includes(primary)) ||
    (cause !== undefined && isUnwritable(cause))
  )
}

/**
 * Looks through every page of a database, which takes as long as reading it.
 * @throws what `isDamage` knows, when one of them is damaged
 */
export function assertWhole(database: DatabaseSync): void {
  const [check] = database.prepare('PRAGMA quick_check(1)').all()
  const found = String(check?.['quick_check'])
  if (found !== 'ok') throw new DamageError(found.split('\n').at(-1))
}

class DamageError extends Error {
  readonly errcode = CORRUPT
}

/** Whether an error of SQLite says that the file itself is damaged. */
export function isDamage(thrown: unknown): boolean {
  const primary = primaryCodeOf(thrown)
  return primary !== undefined && [CORRUPT, NOT_A_DATABASE].includes(primary)
}

/** Whether another connection holds the lock that an operation needs. */
export function isBusy(thrown: unknown): boolean {
  return primaryCodeOf(thrown) === BUSY
}

function primaryCodeOf(thrown: unknown): number | undefined {
  const code = (thrown as { readonly errcode?: number }).errcode
  return code === undefined ? undefined : code & 0xff
}

/** The rows of a table, and of a damaged one those that can be reached from its ends. */
export function* readRows(
  database: DatabaseSync,
  table: string,
  key: string,
): Generator<Record<string, unknown>> {
  for (const direction of ['ASC', 'DESC']) {
    try {
      yield* database.prepare(`SELECT * FROM ${table} ORDER BY ${key} ${direction}`).iterate()
      return
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown
    }
  }
}

/** Moves a damaged database aside, so that a person can look at it; returns where it is now. */
export function setAside(path: string, at: number = Date.now()): string {
  const damaged = `${path}.damaged-${at}`
  for (const companion of COMPANIONS)
    ignoringMissing(() => renameSync(`${path}${companion}`, `${damaged}${companion}`))
  return damaged
}

function ignoringMissing(work: () => void): void {
  try {
    work()
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown
  }
}
