import { setTimeout as sleep } from 'node:timers/promises'
import { type Digest, SkillError } from '@skillstoke/core'
import { digestOf, mapConcurrently, quote } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import { BLOBS, toBlobSubject } from './fleet-subjects.ts'
import { CHUNK_BYTES, type ManifestFile } from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage, StreamDescription } from './nats-messages.ts'
import { retrying } from './retries.ts'

/**
 * A publisher stores a piece anew if the stored one is older. So a collection that keeps everything younger than this, and
 * the time that a publisher needs, never removes a piece that is about to be used.
 */
export const RENEW_AFTER_MS = 3_600_000
const AT_ONCE = 32
const LAG_ATTEMPTS = 3
const LAG_MS = 50

/** A piece of a file that is to be uploaded. */
export interface Piece {
  readonly digest: Digest
  readonly bytes: Uint8Array
}

/** Splits the bytes of a file into the pieces that are stored. */
export function splitFile(bytes: Uint8Array): readonly Piece[] {
  const pieces: Piece[] = []
  for (let start = 0; start === 0 || start < bytes.length; start += CHUNK_BYTES) {
    const piece = bytes.subarray(start, start + CHUNK_BYTES)
    pieces.push({ digest: digestOf(piece, nodeHasher), bytes: piece })
  }
  return pieces
}

/** Returns the digests under which the content of a file is stored. */
export function piecesOf({ digest, chunks }: ManifestFile): readonly Digest[] {
  return chunks ?? [digest]
}

/** The pieces that the servers have. Asks for all of them only if another program has changed the stream since. */
export class StoredPieces {
  #subjects = new Set<string>()
  /** The end of the stream after the last request. */
  #end: string | undefined

  async refresh(engine: NatsEngine): Promise<void> {
    const stream = await engine.describeStream(BLOBS)
    if (nameEnd(stream) === this.#end && stream?.state.messages === this.#subjects.size) return
    this.#subjects = await engine.listSubjects(BLOBS)
    this.#end = nameEnd(stream)
  }

  has(digest: Digest): boolean {
    return this.#subjects.has(toBlobSubject(digest))
  }

  /** Adds what this program has uploaded. */
  async add(engine: NatsEngine, pieces: readonly Piece[]): Promise<void> {
    for (const { digest } of pieces) this.#subjects.add(toBlobSubject(digest))
    this.#end = nameEnd(await engine.describeStream(BLOBS))
  }
}

/** Another stream of the same name may have the same last sequence. */
function nameEnd(stream: StreamDescription | undefined): string {
  return `${stream?.created} ${stream?.state.last_seq}`
}

/** Stores the pieces that the server does not have. Returns how many bytes were new. */
export async function uploadPieces(
  engine: NatsEngine,
  pieces: readonly Piece[],
  signal: AbortSignal,
  onPiece: (bytes: number) => void,
): Promise<number> {
  let total = 0
  const now = await startClock(engine, signal)
  const upload = async ({ digest, bytes }: Piece): Promise<void> => {
    const isNew = await engine.sending.run(
      bytes.length,
      async () => await retrying(signal, async () => await uploadPiece(engine, digest, bytes, now)),
    )
    if (isNew) total += bytes.length
    onPiece(bytes.length)
  }
  await mapConcurrently(pieces, upload, AT_ONCE, signal)
  return total
}

/** Stores one piece. Returns whether it is new. */
async function uploadPiece(
  engine: NatsEngine,
  digest: Digest,
  data: Uint8Array,
  now: () => number,
): Promise<boolean> {
  const subject = toBlobSubject(digest)
  // A collection may remove the stored piece between two requests.
  for (;;) {
    if (await engine.tryStore({ subject, data, expectedSeq: 0 })) return true
    const stored = await engine.readLast(BLOBS, subject, 'leader')
    if (stored === undefined) continue
    // Another publisher may have stored other bytes under the digest.
    const isRight = digestOf(stored.data, nodeHasher) === digest
    if (isRight && (await renewPiece(engine, stored, data, now))) return false
    if (!isRight && (await engine.tryStore({ subject, data, expectedSeq: stored.seq }))) return true
  }
}

/**
 * Renews the stored pieces of files, so that a collection that has already listed them leaves them.
 * @throws {SkillError} REVISION_NOT_FOUND if a piece is missing
 */
export async function renewFiles(
  engine: NatsEngine,
  files: readonly ManifestFile[],
  signal: AbortSignal,
): Promise<void> {
  const now = await startClock(engine, signal)
  const renew = async ([digest, path]: readonly [Digest, string]): Promise<void> => {
    const subject = toBlobSubject(digest)
    for (;;) {
      const stored = await retrying(signal, async () => await engine.readLast(BLOBS, subject, 'leader'))
      if (stored === undefined)
        throw new SkillError('REVISION_NOT_FOUND', `the content of ${quote(path)} was collected`)
      if (await retrying(signal, async () => await renewPiece(engine, stored, stored.data, now))) return
    }
  }
  const pieces = files.flatMap(file => piecesOf(file).map(digest => [digest, file.path] as const))
  await mapConcurrently(pieces, renew, AT_ONCE, signal)
}

/** Returns whether a stored piece is young, or was stored anew. */
async function renewPiece(
  engine: NatsEngine,
  stored: StoredMessage,
  data: Uint8Array,
  now: () => number,
): Promise<boolean> {
  const { subject, seq, at } = stored
  if (now() - at < RENEW_AFTER_MS) return true
  return await engine.tryStore({ subject, data, expectedSeq: seq })
}

/**
 * Asks the servers once for their wall time, in milliseconds since the epoch, and returns a clock. The clock of this machine
 * must not decide, because the servers have stored the pieces with their own time. If a server does not tell its time, every
 * piece counts as old.
 */
async function startClock(engine: NatsEngine, signal: AbortSignal): Promise<() => number> {
  const askedAt = performance.now()
  const time = (await retrying(signal, async () => await engine.readTime(BLOBS))) ?? Infinity
  return () => time + performance.now() - askedAt
}

/**
 * Reads the content of a file and checks every digest.
 * @throws {SkillError} IO_FAILED if a piece is missing or has other bytes
 */
export async function downloadFile(
  engine: NatsEngine,
  file: ManifestFile,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const read = async (digest: Digest): Promise<Uint8Array> =>
    await engine.receiving.run(
      Math.min(file.size, CHUNK_BYTES),
      async () => await downloadPiece(engine, digest, file.path, signal),
    )
  const parts = await mapConcurrently(piecesOf(file), read, AT_ONCE, signal)
  const [first = new Uint8Array()] = parts
  if (parts.length === 1) return first
  const bytes = Buffer.concat(parts)
  if (digestOf(bytes, nodeHasher) === file.digest) return bytes
  throw new SkillError('IO_FAILED', `the pieces of ${quote(file.path)} do not match its digest`)
}

/** A replica may lag behind the manifest, so a missing piece is asked for again. */
async function downloadPiece(
  engine: NatsEngine,
  digest: Digest,
  path: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted()
    const stored = await engine.readLast(BLOBS, toBlobSubject(digest), 'any')
    if (stored !== undefined && digestOf(stored.data, nodeHasher) === digest) return stored.data
    if (stored !== undefined)
      throw new SkillError('IO_FAILED', `the content of ${quote(path)} does not match its digest ${digest}`)
    if (attempt === LAG_ATTEMPTS)
      throw new SkillError('IO_FAILED', `the servers have no content for ${quote(path)} (${digest})`)
    await sleep(LAG_MS * 3 ** attempt, undefined, { signal })
  }
}
