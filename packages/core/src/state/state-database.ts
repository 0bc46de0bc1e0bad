import { join } from 'node:path'
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { assertSupported } from '../assert-supported.ts'
import { SkillError } from '../index.ts'
import { quote, toMessage } from '../internal-entry.ts'
import {
  assertWhole,
  createOpener,
  inodeOf,
  inTransaction,
  isDamage,
  isUnwritable,
  type OpenedDatabase,
  readRows,
  setAside,
} from './private-database.ts'
import { createStateDirectory } from './state-directory.ts'

/** Describes a database of a state directory. */
export interface StateFile {
  readonly name: string
  /** What the database contains, as a plural noun for messages. */
  readonly what: string
  readonly schema: string
  /**
   * The tables whose readable rows are copied into a new database if damage is found during use, each with the column
   * by which its rows are sorted. If this is absent, a query that finds damage throws.
   */
  readonly salvaged?: Readonly<Record<string, string>>
  /** Statements that remove rows whose other rows could not be copied. */
  readonly cleanUp?: string
  /**
   * Whether to check every page for damage when the database is opened. The check takes as long as reading the whole
   * file. @default false
   */
  readonly isVerified?: boolean
}

type Row = Record<string, SQLOutputValue>

/**
 * Opens a database that only its user can read. A database that is damaged is moved aside and replaced with a new one.
 * If the disk is not writable, the process uses a copy in memory.
 * @throws {SkillError} IO_FAILED when the directory or the database cannot be used
 */
export async function openStateDatabase(stateDirectory: string, file: StateFile): Promise<StateDatabase> {
  assertSupported()
  const path = join(createStateDirectory(stateDirectory), file.name)
  const create = await createOpener(database => {
    database.exec(file.schema)
    if (file.isVerified === true) assertWhole(database)
  })
  try {
    try {
      return new StateDatabase(path, file, create)
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown
      return new StateDatabase(path, file, create, describeDamage(file, path, thrown, setAside(path)))
    }
  } catch (thrown) {
    throw new SkillError(
      'IO_FAILED',
      `${file.what} in ${quote(path)} cannot be opened: ${toMessage(thrown)}; choose another state directory`,
      { cause: thrown },
    )
  }
}

/** An open database of a state directory. */
export class StateDatabase {
  readonly #path: string
  readonly #file: StateFile
  readonly #create: (path: string) => OpenedDatabase
  readonly #statements = new Map<string, StatementSync>()
  #opened: OpenedDatabase
  #damage: string | undefined

  constructor(path: string, file: StateFile, create: (path: string) => OpenedDatabase, damage?: string) {
    this.#path = path
    this.#file = file
    this.#create = create
    this.#opened = create(path)
    this.#damage = damage
  }

  get isOpen(): boolean {
    return this.#opened.database.isOpen
  }

  /** Describes the damage that was found, and the path to which the damaged database was moved. */
  get damage(): string | undefined {
    return this.#damage
  }

  /** Why no change reaches the disk until the next start; `undefined` if changes reach the disk. */
  get fault(): string | undefined {
    const { fault, inode } = this.#opened
    if (fault !== undefined || !this.isOpen || inodeOf(this.#path) === inode) return fault
    return `${this.#file.what} in ${quote(this.#path)} were removed or replaced while they were in use; start again`
  }

  get(sql: string, ...values: readonly SQLInputValue[]): Row | undefined {
    return this.#ask(() => this.#prepare(sql).get(...values))
  }

  all(sql: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.#ask(() => this.#prepare(sql).all(...values))
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: readonly SQLInputValue[]): number {
    return this.#ask(() => Number(this.#prepare(sql).run(...values).changes))
  }

  /** Runs `work` in one transaction. If `work` throws, rolls back and throws the same error. */
  transaction<Value>(work: () => Value): Value {
    if (this.isOpen && this.#opened.database.isTransaction) return work()
    return this.#ask(() => inTransaction(this.#opened.database, work))
  }

  /** Runs `work` in one transaction, then rolls back. */
  rehearse<Value>(work: () => Value): Value {
    return this.#ask(() => {
      const { database } = this.#opened
      database.exec('BEGIN IMMEDIATE')
      try {
        return work()
      } finally {
        database.exec('ROLLBACK')
      }
    })
  }

  /** Checks every page. If one is damaged, replaces the database. */
  verify(): void {
    this.#ask(() => assertWhole(this.#opened.database))
  }

  close(): void {
    if (this.isOpen) this.#opened.database.close()
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#opened.database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  /** Answers a question. If the question finds damage, replaces the database and asks again. */
  #ask<Answer>(question: () => Answer): Answer {
    if (!this.isOpen) throw new SkillError('CLOSED', `${this.#file.what} are closed`)
    try {
      return question()
    } catch (thrown) {
      const isRepaired = isDamage(thrown) && !this.#opened.database.isTransaction && this.#replace(thrown)
      if (!isRepaired) throw thrown
      return question()
    }
  }

  /**
   * Moves the damaged database aside and copies its readable rows into a new one, because the rows may name a text that
   * a person approved and that exists nowhere else. Returns false if the rows of the database are not copied.
   */
  #replace(thrown: unknown): boolean {
    const { salvaged, cleanUp = '' } = this.#file
    if (salvaged === undefined) return false
    const { database: damaged } = this.#opened
    const aside = this.fault === undefined ? trySetAside(this.#path) : undefined
    const damage = describeDamage(this.#file, this.#path, thrown, aside)
    const next = this.#create(aside === undefined ? ':memory:' : this.#path)
    inTransaction(next.database, () => {
      for (const [table, key] of Object.entries(salvaged)) copyRows(table, key, damaged, next.database)
      next.database.exec(cleanUp)
    })
    this.#statements.clear()
    damaged.close()
    this.#opened = aside === undefined ? { ...next, fault: damage } : next
    this.#damage = damage
    return true
  }
}

function trySetAside(path: string): string | undefined {
  try {
    return setAside(path)
  } catch (thrown) {
    if (!isUnwritable(thrown)) throw thrown
    return undefined
  }
}

function copyRows(table: string, key: string, from: DatabaseSync, to: DatabaseSync): void {
  let insert: StatementSync | undefined
  for (const row of readRows(from, table, key)) {
    const names = Object.keys(row)
    insert ??= to.prepare(
      `INSERT OR IGNORE INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    )
    insert.run(...Object.values(row))
  }
}

/** Returns a message about a damaged database. `aside` is the path to which the database was moved. */
export function describeDamage({ what }: StateFile, path: string, thrown: unknown, aside?: string): string {
  const damage = `${what} in ${quote(path)} are damaged (${toMessage(thrown)})`
  return aside === undefined ? damage : `${damage} and were moved to ${quote(aside)}`
}
