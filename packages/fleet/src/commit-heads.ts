import { SkillError } from '@skillstoke/core'
import { mapConcurrently, quote } from '@skillstoke/core/internal'
import type { FleetConnection } from './fleet-connection.ts'
import { MARKER_SECONDS } from './fleet-layout.ts'
import { HEADS, toHeadSubject, toPublicationSubject } from './fleet-subjects.ts'
import {
  type ChannelList,
  type PublicationEnd,
  tryReadDocument,
  type VersionRecord,
  writeDocument,
} from './manifest.ts'
import type { MessageToStore, NatsEngine } from './nats-engine.ts'
import { SequenceConflict } from './nats-messages.ts'
import { retrying } from './retrying.ts'
import { type ManifestSigner, NO_KEYS } from './signing.ts'
import { hasOwnRecord, readLeaderHead, storeRecord } from './version-log.ts'

/** A head to write, with the sequence of the head that it replaces. */
export interface PlannedHead {
  readonly record: VersionRecord
  readonly isStaged: boolean
  /** Sequence of the replaced head; 0 if there is none. */
  readonly expectedSeq: number
}

/** A statement to write, with the sequence of the one that it replaces. */
export interface PlannedStatement {
  readonly subject: string
  readonly document: PublicationEnd | ChannelList
  readonly expectedSeq: number
}

/** What all heads of a publication have in common. */
export interface CommonFields extends Omit<PublicationEnd, 'kind' | 'count'> {
  /** The list of the channel, if the publication fills the channel. */
  readonly filling: PlannedStatement | undefined
}

interface CommitContext {
  readonly fleet: FleetConnection
  readonly signer: ManifestSigner | undefined
  readonly signal: AbortSignal
  readonly onCommitted: (done: number) => void
}

/** A head or a statement, with its document. */
interface Member {
  readonly message: MessageToStore
  readonly publishId: string
  /** Absent for a statement. */
  readonly head?: PlannedHead
}

/** The server accepts at most 1,000 messages in one batch. */
const MAX_BATCH = 500
const AT_ONCE = 32

/**
 * Writes heads, which is the commit of what was published. A server with atomic batches commits up to 500 heads together;
 * an older server commits them one after the other. If several commits are needed, agents apply none of the heads before
 * the last commit, which ends the publication. Returns the sequences of the heads.
 * @throws {SkillError} CHANGED_SINCE_READ if another publisher was first; TOO_LARGE
 */
export async function commitHeads(
  engine: NatsEngine,
  planned: readonly PlannedHead[],
  { filling, ...common }: CommonFields,
  context: CommitContext,
): Promise<readonly number[]> {
  const size = engine.features.atomicBatch ? MAX_BATCH : 1
  const count = planned.length
  const isSplit = count > size
  const statements: PlannedStatement[] = filling === undefined ? [] : [filling]
  if (isSplit)
    statements.unshift({
      subject: toPublicationSubject(common.publishId),
      document: { kind: 'publication', ...common, count },
      expectedSeq: 0,
    })
  const heads = planned.map((head, index): PlannedHead => {
    const part = count === 1 ? {} : { publication: { index, count, ...(isSplit ? { isSplit } : {}) } }
    return { ...head, record: { ...head.record, ...(head.isStaged ? { isStaged: true } : {}), ...part } }
  })
  const sign = async (each: PlannedHead | PlannedStatement): Promise<Member> =>
    await toMember(each, common, engine, context)
  // Nothing is committed if one of the documents is too large.
  const groups = toGroups(heads, statements, size)
  const signed = await Promise.all(groups.map(async group => await Promise.all(group.map(sign))))
  if (isSplit) await giveUpReplaced(engine, planned, common, context)
  const seqs: number[] = []
  for (const members of signed) {
    const firstSeq = await commitGroup(engine, members, context)
    const own = members.filter(({ head }) => head !== undefined)
    seqs.push(...own.map((_, index) => firstSeq + index))
    await mapConcurrently(own, async member => await log(engine, member, context), AT_ONCE, context.signal)
    context.onCommitted(seqs.length)
  }
  return seqs
}

/**
 * Gives up the publications in several commits whose heads will be replaced before they count. Their last commit then
 * fails, because it expects no statement at its subject. So half of a publication never counts.
 */
async function giveUpReplaced(
  engine: NatsEngine,
  planned: readonly PlannedHead[],
  common: Omit<CommonFields, 'filling'>,
  { fleet, signer, signal }: CommitContext,
): Promise<void> {
  const { feed } = fleet
  feed.expect(Math.max(0, ...planned.map(({ expectedSeq }) => expectedSeq)))
  await retrying(signal, async () => await feed.reload())
  const counts = new Map<string, number>()
  for (const { record, isStaged } of planned) {
    const waiting = feed.waiting.get(toHeadSubject({ ...record, isStaged }))
    const { publishId, publication } = waiting?.document ?? {}
    if (publishId !== undefined && publication?.isSplit === true) counts.set(publishId, publication.count)
  }
  for (const [publishId, count] of counts) {
    const document = { kind: 'publication', ...common, publishId, count, isGivenUp: true } as const
    const data = await writeDocument(document, signer)
    const message = { subject: toPublicationSubject(publishId), data, expectedSeq: 0 }
    // If this stores nothing, the publication has ended or was given up in the meantime.
    await retrying(signal, async () => await engine.tryStore(message))
  }
}

/** Returns what is committed together. The statements come last. */
function toGroups(
  heads: readonly PlannedHead[],
  statements: readonly PlannedStatement[],
  size: number,
): readonly (readonly (PlannedHead | PlannedStatement)[])[] {
  const groups: (PlannedHead | PlannedStatement)[][] = []
  for (let start = 0; start < heads.length; start += size) groups.push(heads.slice(start, start + size))
  const last = groups.at(-1)
  if (size > 1 && last !== undefined) last.push(...statements)
  else groups.push(...statements.map(each => [each]))
  return groups
}

/** @throws {SkillError} TOO_LARGE */
async function toMember(
  planned: PlannedHead | PlannedStatement,
  { publishId }: Pick<CommonFields, 'publishId'>,
  engine: NatsEngine,
  { signer }: CommitContext,
): Promise<Member> {
  const document = 'record' in planned ? planned.record : planned.document
  const data = await writeDocument(document, signer)
  if (data.length > engine.maxPayload - 4096)
    throw new SkillError(
      'TOO_LARGE',
      'skill' in document
        ? `the manifest of ${quote(document.skill)} has ${data.length} bytes, and the server accepts ${engine.maxPayload - 4096}; the skill has too many files, or a long note or frontmatter`
        : `the list of the channel ${document.channel} has ${data.length} bytes, and the server accepts ${engine.maxPayload - 4096}; raise max_payload of the server`,
    )
  const { expectedSeq } = planned
  if (!('record' in planned)) return { publishId, message: { subject: planned.subject, data, expectedSeq } }
  const { record, isStaged } = planned
  const { channel, skill } = record
  const isMarker = record.kind === 'removal'
  // Agents with trusted keys remove nothing without a signed removal, so it does not expire.
  const isExpiring = isMarker && (signer === undefined || isStaged)
  const subject = toHeadSubject({ channel, skill, isStaged })
  const ttl = isExpiring ? { ttlSeconds: MARKER_SECONDS } : {}
  return { publishId, head: planned, message: { subject, data, expectedSeq, isMarker, ...ttl } }
}

/** Stores the record of a committed version. Nobody served a staged version, so it has none. */
async function log(
  engine: NatsEngine,
  { head, message }: Member,
  { fleet, signal }: CommitContext,
): Promise<void> {
  if (head === undefined || head.isStaged) return
  await retrying(signal, async () => await storeRecord(fleet, engine, head.record, message.data))
}

/** Returns the sequence of the first member. */
async function commitGroup(
  engine: NatsEngine,
  members: readonly Member[],
  { fleet, signal }: CommitContext,
): Promise<number> {
  return await retrying(signal, async () => {
    try {
      return await engine.storeAll(members.map(({ message }) => message))
    } catch (thrown) {
      if (!(thrown instanceof SequenceConflict)) throw thrown
      // The answer to an earlier attempt may have been lost.
      return await findOwnCommit(fleet, engine, members, thrown)
    }
  })
}

/**
 * Returns the sequence of the first member if an earlier attempt has stored the members. Another publisher may have
 * replaced some of them since, after it has stored their records.
 * @throws {SkillError} CHANGED_SINCE_READ if another publisher was first; IO_FAILED if no message differs yet from the
 * expected one, because the earlier attempt is still on its way
 */
async function findOwnCommit(
  fleet: FleetConnection,
  engine: NatsEngine,
  members: readonly Member[],
  cause: SequenceConflict,
): Promise<number> {
  let firstSeq = 0
  let foreign: Member | undefined
  let isChanged = false
  for (const [index, member] of members.entries()) {
    const { message, publishId, head } = member
    const stored = await engine.readLast(HEADS, message.subject, 'leader')
    if ((stored?.seq ?? 0) !== message.expectedSeq) isChanged = true
    const document = stored === undefined ? undefined : tryReadDocument(stored.data, NO_KEYS)
    const isOwn =
      document !== undefined &&
      'publishId' in document &&
      document.publishId === publishId &&
      !('isGivenUp' in document)
    if (isOwn && stored !== undefined) firstSeq = stored.seq - index
    else if (head === undefined || !(await hasOwnRecord(engine, head.record))) foreign ??= member
  }
  if (!isChanged)
    throw new SkillError('IO_FAILED', 'the servers refuse the commit, but their heads have not changed yet', {
      cause,
    })
  if (foreign === undefined) return firstSeq
  throw await describeConflict(fleet, engine, members, cause)
}

async function describeConflict(
  fleet: FleetConnection,
  engine: NatsEngine,
  members: readonly Member[],
  cause: SequenceConflict,
): Promise<Error> {
  for (const { head: planned } of members) {
    if (planned === undefined) continue
    const { record, isStaged, expectedSeq } = planned
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
