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

export function endsLine(bytes: Uint8Array): boolean {
  return bytes.at(-1) === LINE_FEED
}

/** A text that became shorter by less than this part may just as well be a whole one with a word less. */
const SLIGHTLY = 0.1

export interface WrittenText {
  readonly stat: FileStat
  readonly bytes: Uint8Array
  /** What was believed of the file before. */
  readonly before: BelievedText | undefined
  /** Wall time in milliseconds since the epoch. */
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
  now,
  readBefore,
}: WrittenText): Promise<boolean> {
  const age = now - stat.mtimeMs
  if (age < -HALF_WRITTEN_MS || age >= HALF_WRITTEN_MS) return false
  // Moving a file changes its inode, and only that.
  if (stat.ctimeMs !== stat.mtimeMs) return false
  if (before === undefined) return !endsLine(bytes)
  if (before.endsLine && !endsLine(bytes)) return true
  if (before.ino !== stat.ino || bytes.length >= before.size) return false
  if (bytes.length < before.size * (1 - SLIGHTLY)) return true
  const former = await readBefore()
  return former !== undefined && bytes.every((byte, index) => byte === former[index])
}
