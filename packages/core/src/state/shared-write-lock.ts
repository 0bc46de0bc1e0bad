import { AsyncLocalStorage } from 'node:async_hooks'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { assertSupported } from '../assert-supported.ts'
import { SkillError } from '../index.ts'
import { checkOptions, type KnownOptions, number, quote, toMessage } from '../internal-entry.ts'
import { InProcessWriteLock, type WriteLock } from '../source-entry.ts'
import { isUnwritable, openPrivateDatabase } from './private-database.ts'
import { createStateDirectory } from './state-directory.ts'

export interface WriteLockOptions {
  /** How long to wait for other processes, in milliseconds; `Infinity` waits without a limit. @default 10,000 */
  readonly timeoutMs?: number
}

const KNOWN: KnownOptions<WriteLockOptions> = { timeoutMs: number(0) }

const DEFAULT_TIMEOUT_MS = 10_000
const MAX_PAUSE_MS = 20

/**
 * Opens a reentrant lock that is shared by all processes with the same state directory. The lock is a write transaction of SQLite, so the kernel releases the lock when the process dies. The
 * caller closes the lock after the last write. A lock can be opened on a read-only or full disk, but `run` throws
 * IO_FAILED until the disk is writable.
 * @throws {SkillError} INVALID_OPTION; IO_FAILED when the directory or the database cannot be used
 *
 * @example
 * ```ts
 * import { appendFile } from 'node:fs/promises'
 * import { openWriteLock } from '@skillstoke/core/node'
 *
 * await using lock = await openWriteLock('./state', { timeoutMs: 5_000 })
 * await lock.run(async () => await appendFile('skills/support-pdf/SKILL.md', 'One more line.\n'))
 * ```
 */
export async function openWriteLock(
  stateDirectory: string,
  options: WriteLockOptions = {},
): Promise<Required<WriteLock> & AsyncDisposable> {
  checkOptions('openWriteLock()', options, KNOWN)
  assertSupported()
  const path = join(createStateDirectory(stateDirectory), 'write-lock.sqlite')
  let database = await openDatabase(path).catch((thrown: unknown) => {
    if (!isUnwritable(thrown)) throw thrown
  })
  let isClosed = false
  const local = new InProcessWriteLock()
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const holding = new AsyncLocalStorage<true>()
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    // The caller already has the lock.
    if (holding.getStore() === true) return await work()
    return await local.run(async () => {
      if (isClosed) throw new SkillError('CLOSED', 'the write lock is closed')
      const opened = database ?? (await openDatabase(path))
      database = opened
      await acquire(opened, path, timeoutMs)
      try {
        return await holding.run(true, work)
      } finally {
        // Rolls back, because the transaction contains no changes, and SQLite may refuse a commit while another process
        // waits for the lock.
        opened.exec('ROLLBACK')
      }
    })
  }
  const close = async (): Promise<void> =>
    await local.run(async () => {
      if (!isClosed) database?.close()
      isClosed = true
    })
  return { run, close, [Symbol.asyncDispose]: close }
}

async function openDatabase(path: string): Promise<DatabaseSync> {
  try {
    const database = await openPrivateDatabase(path)
    // `acquire` waits for the lock, because a wait inside SQLite would block the event loop.
    database.exec('PRAGMA busy_timeout = 0')
    return database
  } catch (thrown) {
    throw new SkillError(
      'IO_FAILED',
      `the write lock in ${quote(path)} cannot be opened: ${toMessage(thrown)}; choose another state directory`,
      { cause: thrown },
    )
  }
}

async function acquire(
  database: { exec(sql: string): void },
  path: string,
  timeoutMs: number,
): Promise<void> {
  const end = performance.now() + timeoutMs
  for (;;) {
    try {
      database.exec('BEGIN IMMEDIATE')
      return
    } catch (thrown) {
      if ((thrown as { errcode?: number }).errcode !== SQLITE_BUSY) throw thrown
      if (performance.now() > end)
        throw new SkillError('LOCKED', `another process has held ${path} for more than ${timeoutMs} ms`, {
          cause: thrown,
        })
      await setTimeout(Math.random() * MAX_PAUSE_MS)
    }
  }
}

const SQLITE_BUSY = 5
