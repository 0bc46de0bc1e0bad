import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { nodeHasher } from '../disk/node-hasher.ts'
import { SkillError } from '../index.ts'
import {
  checkOptions,
  DEFAULT_HISTORY_LENGTH,
  digestOf,
  type KnownOptions,
  number,
  quote,
  toMessage,
  whole,
} from '../internal-entry.ts'
import { assertWhole, isDamage, isUnwritable, openPrivateDatabase } from './private-database.ts'
import { describeDamage, openStateDatabase, type StateDatabase } from './state-database.ts'
import { collecting, shrinking } from './store-collection.ts'
import { forgetDamaged, STORE } from './store-schema.ts'

export interface CollectGarbageOptions {
  /**
   * How long content is kept after its last use, in milliseconds. During this time, a process may start to use the
   * content again. `Infinity` keeps everything. @default 3,600,000
   */
  readonly graceMs?: number
  /** For each skill, the number of newest history steps whose files are kept. @default 100 */
  readonly keepRevisions?: number
  /** Whether to only report the content that a collection would remove. @default false */
  readonly isDryRun?: boolean
}

const KNOWN: KnownOptions<CollectGarbageOptions> = {
  graceMs: number(0),
  keepRevisions: whole(0),
  isDryRun: true,
}

/** Result of a collection or of a dry run. */
export interface GarbageReport {
  /** Number of old revisions that were dropped from the history. */
  readonly forgotten: number
  /** Number of unneeded revisions (`trees`) and of unneeded files (`blobs`). */
  readonly trees: number
  readonly blobs: number
  /**
   * Number of files whose bytes did not match their digest. These files are removed, so that the next read of the source
   * stores them again.
   */
  readonly damaged: number
  /** Bytes freed on the disk. */
  readonly freedBytes: number
  /** Bytes kept. */
  readonly keptBytes: number
  /**
   * Describes the damage of the database, and contains the path to which the damaged database was moved. If
   * `indexDamage` is set, nothing was collected.
   */
  readonly indexDamage?: string
}

/** If this duration changes, also change the message of `stoke gc`. */
const DEFAULT_GRACE_MS = 3_600_000
// While a process opens or closes the state directory, the process locks the database briefly.
const BUSY_TIMEOUT_MS = 5_000
const FILES_PER_PAGE = 50

/**
 * Removes unneeded revisions and their files from a state directory. A revision is needed if it is served, is a last
 * good revision, was fetched from a remote source, or is in the history. Every stored file is compared with its digest. A
 * damaged file is removed, and is read from its source when it is needed again. A damaged database is moved aside, and
 * its readable rows are copied into a new one. Other processes may keep running.
 * @throws {SkillError} NOT_FOUND when there is no store; IO_FAILED when nothing can be written there
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { collectGarbage, directory, openState } from '@skillstoke/core/node'
 *
 * const state = await openState('./state')
 * const skills = await createSkillRuntime({ sources: [directory('./skills')], state })
 * await skills.close()
 * const { trees, damaged, keptBytes } = await collectGarbage('./state', { isDryRun: true })
 * console.log(trees, damaged, keptBytes > 0) // prints 0 0 true
 * ```
 */
export async function collectGarbage(
  stateDirectory: string,
  options: CollectGarbageOptions = {},
): Promise<GarbageReport> {
  checkOptions('collectGarbage()', options, KNOWN)
  const path = join(stateDirectory, STORE.name)
  if (statSync(path, { throwIfNoEntry: false }) === undefined)
    throw new SkillError('NOT_FOUND', `there is no store in ${quote(stateDirectory)}`)
  try {
    return await collectIn(stateDirectory, path, options)
  } catch (thrown) {
    throw isUnwritable(thrown) ? cannotRemove(stateDirectory, toMessage(thrown), thrown) : thrown
  }
}

async function collectIn(
  stateDirectory: string,
  path: string,
  options: CollectGarbageOptions,
): Promise<GarbageReport> {
  const damage = await findDamage(path)
  if (damage !== undefined && options.isDryRun === true)
    return { ...NOTHING, indexDamage: describeDamage(STORE, path, damage) }
  const state = await openStateDatabase(stateDirectory, STORE)
  try {
    if (state.fault !== undefined) throw cannotRemove(stateDirectory, state.fault)
    state.verify()
    // The database was replaced and may lack rows. The next runtime stores missing files of served revisions again.
    if (state.damage !== undefined) return { ...NOTHING, indexDamage: state.damage }
    return await collect(state, stateDirectory, options)
  } finally {
    state.close()
  }
}

const NOTHING: GarbageReport = { forgotten: 0, trees: 0, blobs: 0, damaged: 0, freedBytes: 0, keptBytes: 0 }

function cannotRemove(stateDirectory: string, reason: string, cause?: unknown): SkillError {
  return new SkillError('IO_FAILED', `nothing can be removed from ${quote(stateDirectory)}: ${reason}`, {
    cause,
  })
}

/** Returns the error of the first damaged page. */
async function findDamage(path: string): Promise<unknown> {
  const database = await openPrivateDatabase(path)
  try {
    assertWhole(database)
    return undefined
  } catch (thrown) {
    if (!isDamage(thrown)) throw thrown
    return thrown
  } finally {
    database.close()
  }
}

async function collect(
  state: StateDatabase,
  stateDirectory: string,
  {
    graceMs = DEFAULT_GRACE_MS,
    keepRevisions = DEFAULT_HISTORY_LENGTH,
    isDryRun = false,
  }: CollectGarbageOptions,
): Promise<GarbageReport> {
  const kept = await readHistory(stateDirectory, keepRevisions)
  const damaged = await findDamagedFiles(state)
  // Adds 1, so that with a grace period of 0, even a file written in this millisecond is old enough.
  const steps = removing(state, { kept, damaged, before: Date.now() + 1 - graceMs })
  if (isDryRun) return state.rehearse(() => finish(steps))
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    await setImmediate()
  }
}

function finish<Value>(steps: Generator<undefined, Value>): Value {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

interface Removal {
  /** Names of the history's revisions to keep; `undefined` keeps all. */
  readonly kept: ReadonlySet<string> | undefined
  readonly damaged: readonly string[]
  readonly before: number
}

function* removing(
  state: StateDatabase,
  { kept, damaged, before }: Removal,
): Generator<undefined, GarbageReport> {
  const bytesBefore = countBytes(state)
  const forgotten = kept === undefined ? 0 : forgetHistory(state, kept)
  if (damaged.length > 0) forgetDamaged(state, damaged)
  const { trees, blobs } = yield* collecting(state, before)
  const keptBytes = countBytes(state)
  yield* shrinking(state)
  return {
    forgotten,
    trees,
    blobs,
    damaged: damaged.length,
    freedBytes: bytesBefore - keptBytes,
    keptBytes,
  }
}

function countBytes(state: StateDatabase): number {
  return Number(state.get('SELECT sum(length(bytes)) AS total FROM content')?.['total'] ?? 0)
}

/** Removes the names of revisions that the history no longer needs. Returns their number. */
function forgetHistory(state: StateDatabase, kept: ReadonlySet<string>): number {
  const names = state
    .all('SELECT name FROM ref')
    .map(({ name }) => String(name))
    .filter(name => name.startsWith('["history",') && !kept.has(name))
  state.transaction(() => {
    for (const name of names) state.run('DELETE FROM ref WHERE name = ?', name)
  })
  return names.length
}

/** Returns the digests of the files whose bytes do not match. Reads every file. */
async function findDamagedFiles(state: StateDatabase): Promise<readonly string[]> {
  const damaged: string[] = []
  for (let last = ''; ; ) {
    const page = state.all(
      'SELECT digest, bytes FROM blob LEFT JOIN content ON id = content WHERE digest > ? ORDER BY digest LIMIT ?',
      last,
      FILES_PER_PAGE,
    )
    for (const { digest, bytes } of page)
      if (!(bytes instanceof Uint8Array) || digestOf(bytes, nodeHasher) !== digest)
        damaged.push(String(digest))
    if (page.length < FILES_PER_PAGE) return damaged
    last = String(page.at(-1)?.['digest'])
    await setImmediate()
  }
}

/**
 * Reads the newest `keep` history steps of each skill. Returns the names under which the index keeps the revisions of
 * these steps. Returns `undefined` if the history cannot be read.
 */
async function readHistory(stateDirectory: string, keep: number): Promise<ReadonlySet<string> | undefined> {
  const path = join(stateDirectory, 'history.sqlite')
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
  try {
    const rows = database
      .prepare(
        `SELECT origin, location, body FROM (
           SELECT *, row_number() OVER (PARTITION BY origin, location ORDER BY id DESC) AS place FROM revision
         ) WHERE place <= ?`,
      )
      .all(keep) as unknown as { origin: string; location: string; body: string }[]
    return new Set(
      rows.map(({ origin, location, body }) => {
        const { revision } = JSON.parse(body) as { revision?: string }
        return JSON.stringify(['history', origin, location, revision])
      }),
    )
  } catch (thrown) {
    // If the history cannot be read, the collection keeps every revision that the history may refer to.
    if (isDamage(thrown)) return undefined
    throw thrown
  } finally {
    database.close()
  }
}
