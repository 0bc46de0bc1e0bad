import { closeSync, fdatasync, ftruncateSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Digest } from '../index.ts'
import { type RoundResult, writeWhenFree } from './collection-round.ts'
import { createPack, isPackInUse, listPacks, type OpenPack, sizeOfPack } from './pack-files.ts'
import type { PackPosition } from './pack-index.ts'
import type { TimeSlices } from './time-slices.ts'

const CHUNK_BYTES = 262_144
const PART_BYTES = 4_194_304
const ROWS_PER_PAGE = 500
// Every process that stores bytes creates its own pack, so small packs accumulate.
const SMALL_BYTES = 1_048_576
const MANY_SMALL = 32
// A new pack without rows is not garbage, because the process that created the pack is about to write its rows.
const IDLE_MS = 30_000

const sync = promisify(fdatasync)

export interface CompactionOptions {
  readonly folder: string
  readonly database: DatabaseSync
  readonly slices: TimeSlices
  readonly round: RoundResult
  /** Returns whether this process writes to a pack. */
  readonly isWriting: (pack: string) => boolean
  /** Whether the index file that this process has open is still in the folder. */
  readonly isCurrent: () => boolean
}

interface Row extends PackPosition {
  readonly digest: Digest
}

/**
 * Removes packs that no index row refers to. Afterwards, copies the needed bytes of half-empty packs into a new pack.
 * If there are many small packs, also copies the needed bytes of these packs. Removes a copied pack as soon as the
 * index refers to the new pack. Keeps packs that a process is writing to unchanged. If an abort or a full disk stops
 * the compaction, bytes that were already moved stay in the new pack.
 */
export async function compactPacks(options: CompactionOptions): Promise<void> {
  const { folder, round, isWriting } = options
  const { packBytes, waitingPacks } = round
  const isIdle = (pack: string): boolean =>
    !isWriting(pack) && !isPackInUse(folder, pack, Date.now() - IDLE_MS)
  const isHalfEmpty = (pack: string): boolean => (packBytes.get(pack) ?? 0) <= sizeOfPack(folder, pack) / 2
  // Skips packs with doomed files, so that no doomed bytes are copied. These packs are compacted after a later round
  // has removed the files.
  const idle = listPacks(folder).filter(pack => !waitingPacks.has(pack) && isIdle(pack))
  const small = idle.filter(pack => sizeOfPack(folder, pack) < SMALL_BYTES)
  const packs = idle.filter(pack => (small.length > MANY_SMALL && small.includes(pack)) || isHalfEmpty(pack))
  const remove = (pack: string): void => {
    // Removes nothing if another process has removed and recreated the folder.
    if (options.isCurrent() && isIdle(pack)) rmSync(join(folder, pack), { force: true })
  }
  for (const pack of packs) if (!packBytes.has(pack)) remove(pack)
  const half = packs.filter(pack => packBytes.has(pack))
  if (half.length > 0) await movePacks(options, half, remove)
}

/**
 * Copies the needed bytes of one pack after another. Calls `onMoved` with each pack that the index no longer refers to.
 */
async function movePacks(
  options: CompactionOptions,
  packs: readonly string[],
  onMoved: (pack: string) => void,
): Promise<void> {
  const { folder, database } = options
  const rows = await findRows(options, new Set(packs))
  // A power loss must not undo the updates of the rows, because the copied pack is removed right after these updates.
  database.exec('PRAGMA synchronous = FULL')
  const target = createPack(folder)
  let namedBytes = 0
  try {
    for (const pack of packs) {
      const source = openSync(join(folder, pack), 'r')
      try {
        for (const part of inParts(rows.get(pack) ?? [])) {
          await moveRows(options, part, source, target)
          namedBytes = target.offset
        }
      } finally {
        closeSync(source)
      }
      onMoved(pack)
    }
  } finally {
    ftruncateSync(target.descriptor, namedBytes)
    closeSync(target.descriptor)
    if (namedBytes === 0) rmSync(join(folder, target.name), { force: true })
    database.exec('PRAGMA synchronous = NORMAL')
  }
}

/** Copies the bytes of some rows to another pack and updates these rows in the index. */
async function moveRows(
  { database, slices }: CompactionOptions,
  rows: readonly Row[],
  source: number,
  target: OpenPack,
): Promise<void> {
  const moved: { readonly row: Row; readonly offset: number }[] = []
  const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  for (const row of rows) {
    const { offset } = target
    // Rows with missing or truncated bytes count as damaged and are not moved. Missing or damaged bytes are read from
    // the source when a caller needs these bytes.
    if (await copyBytes(source, row, target, buffer)) moved.push({ row, offset })
    await slices.pause()
  }
  await sync(target.descriptor)
  const move = database.prepare(
    'UPDATE blob SET pack = ?, offset = ? WHERE digest = ? AND pack = ? AND offset = ?',
  )
  for (let i = 0; i < moved.length; i += ROWS_PER_PAGE) {
    await writeWhenFree(database, slices, () => {
      for (const { row, offset } of moved.slice(i, i + ROWS_PER_PAGE))
        move.run(target.name, offset, row.digest, row.pack, row.offset)
    })
    await slices.pause()
  }
}

/** Splits rows into parts, so that a failure loses only the work on the current part. */
function* inParts(rows: readonly Row[]): Generator<readonly Row[]> {
  let part: Row[] = []
  let bytes = 0
  for (const row of rows) {
    part.push(row)
    bytes += row.length
    if (bytes < PART_BYTES) continue
    yield part
    part = []
    bytes = 0
  }
  if (part.length > 0) yield part
}

async function findRows(
  { database, slices }: CompactionOptions,
  packs: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly Row[]>> {
  const page = database.prepare(
    'SELECT digest, pack, offset, length FROM blob WHERE digest > ? ORDER BY digest LIMIT ?',
  )
  const found = new Map<string, Row[]>()
  for (let last = ''; ; ) {
    const rows = page.all(last, ROWS_PER_PAGE) as unknown as readonly Row[]
    for (const row of rows) {
      if (!packs.has(row.pack)) continue
      const known = found.get(row.pack)
      if (known === undefined) found.set(row.pack, [row])
      else known.push(row)
    }
    await slices.pause()
    if (rows.length < ROWS_PER_PAGE) return found
    last = rows.at(-1)?.digest ?? ''
  }
}

/** Appends the bytes of a row to the new pack. Returns false if the pack that the row names is too short. */
async function copyBytes(
  source: number,
  { offset, length }: PackPosition,
  target: OpenPack,
  bytes: Buffer,
): Promise<boolean> {
  for (let done = 0; done < length; ) {
    const read = readSync(source, bytes, 0, Math.min(bytes.length, length - done), offset + done)
    if (read === 0) return false
    for (let written = 0; written < read; ) {
      const count = writeSync(target.descriptor, bytes, written, read - written, target.offset)
      written += count
      target.offset += count
    }
    done += read
    if (done < length) await setImmediate()
  }
  return true
}
