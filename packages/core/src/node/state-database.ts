import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SkillError } from '../index.ts'
import { assertSupported, quote, toMessage } from '../internal-entry.ts'
import { assertWhole, isDamage, KeptDatabase, setAside } from './private-database.ts'
import { createStateDirectory } from './state-directory.ts'

/** A database of a state directory. */
export interface StateDatabase {
  readonly name: string
  /** What the database contains, as a plural noun for messages. */
  readonly what: string
  readonly schema: string
  /**
   * Whether to check every page for damage when the database is opened. The check takes as long as reading the whole
   * file. @default false
   */
  readonly isVerified?: boolean
}

/**
 * Opens a database that only its user can read, and passes it to `make`. A damaged database is moved aside and replaced
 * with a new database.
 * @param make receives the database, and a message about the damaged database if there was one
 * @throws {SkillError} IO_FAILED when the directory or the database cannot be used; `data.isThere` is true when the
 * database file exists
 */
export async function openStateDatabase<Made>(
  stateDirectory: string,
  file: StateDatabase,
  make: (database: KeptDatabase, damage?: string) => Made,
): Promise<Made> {
  assertSupported()
  const { name, what, schema, isVerified = false } = file
  const path = join(createStateDirectory(stateDirectory), name)
  const open = async (damage?: string): Promise<Made> => {
    const kept = await KeptDatabase.open(path, database => {
      database.exec(schema)
      if (isVerified) assertWhole(database)
    })
    try {
      return make(kept, damage)
    } catch (thrown) {
      kept.close()
      throw thrown
    }
  }
  try {
    return await open().catch(async (thrown: unknown) => {
      if (!isDamage(thrown)) throw thrown
      return await open(describeDamage(file, stateDirectory, thrown, setAside(path)))
    })
  } catch (thrown) {
    throw new SkillError(
      'IO_FAILED',
      `${what} in ${quote(path)} cannot be opened: ${toMessage(thrown)}; choose another state directory`,
      { cause: thrown, data: { isThere: existsSync(path) } },
    )
  }
}

/** Returns a message about a damaged database. `aside` is the path to which the database was moved. */
export function describeDamage(
  { name, what }: StateDatabase,
  folder: string,
  thrown: unknown,
  aside?: string,
): string {
  const damage = `${what} in ${quote(join(folder, name))} are damaged (${toMessage(thrown)})`
  return aside === undefined ? damage : `${damage} and were moved to ${quote(aside)}`
}
