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
   * How long something that nobody needs is kept all the same, in milliseconds: somebody may be about to. With
   * `Infinity` everything is kept. @default 3,600,000
   */
  readonly graceMs?: number
  /** Steps in the history of one skill whose files are kept. @default 100 */
  readonly keepRevisions?: number
  /** Only tells what would go. @default false */
  readonly isDryRun?: boolean
}

const KNOWN: KnownOptions<CollectGarbageOptions> = { graceMs: true, keepRevisions: true, isDryRun: true }

/** What a collection did, or would do. */
export interface GarbageReport {
  /** Revisions that the history no longer keeps. */
  readonly forgotten: number
  /** Revisions and files that nothing needs any more. */
  readonly trees: number
  readonly blobs: number
  /** Files whose bytes were not what their digest says: forgotten, so that they are captured again. */
  readonly damaged: number
  /** Bytes on the disk that are free now. */
  readonly freedBytes: number
  /** Bytes that are kept. */
  readonly keptBytes: number
  /** What was wrong with the index of the store, and where it was moved; then nothing else was done. */
  readonly indexDamage?: string
}

const DEFAULT_GRACE_MS = 3_600_000
const ANNOUNCE_MS = 2_000
// A process that opens or closes the state holds a lock for a moment.
const BUSY_TIMEOUT_MS = 5_000

/**
 * Removes from a state directory what nothing needs any more: revisions that are neither served, nor last good, nor fetched, nor
 * in the history, and their files. Packs in which much is free are written anew; those of processes that run are left alone.
 * Every stored file is compared with its digest; what is damaged is forgotten, and read again from its source when it is needed.
 * An index that is damaged itself is moved aside, and what can be read of it is put into a new one.
 * Other processes may go on meanwhile.
 * @throws {SkillError} NOT_FOUND when there is no store; IO_FAILED when nothing can be written there
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
    throw new SkillError('NOT_FOUND', `there is no store in ${JSON.stringify(stateDirectory)}`)
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
  const where = JSON.stringify(stateDirectory)
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
    index.exec(PACK_INDEX.schema) // an older version made it with fewer tables
    assertWhole(index)
    const kept = await readHistory(stateDirectory, options.keepRevisions ?? DEFAULT_HISTORY_LENGTH)
    const collector = new Collector(folder, index, options)
    const doomed = collector.findDoomed()
    // A process that has just asked for one of them says so within this time.
    if (doomed.size > 0 && options.isDryRun !== true) await setTimeout(ANNOUNCE_MS)
    const report = collector.run(kept, doomed, await findDamage(folder, index))
    if (options.isDryRun !== true) shrink(index)
    return report
  } finally {
    index.close()
  }
}

/** Writes the index anew when much of it is free. */
function shrink(index: DatabaseSync): void {
  const readPragma = (name: string): number => Number(index.prepare(`PRAGMA ${name}`).get()?.[name])
  if (readPragma('freelist_count') < readPragma('page_count') / 4) return
  try {
    index.exec('VACUUM')
  } catch (thrown) {
    if (!isBusy(thrown)) throw thrown // the next collection does it
  }
}

/** Only the next runtime knows what is served: it captures again what is missing, and nothing is collected before. */
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

/** The names under which the history keeps revisions; older steps are taken out of it. */
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
    // Without its steps all that it names is kept.
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
    // A grace of 0 leaves nothing out, also not what was written in this millisecond.
    this.#before = Date.now() + 1 - (graceMs ?? DEFAULT_GRACE_MS)
  }

  /** Files that are old and that nothing needs, as things are now. */
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
    // Nobody writes to the index until this is done, so nothing that is needed now can be taken for garbage.
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
      // Only once the index names the new packs do the old ones go.
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

  /** Unless somebody has stored them again meanwhile. Without notes the next start reads everything, and stores them again. */
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

  /** Writes what is needed of half-empty packs into one new pack; returns the packs that can go once the index is written. */
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
          if (length > 0 && readSync(source, bytes, 0, length, offset) !== length) continue // damaged: read anew one day
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
