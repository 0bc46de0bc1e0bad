import type { FileStat } from '../fs/file-system.ts'

/** What is remembered of a file that was read and believed. */
export interface BelievedText {
  readonly ino: number
  readonly size: number
  readonly endsLine: boolean
  /** When it was changed last; absent if a change right after the reading could have had the same time. */
  readonly ctimeMs?: number
  /** When other bytes were first doubted. */
  readonly doubtedAt?: number
}

/** How long a file that looks half-written has to stay as it is before it is believed, in milliseconds. */
export const HALF_WRITTEN_MS = 250

const LINE_FEED = 0x0a

/** Longer than a tick of any clock that file systems take their times from. */
const TICK_MS = 15

/** `now` is the wall time right before the bytes were read, in milliseconds since the epoch. */
export function toBelieved(
  { ino, ctimeMs }: FileStat,
  bytes: Uint8Array,
  now: number = ctimeMs,
): BelievedText {
  const text = { ino, size: bytes.length, endsLine: bytes.at(-1) === LINE_FEED }
  return now - ctimeMs > TICK_MS ? { ...text, ctimeMs } : text
}

/** Notes when the file was first doubted since: where a file system sets no times, a time that stays says nothing for long. */
export function noteDoubt(believed: BelievedText, now: number): BelievedText {
  return believed.doubtedAt === undefined ? { ...believed, doubtedAt: now } : believed
}

/** A text that became shorter by less than this part may just as well be a whole one with a word less. */
const SLIGHTLY = 0.1

export interface WrittenText {
  readonly stat: FileStat
  readonly bytes: Uint8Array
  /** What was believed of the file before. */
  readonly before: BelievedText | undefined
  /** Wall time right before the bytes were read, in milliseconds since the epoch. */
  readonly readAt: number
  /** Wall time after that, which can be a good deal later: a process may be held up. */
  readonly now: number
  /** Reads the bytes that were believed before. */
  readonly readBefore: () => Promise<Uint8Array | undefined>
}

/**
 * Whether bytes look as if somebody were in the middle of writing them: the file has become a good deal shorter in place, or is
 * a beginning of what it was, or has lost the line feed at its end, or is new and ends in the middle of a line. Nothing
 * is said of a file that was moved into its place, which is how a whole text is saved, nor of one that nobody has written to for a while.
 */
export async function looksHalfWritten({
  stat,
  bytes,
  before,
  readAt,
  now,
  readBefore,
}: WrittenText): Promise<boolean> {
  // A file that is being emptied loses its bytes first, and has its new times a moment later.
  const isNewDoubt = now - (before?.doubtedAt ?? now) < HALF_WRITTEN_MS
  const hasOldTimes = bytes.length === 0 || before?.ctimeMs === stat.ctimeMs
  if (isNewDoubt && hasOldTimes && before?.ino === stat.ino && before.size !== bytes.length) return true
  const isFuture = stat.mtimeMs - now > HALF_WRITTEN_MS
  if (isFuture || readAt - stat.mtimeMs >= HALF_WRITTEN_MS) return false
  // Moving a file changes its inode, and only that.
  if (stat.ctimeMs !== stat.mtimeMs) return false
  const endsLine = bytes.at(-1) === LINE_FEED
  if (before === undefined || before.size === 0) return !endsLine
  if (before.endsLine && !endsLine) return true
  if (before.ino !== stat.ino || bytes.length >= before.size) return false
  if (bytes.length < before.size * (1 - SLIGHTLY)) return true
  const former = await readBefore()
  return former !== undefined && bytes.every((byte, index) => byte === former[index])
}
