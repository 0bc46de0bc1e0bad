import { SkillError } from '@skillstoke/core'
import type { FleetConnection } from './fleet-connection.ts'
import { HEADS, parseRecordSubject, RECORDS, toHeadSubject, toRecordSubject } from './fleet-subjects.ts'
import { readDocument, type SkillRemoval, type SkillVersion } from './manifest.ts'
import { type NatsEngine, SequenceConflict, type StoredMessage } from './nats-engine.ts'
import { retrying } from './retrying.ts'

const NEVER = new AbortController().signal

/** A version of a skill, or its removal. */
export type VersionRecord = SkillVersion | SkillRemoval

/** The head of a skill, as the leader of the stream knows it. */
export interface LeaderHead {
  /** Sequence of the head; 0 if there is none. */
  readonly seq: number
  /** Absent if there is no head, or if another program wrote a marker without a document. */
  readonly record: VersionRecord | undefined
  readonly stored: StoredMessage | undefined
}

/** Reads the head of a skill from the leader, which decides about commits. @throws {SkillError} UNTRUSTED */
export async function readLeaderHead(
  fleet: FleetConnection,
  engine: NatsEngine,
  {
    channel,
    skill,
    isStaged = false,
  }: { readonly channel: string; readonly skill: string; readonly isStaged?: boolean },
  signal: AbortSignal = NEVER,
): Promise<LeaderHead> {
  const subject = toHeadSubject({ channel, skill, isStaged })
  const stored = await retrying(signal, async () => await engine.readLast(HEADS, subject, 'leader'))
  if (stored === undefined) return { seq: 0, record: undefined, stored }
  const isEmpty = stored.isMarker && stored.data.length === 0
  return { seq: stored.seq, record: isEmpty ? undefined : readRecord(fleet, stored), stored }
}

/**
 * Stores the record of a head. A publisher may have ended between its commit and its record, so the next publisher does
 * this again before it replaces the head.
 */
export async function storeRecord(
  engine: NatsEngine,
  record: VersionRecord,
  data: Uint8Array,
): Promise<void> {
  const subject = toRecordSubject(record.channel, record.skill, record.version)
  try {
    await engine.store({ subject, data, expectedSeq: 0 })
  } catch (thrown) {
    if (!(thrown instanceof SequenceConflict)) throw thrown // the record is already stored
  }
}

/** Returns all records of a skill in a channel, newest first, including the head. */
export async function readRecords(
  fleet: FleetConnection,
  engine: NatsEngine,
  { channel, skill }: { readonly channel: string; readonly skill: string },
  signal: AbortSignal = NEVER,
): Promise<readonly VersionRecord[]> {
  const records = new Map<number, VersionRecord>()
  const readAll = async (): Promise<void> => {
    for await (const { messages } of engine.readFrom(RECORDS, 1, toRecordSubject(channel, skill, '*')))
      for (const message of messages) {
        const version = parseRecordSubject(message.subject)?.version
        const record = tryReadRecord(fleet, message)
        if (record !== undefined && record.version === version) records.set(version, record)
      }
  }
  // The leader is asked first, because it tells a missing stream from one without a leader.
  const { record: head } = await readLeaderHead(fleet, engine, { channel, skill }, signal)
  await retrying(signal, readAll)
  if (head !== undefined) records.set(head.version, head)
  return [...records.values()].sort((a, b) => b.version - a.version)
}

/** @throws {SkillError} UNTRUSTED, SKILL_INVALID */
export function readRecord(fleet: FleetConnection, { data, subject }: StoredMessage): VersionRecord {
  const document = readDocument(data, fleet.trusted)
  if (document.kind !== 'epoch') return document
  throw new SkillError('SKILL_INVALID', `${subject} has the document of an epoch`)
}

/** Records that are not valid or not trusted are no versions. */
function tryReadRecord(fleet: FleetConnection, message: StoredMessage): VersionRecord | undefined {
  try {
    return readRecord(fleet, message)
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) return undefined
    throw thrown
  }
}
