import { SkillError } from '@skillstoke/core'
import type { FleetConnection } from './fleet-connection.ts'
import {
  HEADS,
  type HeadPlace,
  parseRecordSubject,
  RECORDS,
  toHeadSubject,
  toRecordSubject,
} from './fleet-subjects.ts'
import { readVersionAt, type VersionRecord } from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'
import { retrying } from './retrying.ts'
import { NO_KEYS, type TrustedKeys } from './signing.ts'

const NEVER = new AbortController().signal

/** The head of a skill, as the leader of the stream knows it. */
export interface LeaderHead {
  /** Sequence of the head; 0 if there is none. */
  readonly seq: number
  /**
   * Absent if there is no head, if another program wrote a marker without a document, or if agents refuse the document.
   * A publisher can replace such a head.
   */
  readonly record: VersionRecord | undefined
  readonly stored: StoredMessage | undefined
}

/** Reads the head of a skill from the leader, which decides about commits. @throws {SkillError} IO_FAILED */
export async function readLeaderHead(
  fleet: Pick<FleetConnection, 'trusted' | 'feed'>,
  engine: NatsEngine,
  place: HeadPlace,
  signal: AbortSignal = NEVER,
): Promise<LeaderHead> {
  const subject = toHeadSubject(place)
  const stored = await retrying(signal, async () => await engine.readLast(HEADS, subject, 'leader'))
  if (stored === undefined) return { seq: 0, record: undefined, stored }
  const record = tryReadRecord(fleet.trusted, stored, place, idOf(fleet))
  return { seq: stored.seq, record, stored }
}

/**
 * Stores the record of a head. A publisher may have ended between its commit and its record, so the next publisher does
 * this again before it replaces the head. A record that readers refuse is replaced.
 */
export async function storeRecord(
  fleet: FleetConnection,
  engine: NatsEngine,
  { channel, skill, version }: VersionRecord,
  data: Uint8Array,
): Promise<void> {
  const subject = toRecordSubject(channel, skill, version)
  for (let expectedSeq = 0; ; ) {
    if (await engine.tryStore({ subject, data, expectedSeq })) return
    const stored = await engine.readLast(RECORDS, subject, 'leader')
    const place = { channel, skill }
    if (stored !== undefined && tryReadRecord(fleet.trusted, stored, place, idOf(fleet)) !== undefined) return
    expectedSeq = stored?.seq ?? 0
  }
}

/** Whether there is a record of a version. */
export async function hasRecord(
  engine: NatsEngine,
  { channel, skill, version }: HeadPlace & { readonly version: number },
  signal: AbortSignal,
): Promise<boolean> {
  const subject = toRecordSubject(channel, skill, version)
  return (await retrying(signal, async () => await engine.readLast(RECORDS, subject, 'leader'))) !== undefined
}

/** Whether the record of a version comes from the same publication. */
export async function hasOwnRecord(engine: NatsEngine, own: VersionRecord): Promise<boolean> {
  const subject = toRecordSubject(own.channel, own.skill, own.version)
  const stored = await engine.readLast(RECORDS, subject, 'leader')
  const record = stored === undefined ? undefined : tryReadRecord(NO_KEYS, stored, own)
  return record?.publishId === own.publishId
}

/** A version far above the others is an error or an attack, and must not use up the numbers. */
const MAX_STEP = 1_000_000

/**
 * Returns the highest version of a skill in its records and in other documents. Records and documents that are not trusted
 * count too, because a version that is used twice could not be told from the other.
 */
export async function findNewestVersion(
  engine: NatsEngine,
  { channel, skill }: HeadPlace,
  {
    newest,
    stored,
    signal,
  }: {
    readonly newest: number
    readonly stored: StoredMessage | undefined
    readonly signal: AbortSignal
  },
): Promise<number> {
  const refused = stored === undefined ? undefined : tryReadRecord(NO_KEYS, stored, { channel, skill })
  const versions = [refused?.version ?? 0]
  await retrying(signal, async () => {
    for await (const { messages } of engine.readFrom(RECORDS, 1, toRecordSubject(channel, skill, '*')))
      for (const { subject } of messages) versions.push(parseRecordSubject(subject)?.version ?? 0)
  })
  let highest = newest
  for (const version of versions.sort((a, b) => a - b))
    if (version <= highest + MAX_STEP) highest = Math.max(highest, version)
  return highest
}

/** Returns all records of a skill in a channel that a reader trusts, newest first, including the head. */
export async function readRecords(
  fleet: Pick<FleetConnection, 'trusted' | 'feed'>,
  engine: NatsEngine,
  place: HeadPlace,
  signal: AbortSignal = NEVER,
): Promise<readonly VersionRecord[]> {
  const records = new Map<number, VersionRecord>()
  const readAll = async (): Promise<void> => {
    for await (const { messages } of engine.readFrom(
      RECORDS,
      1,
      toRecordSubject(place.channel, place.skill, '*'),
    ))
      for (const message of messages) {
        const record = tryReadRecord(fleet.trusted, message, place, idOf(fleet))
        if (record?.version === parseRecordSubject(message.subject)?.version && record !== undefined)
          records.set(record.version, record)
      }
  }
  // The leader is asked first, because it tells a missing stream from one without a leader.
  const { record: head } = await readLeaderHead(fleet, engine, place, signal)
  await retrying(signal, readAll)
  if (head !== undefined) records.set(head.version, head)
  return [...records.values()].sort((a, b) => b.version - a.version)
}

/** The id of the fleet that a connection has read last. */
function idOf({ feed }: Pick<FleetConnection, 'feed'>): string | undefined {
  return feed.state.epoch?.document.id
}

/** Documents that are not valid or not trusted, and documents of other skills or fleets, are no versions. */
function tryReadRecord(
  trusted: TrustedKeys,
  { data }: StoredMessage,
  place: HeadPlace,
  fleetId?: string,
): VersionRecord | undefined {
  try {
    const { document } = readVersionAt(data, trusted, place)
    return fleetId === undefined || document.fleet === fleetId ? document : undefined
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return undefined
    throw thrown
  }
}
