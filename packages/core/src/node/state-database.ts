import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { SkillError, toMessage } from '../index.ts'
import { isDamage, KeptDatabase, setAside } from './private-database.ts'
import { createStateDirectory } from './state-directory.ts'

/** A database of a state directory. */
export interface StateDatabase {
  readonly name: string
  /** What is in it, for people. */
  readonly what: string
  readonly schema: string
  /** Whether it is looked through for damage, which takes as long as reading it. @default false */
  readonly isVerified?: boolean
}

/**
 * Opens a database that its user alone can read, and makes of it what it is for. A damaged one is moved aside and a new one
 * takes its place.
 * @param make gets the database, and what was wrong with the one before it
 * @throws {SkillError} IO_FAILED when the directory or the database cannot be used; `data.isThere` tells whether it exists
 */
export async function openStateDatabase<Made>(
  stateDirectory: string,
  { name, what, schema, isVerified = false }: StateDatabase,
  make: (database: KeptDatabase, damage?: string) => Made,
): Promise<Made> {
  const path = join(createStateDirectory(stateDirectory), name)
  const open = async (damage?: string): Promise<Made> => {
    const kept = await KeptDatabase.open(path, database => {
      database.exec(schema)
      if (isVerified) verify(database)
    })
    return make(kept, damage)
  }
  try {
    return await open().catch(async (thrown: unknown) => {
      if (!(thrown instanceof DamageError) && !isDamage(thrown)) throw thrown
      const aside = setAside(path)
      return await open(
        `${what} in ${JSON.stringify(path)} are damaged (${toMessage(thrown)}) and were moved to ${JSON.stringify(aside)}`,
      )
    })
  } catch (thrown) {
    throw new SkillError(
      'IO_FAILED',
      `${what} in ${JSON.stringify(path)} cannot be opened: ${toMessage(thrown)}; choose another state directory`,
      { cause: thrown, data: { isThere: existsSync(path) } },
    )
  }
}

function verify(database: DatabaseSync): void {
  const [check] = database.prepare('PRAGMA quick_check(1)').all()
  if (check?.['quick_check'] !== 'ok') throw new DamageError(String(check?.['quick_check']))
}

class DamageError extends Error {}
