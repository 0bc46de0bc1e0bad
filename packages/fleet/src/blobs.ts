import { setTimeout as sleep } from 'node:timers/promises'
import { type Digest, SkillError } from '@skillstoke/core'
import { digestOf, mapConcurrently } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import { BLOBS, toBlobSubject } from './fleet-subjects.ts'
import { CHUNK_BYTES, type ManifestFile } from './manifest.ts'
import { type NatsEngine, SequenceConflict } from './nats-engine.ts'
import { retrying } from './retrying.ts'

/** How long a blob without a user stays. A publisher renews blobs that are older than half of this time. */
export const DEFAULT_GRACE_MS: number = 7 * 86_400_000
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

export interface UploadReport {
  /** Bytes that the server did not have. */
  readonly bytes: number
}

/** Stores the pieces that the server does not have. */
export async function uploadPieces(
  engine: NatsEngine,
  pieces: readonly Piece[],
  signal: AbortSignal,
  onPiece: (bytes: number) => void,
): Promise<UploadReport> {
  let total = 0
  const upload = async ({ digest, bytes }: Piece): Promise<void> => {
    const isNew = await retrying(signal, async () => await uploadPiece(engine, digest, bytes))
    if (isNew) total += bytes.length
    onPiece(bytes.length)
  }
  await mapConcurrently(pieces, upload, AT_ONCE, signal)
  return { bytes: total }
}

/** Stores one piece. Returns whether it is new. */
async function uploadPiece(engine: NatsEngine, digest: Digest, data: Uint8Array): Promise<boolean> {
  const subject = toBlobSubject(hexOf(digest))
  try {
    await engine.store({ subject, data, expectedSeq: 0 })
    return true
  } catch (thrown) {
    if (!(thrown instanceof SequenceConflict)) throw thrown
  }
  const stored = await engine.readLast(BLOBS, subject, 'leader')
  if (stored !== undefined && Date.now() - stored.at < DEFAULT_GRACE_MS / 2) return false
  // Makes the piece young again, so that a collection that has already listed it leaves it.
  await engine.store({ subject, data, expectedSeq: stored?.seq ?? 0 }).catch((thrown: unknown) => {
    if (!(thrown instanceof SequenceConflict)) throw thrown
  })
  return false
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
  const digests = piecesOf(file)
  const read = async (digest: Digest): Promise<Uint8Array> =>
    await downloadPiece(engine, digest, file.path, signal)
  const parts = await mapConcurrently(digests, read, AT_ONCE, signal)
  const [first = new Uint8Array()] = parts
  if (parts.length === 1) return first
  const bytes = Buffer.concat(parts)
  if (digestOf(bytes, nodeHasher) === file.digest) return bytes
  throw new SkillError('IO_FAILED', `the pieces of ${JSON.stringify(file.path)} do not match its digest`)
}

/** A replica may lag behind the manifest, so a missing piece is asked for again. */
async function downloadPiece(
  engine: NatsEngine,
  digest: Digest,
  path: string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  for (let attempt = 0; ; attempt++) {
    const stored = await engine.readLast(BLOBS, toBlobSubject(hexOf(digest)), 'any')
    if (stored !== undefined && digestOf(stored.data, nodeHasher) === digest) return stored.data
    if (stored !== undefined)
      throw new SkillError(
        'IO_FAILED',
        `the content of ${JSON.stringify(path)} does not match its digest ${digest}`,
      )
    if (attempt === LAG_ATTEMPTS)
      throw new SkillError('IO_FAILED', `the servers have no content for ${JSON.stringify(path)} (${digest})`)
    await sleep(LAG_MS * 3 ** attempt, undefined, { signal })
  }
}

export function hexOf(digest: Digest): string {
  return digest.slice('sha256:'.length)
}
