import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
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
import { retrying } from './retries.ts'
import { NO_KEYS, type TrustedKeys } from './signing.ts'

/** A version far above the others is an error or an attack, and must not use up the numbers. */
const MAX_STEP = 1_000_000

/** The head of a skill, as the leader of the stream knows it. */
export interface LeaderHead {
  /**
   * Absent if there is no head, if another program wrote a marker without a document, or if agents refuse the document.
   * A publisher can replace such a head.
   */
  readonly record: VersionRecord | undefined
  /** The message of the head; absent if there is none. */
  readonly stored: StoredMessage | undefined
}

/** The versions of the skills of a fleet, read from the leader, which decides about commits. Waits for a new leader. */
export class VersionLog {
  readonly #fleet: FleetConnection
  readonly engine: NatsEngine
  readonly signal: AbortSignal

  constructor(fleet: FleetConnection, engine: NatsEngine, signal: AbortSignal) {
    this.#fleet = fleet
    this.engine = engine
    this.signal = signal
  }

  /** Reads the newest message of a subject. @throws {SkillError} IO_FAILED */
  async readMessage(stream: string, subject: string): Promise<StoredMessage | undefined> {
    return await retrying(this.signal, async () => await this.engine.readLast(stream, subject, 'leader'))
  }

  /** Reads the head of a skill. @throws {SkillError} IO_FAILED */
  async readHead(place: HeadPlace): Promise<LeaderHead> {
    const stored = await this.readMessage(HEADS, toHeadSubject(place))
    return { record: this.#read(stored, place, this.#fleet.trusted), stored }
  }

  /**
   * Returns all records of a skill in a channel that a reader trusts, newest first, including the head.
   * @param known the head, if the caller has read it
   */
  async list(
    place: HeadPlace,
    trusted: TrustedKeys = this.#fleet.trusted,
    known?: LeaderHead,
  ): Promise<readonly VersionRecord[]> {
    const records = new Map<number, VersionRecord>()
    // The leader is asked first, because it tells a missing stream from one without a leader.
    const { stored } = known ?? (await this.readHead(place))
    const head = this.#read(stored, place, trusted)
    await this.#eachRecord(place, message => {
      const record = this.#read(message, place, trusted)
      if (record !== undefined && record.version === parseRecordSubject(message.subject)?.version)
        records.set(record.version, record)
    })
    if (head !== undefined) records.set(head.version, head)
    return [...records.values()].sort((a, b) => b.version - a.version)
  }

  /**
   * Returns the newest version of a skill; 0 if it had none. Records and heads that are not trusted count too, because a
   * version that is used twice could not be told from the other.
   */
  async findNewest(place: HeadPlace, { record, stored }: LeaderHead): Promise<number> {
    let highest = record?.version ?? 0
    // The head may be missing or refused, or may have been replaced by an earlier one. Then the records tell more.
    const next = toRecordSubject(place.channel, place.skill, highest + 1)
    if (record !== undefined && (await this.readMessage(RECORDS, next)) === undefined) return highest
    const versions = [this.#read(stored, place, NO_KEYS, true)?.version ?? 0]
    await this.#eachRecord(place, ({ subject }) => versions.push(parseRecordSubject(subject)?.version ?? 0))
    for (const version of versions.sort((a, b) => a - b))
      if (version <= highest + MAX_STEP) highest = Math.max(highest, version)
    return highest
  }

  /**
   * Stores the record of a head. A publisher may have ended between its commit and its record, so the next publisher does
   * this again before it replaces the head. A record that readers refuse is replaced.
   */
  async store(record: VersionRecord, data: Uint8Array): Promise<void> {
    const subject = toRecordSubject(record.channel, record.skill, record.version)
    await retrying(this.signal, async () => {
      for (let expectedSeq = 0; ; ) {
        if (await this.engine.tryStore({ subject, data, expectedSeq })) return
        const stored = await this.engine.readLast(RECORDS, subject, 'leader')
        if (this.#read(stored, record, this.#fleet.trusted) !== undefined) return
        expectedSeq = stored?.seq ?? 0
      }
    })
  }

  /** Whether the record of a version comes from the same publication. */
  async hasOwn(own: VersionRecord): Promise<boolean> {
    const stored = await this.readMessage(RECORDS, toRecordSubject(own.channel, own.skill, own.version))
    return this.#read(stored, own, NO_KEYS, true)?.publishId === own.publishId
  }

  async #eachRecord(
    { channel, skill }: HeadPlace,
    onMessage: (message: StoredMessage) => void,
  ): Promise<void> {
    const subject = toRecordSubject(channel, skill, '*')
    await retrying(this.signal, async () => {
      for await (const message of this.engine.readFrom(RECORDS, 1, subject)) onMessage(message)
    })
  }

  /** Documents that are not valid or not trusted, and documents of other skills or fleets, are no versions. */
  #read(
    stored: StoredMessage | undefined,
    place: HeadPlace,
    trusted: TrustedKeys,
    isOfAnyFleet: boolean = false,
  ): VersionRecord | undefined {
    if (stored === undefined) return undefined
    const fleet = isOfAnyFleet ? undefined : this.#fleet.feed.state.epoch?.document.id
    try {
      return readVersionAt(stored.data, trusted, place, fleet)
    } catch (thrown) {
      if (SkillError.isInstance(thrown)) return undefined
      throw thrown
    }
  }
}

/** The newest version of each skill in its records, by the subject of its head. */
export type NewestRecords = ReadonlyMap<string, VersionRecord>

/** What reading all records found. */
export interface RecordReading {
  readonly newest: NewestRecords
  /** Subjects of other programs. */
  readonly foreign: readonly string[]
  /** Subjects of the records that no log shows, with the reasons. */
  readonly faults: readonly string[]
}

/** Reads all records of a fleet. */
export async function readNewestRecords(
  engine: NatsEngine,
  trusted: TrustedKeys,
  fleet: string | undefined,
): Promise<RecordReading> {
  const newest = new Map<string, VersionRecord>()
  const foreign: string[] = []
  const faults: string[] = []
  for await (const { subject, data } of engine.readFrom(RECORDS, 1)) {
    const place = parseRecordSubject(subject)
    if (place === undefined) {
      foreign.push(subject)
      continue
    }
    try {
      const document = readVersionAt(data, trusted, place, fleet)
      if (document.version !== place.version) throw new Error(`it is version ${document.version}`)
      const head = toHeadSubject(place)
      if ((newest.get(head)?.version ?? 0) < document.version) newest.set(head, document)
    } catch (thrown) {
      faults.push(`${subject} (${toMessage(thrown)})`)
    }
  }
  return { newest, foreign, faults }
}
