import type { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import type { Digest } from '../index.ts'
import type { SkillFile } from '../source-entry.ts'
import { SPARED } from './pack-index.ts'
import { inTransaction, isBusy } from './private-database.ts'
import type { TimeSlices } from './time-slices.ts'

// Same as in `collectGarbage`. During the grace period, a running scan can still name a new revision.
const GRACE_MS = 3_600_000
// Maximum size of the unneeded content that is kept because it is younger than the grace period.
const MAX_YOUNG_BYTES = 67_108_864
const YOUNGEST_MS = 30_000
// Estimated size of the index rows of one revision.
const BYTES_PER_TREE = 1_024
// Delay between dooming and removing a key. During this delay, a process that has looked up the key can still give it a
// name.
const DOOM_MS = 30_000

const NOTES_KEPT_MS = 30 * 86_400_000

// This key cannot be equal to a digest.
const ROUND_KEY = 'round'

const ROWS_PER_PAGE = 200
const ROWS_PER_TRANSACTION = 100
const RETRY_MS = 20
const LAST_TRIES = 25

interface BlobRow {
  readonly key: Digest
  readonly pack: string
  readonly length: number
  readonly at: number
}

interface TreeRow {
  readonly key: Digest
  readonly files: string
  readonly at: number
}

/** Result of one round. */
export interface RoundResult {
  /** Delay until the next round, in milliseconds. `Infinity` if there is no content to remove later. */
  readonly nextInMs: number
  /** For each pack, the number of bytes that the index still refers to. */
  readonly packBytes: ReadonlyMap<string, number>
  /** Packs that contain doomed bytes. The next round removes these bytes. */
  readonly waitingPacks: ReadonlySet<string>
}

/**
 * The keys of an index, grouped by whether they are needed and by their age. Digests are cut to 52 bits. If two digests
 * are equal after the cut and one of them is needed, both rows are kept.
 */
interface Marks {
  /** Digests of revisions that have a name, have a lease or are very new. Also contains the digests of their files. */
  readonly needed: Set<number>
  /** Digests of the files in the revisions of `young`. */
  readonly youngFiles: Set<number>
  readonly oldFiles: Set<number>
  /** Revisions that are kept only because they are younger than the grace period. */
  readonly young: Digest[]
  readonly old: Digest[]
}

/**
 * Runs one round of a collection while other processes use the store. The round marks unneeded keys as doomed, and
 * `has()` returns false for doomed bytes. If a process puts, names, leases or looks up a key, the round does not remove
 * that key. The next round removes the keys that are still doomed.
 */
export async function runCollectionRound(
  database: DatabaseSync,
  slices: TimeSlices,
  now: number,
): Promise<RoundResult> {
  const round = new CollectionRound(database, slices, now)
  await round.begin()
  try {
    await round.removeUnusedNotes()
    const marks = await round.mark()
    const removed = await round.removeDoomed(marks)
    return await round.doom(marks, removed)
  } finally {
    await round.end()
  }
}

class CollectionRound {
  readonly #database: DatabaseSync
  readonly #slices: TimeSlices
  readonly #now: number
  readonly #startedAt = performance.now()

  constructor(database: DatabaseSync, slices: TimeSlices, now: number) {
    this.#database = database
    this.#slices = slices
    this.#now = now
  }

  /** Inserts the row that announces the round. While this row exists, every process records the keys that it needs. */
  async begin(): Promise<void> {
    await writeWhenFree(this.#database, this.#slices, () => {
      this.#database.prepare('INSERT OR REPLACE INTO doomed (key, at) VALUES (?, ?)').run(ROUND_KEY, SPARED)
    })
  }

  /**
   * Removes the records of spared keys, including records that a killed round left behind. If other processes block
   * this write, the next round removes the records.
   */
  async end(): Promise<void> {
    const forget = this.#database.prepare('DELETE FROM doomed WHERE at = ?')
    for (let tries = 0; tries < LAST_TRIES && !wasFree(this.#database, () => forget.run(SPARED)); tries++)
      await setTimeout(RETRY_MS)
  }

  /**
   * Removes the notes of sources that no process has opened for 30 days, for example because the root was removed or
   * renamed.
   */
  async removeUnusedNotes(): Promise<void> {
    const unused = this.#database
      .prepare('SELECT source FROM note_source WHERE at < ?')
      .all(this.#now - NOTES_KEPT_MS) as unknown as readonly { source: string }[]
    const removeSome = this.#database.prepare(
      'DELETE FROM note WHERE rowid IN (SELECT rowid FROM note WHERE source = ? LIMIT ?)',
    )
    const forget = this.#database.prepare('DELETE FROM note_source WHERE source = ?')
    for (const { source } of unused) {
      for (let removed: number | bigint = ROWS_PER_TRANSACTION; removed === ROWS_PER_TRANSACTION; ) {
        await writeWhenFree(this.#database, this.#slices, () => {
          removed = removeSome.run(source, ROWS_PER_TRANSACTION).changes
        })
        await this.#slices.pause()
      }
      await writeWhenFree(this.#database, this.#slices, () => void forget.run(source))
    }
  }

  async mark(): Promise<Marks> {
    const marks: Marks = { needed: new Set(), youngFiles: new Set(), oldFiles: new Set(), young: [], old: [] }
    const named = new Set<number>()
    for await (const { revision } of this.#page<{ key: string; revision: Digest }>(
      'SELECT name AS key, revision FROM ref WHERE name > ? ORDER BY name LIMIT ?',
    ))
      named.add(shorten(revision))
    for await (const { key, files, at } of this.#page<TreeRow>(
      'SELECT revision AS key, files, at FROM tree WHERE revision > ? ORDER BY revision LIMIT ?',
    )) {
      const isNeeded = named.has(shorten(key)) || at >= this.#now - YOUNGEST_MS
      const isYoung = at >= this.#now - GRACE_MS
      if (isNeeded) marks.needed.add(shorten(key))
      else (isYoung ? marks.young : marks.old).push(key)
      const digests = isNeeded ? marks.needed : isYoung ? marks.youngFiles : marks.oldFiles
      for (const { digest } of JSON.parse(files) as SkillFile[]) digests.add(shorten(digest))
    }
    return marks
  }

  /** Removes the keys that an earlier round doomed, except keys that are needed now. */
  async removeDoomed({ needed }: Marks): Promise<ReadonlySet<Digest>> {
    const find = this.#database.prepare('SELECT key FROM doomed WHERE at <= ? LIMIT ?')
    const take = this.#database.prepare('DELETE FROM doomed WHERE key = ? AND at < ?')
    const removeTree = this.#database.prepare('DELETE FROM tree WHERE revision = ?')
    const removeNotes = this.#database.prepare('DELETE FROM note WHERE revision = ?')
    const removeBlob = this.#database.prepare('DELETE FROM blob WHERE digest = ?')
    const removed = new Set<Digest>()
    for (;;) {
      const expired = find.all(this.#now - DOOM_MS, ROWS_PER_PAGE) as unknown as readonly { key: Digest }[]
      if (expired.length === 0) return removed
      await this.#write(expired, ({ key }) => {
        // If a process has spared the doomed key meanwhile, the row of the key is kept.
        if (take.run(key, SPARED).changes === 0 || needed.has(shorten(key))) return
        removeTree.run(key)
        removeNotes.run(key)
        removeBlob.run(key)
        removed.add(key)
      })
    }
  }

  /** Dooms unneeded keys. Dooms young content only if all young content together exceeds the size limit. */
  async doom(marks: Marks, removed: ReadonlySet<Digest>): Promise<RoundResult> {
    const { needed, youngFiles, oldFiles } = marks
    const packBytes = new Map<string, number>()
    const waitingPacks = new Set<string>()
    const youngPacks = new Set<string>()
    const doomed = marks.old.filter(key => !removed.has(key))
    const young = marks.young.filter(key => !removed.has(key))
    let youngBytes = young.length * BYTES_PER_TREE
    for await (const { key, pack, length, at } of this.#page<BlobRow>(
      'SELECT digest AS key, pack, length, at FROM blob WHERE digest > ? ORDER BY digest LIMIT ?',
    )) {
      packBytes.set(pack, (packBytes.get(pack) ?? 0) + length)
      const short = shorten(key)
      if (needed.has(short)) continue
      if (youngFiles.has(short)) {
        young.push(key)
        youngPacks.add(pack)
        youngBytes += length
      } else if (oldFiles.has(short) || at < this.#now - GRACE_MS) {
        doomed.push(key)
        waitingPacks.add(pack)
      }
    }
    if (youngBytes > MAX_YOUNG_BYTES) {
      for (const key of young) doomed.push(key)
      for (const pack of youngPacks) waitingPacks.add(pack)
    }
    const add = this.#database.prepare('INSERT OR IGNORE INTO doomed (key, at) VALUES (?, ?)')
    // The delay starts now and not at the start of the round. A process that has just looked up a key can then still
    // name the key.
    const elapsedMs = (): number => Math.ceil(performance.now() - this.#startedAt)
    await this.#write(doomed, key => add.run(key, this.#now + elapsedMs()))
    const isUrgent = doomed.length > 0 || youngBytes > MAX_YOUNG_BYTES / 2
    const urgentMs = DOOM_MS + elapsedMs()
    return { packBytes, waitingPacks, nextInMs: isUrgent ? urgentMs : young.length > 0 ? GRACE_MS : Infinity }
  }

  /** Yields the rows of a query, ordered by key. Reads one page of rows at a time. */
  async *#page<Row extends { readonly key: string }>(query: string): AsyncGenerator<Row, void, undefined> {
    const statement = this.#database.prepare(query)
    for (let last = ''; ; ) {
      const rows = statement.all(last, ROWS_PER_PAGE) as unknown as readonly Row[]
      yield* rows
      await this.#slices.pause()
      if (rows.length < ROWS_PER_PAGE) return
      last = rows.at(-1)?.key ?? ''
    }
  }

  async #write<Item>(items: readonly Item[], write: (item: Item) => unknown): Promise<void> {
    for (let i = 0; i < items.length; i += ROWS_PER_TRANSACTION) {
      await writeWhenFree(this.#database, this.#slices, () => {
        for (const item of items.slice(i, i + ROWS_PER_TRANSACTION)) write(item)
      })
      await this.#slices.pause()
    }
  }
}

/**
 * Runs `work` in one transaction as soon as no other process writes to the index. Does not block the event loop during
 * the wait.
 * @throws the abort reason of `slices` when its signal aborts before `work` runs
 */
export async function writeWhenFree(
  database: DatabaseSync,
  slices: TimeSlices,
  work: () => void,
): Promise<void> {
  while (!wasFree(database, work)) await slices.wait(RETRY_MS)
}

/** Runs `work` in one transaction. Returns false if another process is writing to the index. */
function wasFree(database: DatabaseSync, work: () => unknown): boolean {
  try {
    inTransaction(database, work)
    return true
  } catch (thrown) {
    if (!isBusy(thrown)) throw thrown
    return false
  }
}

function shorten(digest: Digest): number {
  return Number.parseInt(digest.slice(-13), 16)
}
