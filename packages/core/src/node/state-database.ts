import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { SkillError, toMessage } from '../index.ts'
import { createStateDirectory } from './state-directory.ts'

/** A database of a state directory. */
export interface StateDatabase {
  readonly name: string
  /** What is in it, for people. */
  readonly what: string
  readonly schema: string
}

/**
 * Opens a database that its user alone can read, and makes of it what it is for.
 * @throws {SkillError} IO_FAILED when the directory or the database cannot be used
 */
export async function openStateDatabase<Made>(
  stateDirectory: string,
  { name, what, schema }: StateDatabase,
  make: (database: DatabaseSync) => Made,
): Promise<Made> {
  const path = join(createStateDirectory(stateDirectory), name)
  const { DatabaseSync } = await import('node:sqlite')
  try {
    const database = new DatabaseSync(path)
    chmodSync(path, 0o600)
    database.exec(schema)
    return make(database)
  } catch (thrown) {
    throw new SkillError(
      'IO_FAILED',
      `${what} in ${JSON.stringify(path)} cannot be opened: ${toMessage(thrown)}; choose another state directory`,
      { cause: thrown },
    )
  }
}
