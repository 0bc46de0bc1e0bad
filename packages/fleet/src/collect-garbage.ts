import { checkNumber, checkOptions, checkWholeNumber, type KnownOptions } from '@skillstoke/core/internal'
import { DEFAULT_GRACE_MS, hexOf, piecesOf } from './blobs.ts'
import type { FleetConnection } from './fleet-connection.ts'
import {
  ALL_BLOBS,
  BLOBS,
  HEADS,
  parseHeadSubject,
  parseRecordSubject,
  RECORDS,
  toBlobSubject,
} from './fleet-subjects.ts'
import { readDocument } from './manifest.ts'
import type { NatsEngine, StoredMessage } from './nats-engine.ts'

export interface CollectOptions {
  /** How many versions of each skill stay, besides the current one. @default 20 */
  readonly keepVersions?: number
  /** Files younger than this stay, because a publisher may be about to use them. @default 7 days */
  readonly graceMs?: number
  /** Removes nothing. @default false */
  readonly isDryRun?: boolean
  readonly onProgress?: (progress: { readonly step: 'list' | 'remove'; readonly done: number }) => void
}

const KNOWN: KnownOptions<CollectOptions> = {
  keepVersions: true,
  graceMs: true,
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

/**
 * Removes old version records and unused files. Each message is removed by its sequence. So a file that a publisher
 * renews at the same time stays, because it then has another sequence.
 */
export async function collectGarbage(
  fleet: FleetConnection,
  options: CollectOptions,
): Promise<CollectReport> {
  checkOptions('SkillPublisher.collectGarbage()', options, KNOWN)
  checkWholeNumber('keepVersions', options.keepVersions, 0)
  checkNumber('graceMs', options.graceMs, 0)
  const {
    keepVersions = DEFAULT_KEEP_VERSIONS,
    graceMs = DEFAULT_GRACE_MS,
    isDryRun = false,
    onProgress,
  } = options
  const engine = await fleet.open()
  const before = Date.now() - graceMs
  let done = 0
  const remove = async (stream: string, { seq }: StoredMessage): Promise<boolean> => {
    onProgress?.({ step: 'remove', done: ++done })
    return isDryRun || (await engine.deleteMessage(stream, seq))
  }
  // The blobs are listed first. A blob that is uploaded later is not in the list, so it stays.
  const blobs = await list(engine, BLOBS, onProgress)
  const { old, used } = await findUsed(fleet, engine, keepVersions)
  let versions = 0
  for (const record of old) if (await remove(RECORDS, record)) versions++
  let [pieces, bytes] = [0, 0]
  for (const blob of blobs) {
    if (used.has(blob.subject) || blob.at > before) continue
    if (!(await remove(BLOBS, blob))) continue
    pieces++
    bytes += blob.data.length
  }
  return { versions, pieces, bytes, keptPieces: blobs.length - pieces }
}

/** Returns the records that are too old, and the subjects of the blobs that heads and other records need. */
async function findUsed(
  fleet: FleetConnection,
  engine: NatsEngine,
  keepVersions: number,
): Promise<{ readonly old: readonly StoredMessage[]; readonly used: ReadonlySet<string> }> {
  const used = new Set<string>()
  const records = new Map<string, StoredMessage[]>()
  for await (const { messages } of engine.readFrom(RECORDS, 1))
    for (const message of messages) {
      const place = parseRecordSubject(message.subject)
      if (place === undefined) continue
      const key = `${place.channel}.${place.skill}`
      records.set(key, [...(records.get(key) ?? []), message])
    }
  const old: StoredMessage[] = []
  for (const group of records.values()) {
    group.sort((a, b) => versionOf(b) - versionOf(a))
    for (const [index, record] of group.entries())
      if (index > keepVersions) old.push(record)
      else use(fleet, record, used)
  }
  // The heads are read last, so that a version that was published in the meantime is found.
  for await (const { messages } of engine.readFrom(HEADS, 1))
    for (const message of messages)
      if (parseHeadSubject(message.subject) !== undefined) use(fleet, message, used)
  return { old, used }
}

function use(fleet: FleetConnection, { data, isMarker }: StoredMessage, used: Set<string>): void {
  if (isMarker && data.length === 0) return
  const document = readDocument(data, fleet.trusted)
  if (document.kind !== 'skill') return
  for (const file of document.files)
    for (const digest of piecesOf(file)) used.add(toBlobSubject(hexOf(digest)))
}

async function list(
  engine: NatsEngine,
  stream: string,
  onProgress: CollectOptions['onProgress'],
): Promise<readonly StoredMessage[]> {
  const found: StoredMessage[] = []
  for await (const { messages } of engine.readFrom(stream, 1, ALL_BLOBS)) {
    found.push(...messages)
    onProgress?.({ step: 'list', done: found.length })
  }
  return found
}

function versionOf({ subject }: StoredMessage): number {
  return parseRecordSubject(subject)?.version ?? 0
}
