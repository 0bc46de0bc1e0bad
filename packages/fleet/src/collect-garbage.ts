import { checkOptions, digestOf, type KnownOptions, number, whole } from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import { piecesOf } from './blobs.ts'
import type { FleetConnection } from './fleet-connection.ts'
import {
  ALL_BLOBS,
  BLOBS,
  HEADS,
  parseHeadSubject,
  parseRecordSubject,
  RECORDS,
  toBlobSubject,
  toHeadSubject,
} from './fleet-subjects.ts'
import { tryReadDocument } from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'
import { NO_KEYS } from './signing.ts'

export interface CollectOptions {
  /** How many versions of each skill stay, besides the current one. @default 20 */
  readonly keepVersions?: number
  /**
   * Files younger than this stay, because a publisher may be about to use them. Less than two hours is safe only while
   * no program publishes. @default 7 days
   */
  readonly graceMs?: number
  /** Removes nothing. @default false */
  readonly isDryRun?: boolean
  readonly onProgress?: (progress: { readonly step: 'list' | 'remove'; readonly done: number }) => void
}

const KNOWN: KnownOptions<CollectOptions> = {
  keepVersions: whole(0),
  graceMs: number(0),
  isDryRun: true,
  onProgress: true,
}

export interface CollectReport {
  /** Removed versions. */
  readonly versions: number
  /** Removed pieces of files. */
  readonly pieces: number
  /** Bytes of the removed pieces. */
  readonly bytes: number
  /** Pieces that stay. */
  readonly keptPieces: number
}

export const DEFAULT_KEEP_VERSIONS = 20
export const DEFAULT_GRACE_MS: number = 7 * 86_400_000

interface ListedRecord {
  readonly seq: number
  readonly version: number
  /** Subjects of the pieces that the version needs. */
  readonly pieces: readonly string[]
}

/**
 * Removes old version records, unused files, and files whose bytes another program has changed. Each message is removed by its sequence. So a file that a publisher
 * renews at the same time stays, because it then has another sequence.
 */
export async function collectGarbage(
  fleet: FleetConnection,
  options: CollectOptions,
): Promise<CollectReport> {
  checkOptions('SkillPublisher.collectGarbage()', options, KNOWN)
  const {
    keepVersions = DEFAULT_KEEP_VERSIONS,
    graceMs = DEFAULT_GRACE_MS,
    isDryRun = false,
    onProgress,
  } = options
  const engine = await fleet.open()
  const time = await engine.readTime(BLOBS)
  let done = 0
  const remove = async (stream: string, seq: number): Promise<boolean> => {
    onProgress?.({ step: 'remove', done: ++done })
    return isDryRun || (await engine.deleteMessage(stream, seq))
  }
  // The blobs are listed first. A blob that is uploaded later is not in the list, so it stays.
  const blobs = []
  for await (const message of engine.readFrom(BLOBS, 1, ALL_BLOBS)) {
    const { subject, seq, at, data } = message
    blobs.push({ subject, seq, at, size: data.length, isRight: isRight(message) })
    onProgress?.({ step: 'list', done: blobs.length })
  }
  // A server that does not tell its time is at least as late as its newest piece.
  const before = (time ?? blobs.reduce((newest, { at }) => Math.max(newest, at), 0)) - graceMs
  const { old, used } = await findUsed(engine, keepVersions)
  let versions = 0
  for (const { seq } of old) if (await remove(RECORDS, seq)) versions++
  let [pieces, bytes] = [0, 0]
  for (const blob of blobs) {
    // Agents refuse other bytes than those of the digest, and a publisher uploads only what is missing.
    if (blob.isRight && (used.has(blob.subject) || blob.at > before)) continue
    if (!(await remove(BLOBS, blob.seq))) continue
    pieces++
    bytes += blob.size
  }
  return { versions, pieces, bytes, keptPieces: blobs.length - pieces }
}

/** Returns the records that are too old, and the subjects of the blobs that heads and other records need. */
async function findUsed(
  engine: NatsEngine,
  keepVersions: number,
): Promise<{ readonly old: readonly ListedRecord[]; readonly used: ReadonlySet<string> }> {
  const records = new Map<string, ListedRecord[]>()
  for await (const message of engine.readFrom(RECORDS, 1)) {
    const place = parseRecordSubject(message.subject)
    if (place === undefined) continue
    const record = { seq: message.seq, version: place.version, pieces: listPieces(message) }
    const head = toHeadSubject(place)
    records.set(head, [...(records.get(head) ?? []), record])
  }
  const old: ListedRecord[] = []
  const used = new Set<string>()
  for (const group of records.values()) {
    group.sort((a, b) => b.version - a.version)
    old.push(...group.slice(keepVersions + 1))
    for (const { pieces } of group.slice(0, keepVersions + 1)) for (const piece of pieces) used.add(piece)
  }
  // The heads are read last, so that a version that was published in the meantime is found.
  for await (const message of engine.readFrom(HEADS, 1))
    if (parseHeadSubject(message.subject) !== undefined)
      for (const piece of listPieces(message)) used.add(piece)
  return { old, used }
}

/**
 * Returns the subjects of the pieces that a version needs. A document without a trusted signature counts too, because
 * agents without pinned keys serve it. A document that is not valid needs nothing.
 */
function listPieces({ data }: StoredMessage): readonly string[] {
  const document = tryReadDocument(data, NO_KEYS)
  if (document?.kind !== 'skill') return []
  return document.files.flatMap(piecesOf).map(toBlobSubject)
}

/** Whether a piece has the bytes of its digest. */
function isRight({ subject, data }: StoredMessage): boolean {
  return toBlobSubject(digestOf(data, nodeHasher)) === subject
}
