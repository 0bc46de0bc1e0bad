import { toMessage } from '@skillstoke/core/internal'
import { parseRecordSubject, RECORDS, toHeadSubject } from './fleet-subjects.ts'
import { readVersionAt, type VersionRecord } from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { TrustedKeys } from './signing.ts'

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
      const { document } = readVersionAt(data, trusted, place, fleet)
      if (document.version !== place.version) throw new Error(`it is version ${document.version}`)
      const head = toHeadSubject(place)
      if ((newest.get(head)?.version ?? 0) < document.version) newest.set(head, document)
    } catch (thrown) {
      faults.push(`${subject} (${toMessage(thrown)})`)
    }
  }
  return { newest, foreign, faults }
}
