import { chmodSync, closeSync, openSync, renameSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

// Primary result codes of SQLite, in the lower byte of its extended ones.
const CORRUPT = 11
const NOT_A_DATABASE = 26

/** SQLite keeps what is not in the database yet beside it, in files with these endings and the same mode. */
const COMPANIONS = ['', '-wal', '-shm']

/** Opens a database that its user alone can read, from its first byte on. */
export async function openPrivateDatabase(path: string): Promise<DatabaseSync> {
  const { DatabaseSync } = await import('node:sqlite')
  closeSync(openSync(path, 'a', 0o600))
  // One that an older version made may have any mode.
  for (const companion of COMPANIONS) ignoringMissing(() => chmodSync(`${path}${companion}`, 0o600))
  return new DatabaseSync(path)
}

/** Whether an error of SQLite says that the file itself is damaged. */
export function isDamage(thrown: unknown): boolean {
  const code = (thrown as { readonly errcode?: number }).errcode
  return code !== undefined && [CORRUPT, NOT_A_DATABASE].includes(code & 0xff)
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
