import { closeSync, fdatasyncSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { type Digest, SkillError } from '../index.ts'
import {
  checkNumber,
  checkOptions,
  checkWholeNumber,
  DEFAULT_HISTORY_LENGTH,
  type KnownOptions,
  quote,
  toMessage,
} from '../internal-entry.ts'
import type { SkillFile } from '../source-entry.ts'
import { type DamagedBlob, findDamage } from './find-damage.ts'
import { createPack, isPackInUse, listPacks, type OpenPack, sizeOfPack } from './pack-files.ts'
import { mergeIndexes, PACK_INDEX } from './pack-index.ts'
import { assertWhole, isBusy, isDamage, isUnwritable, openPrivateDatabase } from './private-database.ts'
import { describeDamage, openStateDatabase } from './state-database.ts'

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

const KNOWN: KnownOptions<CollectGarbageOptions> = { graceMs: true, keepRevisions: true, isDryRun: true }

/** Result of a collection or of a dry run. */
export interface GarbageReport {
  /** Number of old revisions that were dropped from the history. */
  readonly forgotten: number
  /** Number of unneeded revisions (`trees`) and of unneeded files (`blobs`). */
  readonly trees: number
  readonly blobs: number
  /**
   * Number of files whose bytes did not match their digest. The index rows of these files are removed, so that the next
   * read of the source stores the files again.
   */
  readonly damaged: number
  /** Bytes freed on the disk. */
  readonly freedBytes: number
  /** Bytes kept. */
  readonly keptBytes: number
  /**
   * Describes the damage of the store's index, and contains the path to which the damaged index was moved. If
   * `indexDamage` is set, nothing was collected.
   */
  readonly indexDamage?: string
}

const DEFAULT_GRACE_MS = 3_600_000
const ANNOUNCE_MS = 2_000
// While a process opens or closes the state directory, the process locks the database briefly.
const BUSY_TIMEOUT_MS = 5_000

/**
 * Removes unneeded revisions and their files from a state directory. A revision is needed if it is served, is a last
 * good revision, was fetched from a remote source, or is in the history. Packs with much free space are rewritten,
 * except packs that a running process writes to. Every stored file is compared with its digest. A damaged file is
 * removed from the index. When the file is needed again, the file is read from its source. A damaged index is moved
 * aside, and its readable rows are copied into a new index. Other processes may keep running.
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
  checkNumber('graceMs', options.graceMs, 0)
  checkWholeNumber('keepRevisions', options.keepRevisions, 0)
  const folder = join(stateDirectory, 'store')
  if (statSync(join(folder, PACK_INDEX.name), { throwIfNoEntry: false }) === undefined)
    throw new SkillError('NOT_FOUND', `there is no store in ${quote(stateDirectory)}`)
  try {
    return await collect(stateDirectory, folder, options)
  } catch (thrown) {
    if (isUnwritable(thrown)) throw cannotRemove(stateDirectory, thrown)
    if (!isDamage(thrown)) throw thrown
    const indexDamage = await replaceIndex(folder, thrown, options)
    return { forgotten: 0, trees: 0, blobs: 0, damaged: 0, freedBytes: 0, keptBytes: 0, indexDamage }
  }
}

function cannotRemove(stateDirectory: string, thrown: unknown): SkillError {
  const where = quote(stateDirectory)
  return new SkillError('IO_FAILED', `nothing can be removed from ${where}: ${toMessage(thrown)}`, {
    cause: thrown,
  })
}

async function collect(
  stateDirectory: string,
  folder: string,
  options: CollectGarbageOptions,
): Promise<GarbageReport> {
  const index = await openPrivateDatabase(join(folder, PACK_INDEX.name))
  try {
    index.exec(PACK_INDEX.schema) // an older version creates fewer tables
    assertWhole(index)
    const kept = await readHistory(stateDirectory, options.keepRevisions ?? DEFAULT_HISTORY_LENGTH)
    const collector = new Collector(folder, index, options)
    const doomed = collector.findDoomed()
    // Waits, so that a process that has just looked up a doomed file can update the row of that file.
    if (doomed.size > 0 && options.isDryRun !== true) await setTimeout(ANNOUNCE_MS)
    const report = collector.run(kept, doomed, await findDamage(folder, index))
    if (options.isDryRun !== true) shrink(index)
    return report
  } finally {
    index.close()
  }
}

/** Vacuums the index if at least a quarter of its pages are free. */
function shrink(index: DatabaseSync): void {
  const readPragma = (name: string): number => Number(index.prepare(`PRAGMA ${name}`).get()?.[name])
  if (readPragma('freelist_count') < readPragma('page_count') / 4) return
  try {
    index.exec('VACUUM')
  } catch (thrown) {
    if (!isBusy(thrown)) throw thrown // the next collection retries
  }
}

/**
 * Replaces the damaged index. Collects no garbage, because the new index lacks rows. The next runtime stores missing
 * files of served revisions again.
 */
async function replaceIndex(
  folder: string,
  thrown: unknown,
  options: CollectGarbageOptions,
): Promise<string> {
  if (options.isDryRun === true) return describeDamage(PACK_INDEX, folder, thrown)
  return await openStateDatabase(folder, PACK_INDEX, (kept, damage) => {
    try {
      return damage ?? describeDamage(PACK_INDEX, folder, thrown, kept.replaceDamaged(mergeIndexes))
    } finally {
      kept.close()
    }
  })
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

interface BlobRow {
  readonly digest: Digest
  readonly pack: string
  readonly offset: number
  readonly length: number
}

class Collector {
  readonly #folder: string
  readonly #index: DatabaseSync
  readonly #isDryRun: boolean
  readonly #before: number

  constructor(folder: string, index: DatabaseSync, { graceMs, isDryRun }: CollectGarbageOptions) {
    this.#folder = folder
    this.#index = index
    this.#isDryRun = isDryRun === true
    // Adds 1, so that with a grace period of 0, even a file written in this millisecond is old enough.
    this.#before = Date.now() + 1 - (graceMs ?? DEFAULT_GRACE_MS)
  }

  /** Returns the digests of all files that are older than the grace period. */
  findDoomed(): ReadonlySet<string> {
    const old = this.#index.prepare('SELECT digest FROM blob WHERE at < ?').all(this.#before)
    return new Set((old as unknown as { digest: string }[]).map(({ digest }) => digest))
  }

  run(
    kept: ReadonlySet<string> | undefined,
    doomed: ReadonlySet<string>,
    damaged: readonly DamagedBlob[],
  ): GarbageReport {
    const before = this.#sizeOfPacks()
    // Blocks other writers until the collection ends, because a writer could start to use content that is being
    // removed.
    this.#index.exec('BEGIN IMMEDIATE')
    try {
      const forgotten = kept === undefined ? 0 : this.#forget(kept)
      const trees = this.#index
        .prepare('DELETE FROM tree WHERE at < ? AND revision NOT IN (SELECT revision FROM ref)')
        .run(this.#before).changes
      this.#index.exec('DELETE FROM note WHERE revision NOT IN (SELECT revision FROM tree)')
      const blobs = this.#removeBlobs(doomed)
      this.#forgetDamaged(damaged)
      this.#index.exec(
        'DELETE FROM doomed WHERE key NOT IN (SELECT digest FROM blob) AND key NOT IN (SELECT revision FROM tree)',
      )
      const dead = this.#compact()
      const keptBytes = this.#keptBytes()
      this.#index.exec(this.#isDryRun ? 'ROLLBACK' : 'COMMIT')
      // After the commit, the index refers to the new pack, so the copied packs can be removed.
      if (!this.#isDryRun) for (const path of dead) rmSync(path, { force: true })
      const freedBytes = this.#isDryRun ? before - keptBytes : before - this.#sizeOfPacks()
      return {
        forgotten,
        trees: Number(trees),
        blobs,
        damaged: damaged.length,
        freedBytes: Math.max(0, freedBytes),
        keptBytes,
      }
    } catch (thrown) {
      if (this.#index.isTransaction) this.#index.exec('ROLLBACK')
      throw thrown
    }
  }

  /**
   * Removes the rows of damaged blobs, unless the blobs were stored again meanwhile. Removes all notes, so that the
   * next start reads and stores everything again.
   */
  #forgetDamaged(damaged: readonly DamagedBlob[]): void {
    const remove = this.#index.prepare('DELETE FROM blob WHERE digest = ? AND pack = ? AND offset = ?')
    for (const { digest, pack, offset } of damaged) remove.run(digest, pack, offset)
    if (damaged.length > 0) this.#index.exec('DELETE FROM note')
  }

  #forget(kept: ReadonlySet<string>): number {
    const remove = this.#index.prepare('DELETE FROM ref WHERE name = ?')
    let forgotten = 0
    for (const { name } of this.#index.prepare('SELECT name FROM ref').all() as unknown as {
      name: string
    }[]) {
      if (!name.startsWith('["history",') || kept.has(name)) continue
      remove.run(name)
      forgotten++
    }
    return forgotten
  }

  #removeBlobs(doomed: ReadonlySet<string>): number {
    const needed = new Set<string>()
    for (const { files } of this.#index.prepare('SELECT files FROM tree').all() as unknown as {
      files: string
    }[])
      for (const { digest } of JSON.parse(files) as SkillFile[]) needed.add(digest)
    const remove = this.#index.prepare('DELETE FROM blob WHERE digest = ?')
    let removed = 0
    const old = this.#index.prepare('SELECT digest FROM blob WHERE at < ?').all(this.#before)
    for (const { digest } of old as unknown as { digest: string }[]) {
      if (needed.has(digest) || !doomed.has(digest)) continue
      remove.run(digest)
      removed++
    }
    return removed
  }

  #keptBytes(): number {
    const row = this.#index.prepare("SELECT sum(length) AS total FROM blob WHERE pack NOT LIKE 'git:%'").get()
    return Number(row?.['total'] ?? 0)
  }

  #sizeOfPacks(): number {
    return listPacks(this.#folder).reduce((sum, name) => sum + sizeOfPack(this.#folder, name), 0)
  }

  /**
   * Copies the needed bytes of half-empty packs into one new pack. Returns the copied packs, which may be removed after
   * the commit.
   */
  #compact(): readonly string[] {
    const dead: string[] = []
    let target: OpenPack | undefined
    const move = this.#index.prepare('UPDATE blob SET pack = ?, offset = ? WHERE digest = ?')
    for (const pack of listPacks(this.#folder)) {
      if (isPackInUse(this.#folder, pack, this.#before)) continue
      const rows = this.#index
        .prepare('SELECT digest, pack, offset, length FROM blob WHERE pack = ?')
        .all(pack) as unknown as BlobRow[]
      const needed = rows.reduce((sum, { length }) => sum + length, 0)
      if (needed > sizeOfPack(this.#folder, pack) / 2) continue
      dead.push(join(this.#folder, pack))
      if (rows.length === 0 || this.#isDryRun) continue
      const source = openSync(join(this.#folder, pack), 'r')
      try {
        for (const { digest, offset, length } of rows) {
          target ??= createPack(this.#folder)
          const bytes = Buffer.alloc(length)
          if (length > 0 && readSync(source, bytes, 0, length, offset) !== length) continue // damaged: a later read forgets it
          writeSync(target.descriptor, bytes, 0, length, target.offset)
          move.run(target.name, target.offset, digest)
          target.offset += length
        }
      } finally {
        closeSync(source)
      }
    }
    if (target !== undefined) {
      fdatasyncSync(target.descriptor)
      closeSync(target.descriptor)
    }
    return dead
  }
}
