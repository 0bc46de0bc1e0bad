import type { FileStat } from '../fs/file-system.ts'

/** What is remembered of a file that was read and believed. */
export interface BelievedText {
  readonly ino: number
  readonly size: number
  readonly endsLine: boolean
}

/** How long a file that looks half-written has to stay as it is before it is believed, in milliseconds. */
export const HALF_WRITTEN_MS = 250

const LINE_FEED = 0x0a

export function toBelieved({ ino }: FileStat, bytes: Uint8Array): BelievedText {
  return { ino, size: bytes.length, endsLine: bytes.at(-1) === LINE_FEED }
}

/**
 * Whether bytes look as if somebody were in the middle of writing them: the file has become shorter in place, or has lost the
 * line feed at its end, or is new and ends in the middle of a line. Nothing is said of a file that was moved into its
 * place, which is how a whole text is saved, nor of one that nobody has written to for a while.
 * @param now wall time in milliseconds since the epoch
 */
export function looksHalfWritten(
  stat: FileStat,
  bytes: Uint8Array,
  before: BelievedText | undefined,
  now: number,
): boolean {
  const age = now - stat.mtimeMs
  if (age < -HALF_WRITTEN_MS || age >= HALF_WRITTEN_MS) return false
  // Moving a file changes its inode, and only that.
  if (stat.ctimeMs !== stat.mtimeMs) return false
  const endsLine = bytes.at(-1) === LINE_FEED
  if (before === undefined) return !endsLine
  const isInPlace = before.ino === stat.ino
  return (isInPlace && bytes.length < before.size) || (before.endsLine && !endsLine)
}
