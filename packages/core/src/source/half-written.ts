import type { FileStat } from '../fs/file-system.ts'

/** The record of a file that did not look half-written when it was read. */
export interface BelievedText {
  readonly ino: number
  readonly size: number
  readonly endsLine: boolean
  /** Time of the last change. Absent if a later change of the file could have the same time. */
  readonly ctimeMs?: number
  /** Time at which newer bytes of the file first looked half-written. */
  readonly doubtedAt?: number
}

/** How long a file that looks half-written must stay unchanged before it is accepted, in milliseconds. */
export const HALF_WRITTEN_MS = 250

const LINE_FEED = 0x0a

/** This time is longer than a tick of any clock that sets file times. */
const TICK_MS = 15

/**
 * Makes the record of an accepted file; `now` is the wall time right before the bytes were read, in milliseconds since
 * the epoch.
 */
export function toBelieved(
  { ino, ctimeMs }: FileStat,
  bytes: Uint8Array,
  now: number = ctimeMs,
): BelievedText {
  const text = { ino, size: bytes.length, endsLine: bytes.at(-1) === LINE_FEED }
  return now - ctimeMs > TICK_MS ? { ...text, ctimeMs } : text
}

/**
 * Notes the time at which the file first looked half-written. The file must be accepted after some time, because some
 * file systems never update file times.
 */
export function noteDoubt(believed: BelievedText, now: number): BelievedText {
  return believed.doubtedAt === undefined ? { ...believed, doubtedAt: now } : believed
}

/** A text that became shorter by less than this share may be complete, for example if an edit removed one word. */
const SLIGHTLY = 0.1

export interface WrittenText {
  readonly stat: FileStat
  readonly bytes: Uint8Array
  /** The last accepted state of the file. */
  readonly before: BelievedText | undefined
  /** Wall time right before the bytes were read, in milliseconds since the epoch. */
  readonly readAt: number
  /**
   * Wall time after the bytes were read. This time can be much later than `readAt`, because a process may be
   * suspended.
   */
  readonly now: number
  /** Reads the bytes of the last accepted state. */
  readonly readBefore: () => Promise<Uint8Array | undefined>
}

/**
 * Whether the bytes of a file look like an unfinished write. A file looks half-written if it became much smaller,
 * contains only the beginning of its former text, lost its final line feed, or is new and ends within a line. Files
 * that were moved to their path (an atomic save) and files without recent writes never look half-written.
 */
export async function looksHalfWritten({
  stat,
  bytes,
  before,
  readAt,
  now,
  readBefore,
}: WrittenText): Promise<boolean> {
  // A truncated file loses its bytes first and gets its new times a moment later.
  const isNewDoubt = now - (before?.doubtedAt ?? now) < HALF_WRITTEN_MS
  const hasOldTimes = bytes.length === 0 || before?.ctimeMs === stat.ctimeMs
  if (isNewDoubt && hasOldTimes && before?.ino === stat.ino && before.size !== bytes.length) return true
  const isFuture = stat.mtimeMs - now > HALF_WRITTEN_MS
  if (isFuture || readAt - stat.mtimeMs >= HALF_WRITTEN_MS) return false
  // A rename updates ctime but not mtime, so the file was moved to this path.
  if (stat.ctimeMs !== stat.mtimeMs) return false
  const endsLine = bytes.at(-1) === LINE_FEED
  if (before === undefined || before.size === 0) return !endsLine
  if (before.endsLine && !endsLine) return true
  if (before.ino !== stat.ino || bytes.length >= before.size) return false
  if (bytes.length < before.size * (1 - SLIGHTLY)) return true
  const former = await readBefore()
  return former !== undefined && bytes.every((byte, index) => byte === former[index])
}
