import { SkillError } from '@skillstoke/core'
import { mapConcurrently } from '@skillstoke/core/internal'
import type { FleetConnection } from './fleet-connection.ts'
import { MARKER_SECONDS } from './fleet-layout.ts'
import { toHeadSubject } from './fleet-subjects.ts'
import { writeDocument } from './manifest.ts'
import type { MessageToStore, NatsEngine } from './nats-engine.ts'
import { SequenceConflict } from './nats-messages.ts'
import { retrying } from './retrying.ts'
import type { ManifestSigner } from './signing.ts'
import { readLeaderHead, storeRecord, type VersionRecord } from './version-log.ts'

/** A head to write, with the sequence of the head that it replaces. */
export interface PlannedHead {
  readonly record: VersionRecord
  readonly isStaged: boolean
  /** Sequence of the replaced head; 0 if there is none. */
  readonly expectedSeq: number
}

/** The server accepts at most 1,000 messages in one batch. */
const MAX_BATCH = 500
const AT_ONCE = 32

/**
 * Writes heads, which is the commit of what was published. A server with atomic batches commits up to 500 heads
 * together; an older server commits them one after the other. Returns the sequences of the heads.
 * @throws {SkillError} CHANGED_SINCE_READ if another publisher was first; TOO_LARGE
 */
export async function commitHeads(
  fleet: FleetConnection,
  engine: NatsEngine,
  planned: readonly PlannedHead[],
  {
    signer,
    signal,
    onCommitted,
  }: {
    readonly signer: ManifestSigner | undefined
    readonly signal: AbortSignal
    readonly onCommitted: (done: number) => void
  },
): Promise<readonly number[]> {
  const seqs: number[] = []
  const size = engine.features.atomicBatch ? MAX_BATCH : 1
  for (let start = 0; start < planned.length; start += size) {
    const group = planned.slice(start, start + size)
    const records = group.map(({ record }, index) =>
      group.length === 1 ? record : { ...record, batch: { index, count: group.length } },
    )
    const documents = await Promise.all(records.map(async record => await writeDocument(record, signer)))
    const messages = group.map(({ isStaged, expectedSeq, record }, index) =>
      toMessage(record, isStaged, expectedSeq, documents[index] as Uint8Array, engine),
    )
    const firstSeq = await commitGroup(fleet, engine, group, messages, signal)
    seqs.push(...group.map((_, index) => firstSeq + index))
    const log = async (record: VersionRecord): Promise<void> => {
      const index = records.indexOf(record)
      if (group[index]?.isStaged === true) return
      const document = documents[index] as Uint8Array
      await retrying(signal, async () => await storeRecord(fleet, engine, record, document))
    }
    await mapConcurrently(records, log, AT_ONCE, signal)
    onCommitted(seqs.length)
  }
  return seqs
}

/** @throws {SkillError} TOO_LARGE */
function toMessage(
  record: VersionRecord,
  isStaged: boolean,
  expectedSeq: number,
  data: Uint8Array,
  engine: NatsEngine,
): MessageToStore {
  if (data.length > engine.maxPayload - 4096)
    throw new SkillError(
      'TOO_LARGE',
      `the manifest of ${JSON.stringify(record.skill)} has ${data.length} bytes, and the server accepts ${engine.maxPayload - 4096}; the skill has too many files, or a long note or frontmatter`,
    )
  const isMarker = record.kind === 'removal'
  return {
    subject: toHeadSubject({ channel: record.channel, skill: record.skill, isStaged }),
    data,
    expectedSeq,
    isMarker,
    ...(isMarker ? { ttlSeconds: MARKER_SECONDS } : {}),
  }
}

/** Returns the sequence of the first head. */
async function commitGroup(
  fleet: FleetConnection,
  engine: NatsEngine,
  group: readonly PlannedHead[],
  messages: readonly MessageToStore[],
  signal: AbortSignal,
): Promise<number> {
  return await retrying(signal, async () => {
    try {
      return await engine.storeAll(messages)
    } catch (thrown) {
      if (!(thrown instanceof SequenceConflict)) throw thrown
      // The answer to an earlier attempt may have been lost. Then the head already carries the id of this attempt.
      const [first] = group
      if (first === undefined) throw thrown
      const head = await readLeaderHead(fleet, engine, { ...first.record, isStaged: first.isStaged })
      if (head.record?.publishId === first.record.publishId) return head.seq
      throw await describeConflict(fleet, engine, group, thrown)
    }
  })
}

async function describeConflict(
  fleet: FleetConnection,
  engine: NatsEngine,
  group: readonly PlannedHead[],
  cause: SequenceConflict,
): Promise<Error> {
  for (const { record, isStaged, expectedSeq } of group) {
    const { channel, skill } = record
    const head = await readLeaderHead(fleet, engine, { channel, skill, isStaged })
    if (head.seq === expectedSeq) continue
    const { version, publisher } = head.record ?? {}
    const now = version === undefined ? 'changed' : `has version ${version} now, which ${publisher} published`
    const message = `${channel}/${skill} ${now}; look at it, then publish again`
    return new SkillError('CHANGED_SINCE_READ', message, { cause, data: { channel, skill, version } })
  }
  return new SkillError('CHANGED_SINCE_READ', 'the channel has changed; publish again', { cause })
}
