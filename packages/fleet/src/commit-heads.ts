import { SkillError } from '@skillstoke/core'
import { mapConcurrently, quote } from '@skillstoke/core/internal'
import type { ChannelChange } from './channel-change.ts'
import { MARKER_SECONDS } from './fleet-layout.ts'
import { HEADS, toHeadSubject, toStatementSubject } from './fleet-subjects.ts'
import {
  type ChannelList,
  type FleetDocument,
  type PublicationEnd,
  tryReadDocument,
  type VersionRecord,
  writeDocument,
} from './manifest.ts'
import { type MessageToStore, SequenceConflict } from './nats-messages.ts'
import { retrying } from './retries.ts'
import type { LeaderHead } from './version-log.ts'

/** A head to write, with the head that it replaces. */
export interface PlannedHead {
  readonly record: VersionRecord
  readonly head: LeaderHead
}

/** A document to write, with the sequence of the one that it replaces; 0 if there is none. */
export interface PlannedDocument<
  D extends VersionRecord | PublicationEnd | ChannelList = VersionRecord | PublicationEnd | ChannelList,
> {
  readonly document: D
  readonly expectedSeq: number
}

/** A signed document. */
interface Member {
  readonly message: MessageToStore
  readonly document: PlannedDocument['document']
}

/** The server accepts at most 1,000 messages in one batch. */
const MAX_BATCH = 500
/** What the headers of a message need at most. */
const HEADER_BYTES = 4_096
const AT_ONCE = 32

/**
 * Writes heads, which is the commit of what was published. A server with atomic batches commits up to 500 heads together;
 * an older server commits them one after the other. If several commits are needed, agents apply none of the heads before
 * the last commit, which ends the publication. Returns the sequences of the heads.
 * @throws {SkillError} CHANGED_SINCE_READ if another publisher was first; TOO_LARGE
 */
export async function commitHeads(
  change: ChannelChange,
  planned: readonly PlannedHead[],
  filling: PlannedDocument<ChannelList> | undefined,
  onCommitted: (done: number) => void,
): Promise<readonly number[]> {
  const { engine, publication, log, signal } = change
  const size = engine.features.atomicBatch ? MAX_BATCH : 1
  const count = planned.length
  const isSplit = count > size
  const heads = planned.map(({ record, head }, index): PlannedDocument => {
    const part = count === 1 ? {} : { publication: { index, count, ...(isSplit ? { isSplit } : {}) } }
    return { document: { ...record, ...part }, expectedSeq: head.stored?.seq ?? 0 }
  })
  const end: PlannedDocument = { document: { kind: 'publication', ...publication, count }, expectedSeq: 0 }
  const statements = [...(isSplit ? [end] : []), ...(filling === undefined ? [] : [filling])]
  const sign = async (each: PlannedDocument): Promise<Member> => await toMember(each, change)
  // Nothing is committed if one of the documents is too large.
  const groups = toGroups(heads, statements, size)
  const signed = await Promise.all(groups.map(async group => await Promise.all(group.map(sign))))
  if (isSplit) await giveUpReplaced(change, planned)
  const store = async ({ document, message }: Member): Promise<void> => {
    if ('skill' in document) await log.store(document, message.data)
  }
  const seqs: number[] = []
  for (const members of signed) {
    const firstSeq = await commitGroup(change, members)
    for (const [index, { document }] of members.entries())
      if ('skill' in document) seqs.push(firstSeq + index)
    await mapConcurrently(members, store, AT_ONCE, signal)
    onCommitted(seqs.length)
  }
  return seqs
}

/**
 * Gives up the publications in several commits whose heads will be replaced before they count. Their last commit then
 * fails, because it expects no statement at its subject. So half of a publication never counts.
 */
async function giveUpReplaced(
  { engine, fleet: { feed }, signer, signal, publication: own }: ChannelChange,
  planned: readonly PlannedHead[],
): Promise<void> {
  feed.expect(Math.max(0, ...planned.map(({ head }) => head.stored?.seq ?? 0)))
  await retrying(signal, async () => await feed.reload())
  const counts = new Map<string, number>()
  for (const { record } of planned) {
    const waiting = feed.waiting.get(toHeadSubject(record))
    const { publishId, publication } = waiting?.document ?? {}
    if (publishId !== undefined && publication?.isSplit === true) counts.set(publishId, publication.count)
  }
  for (const [publishId, count] of counts) {
    const document = { kind: 'publication', ...own, publishId, count, isGivenUp: true } as const
    const data = await writeDocument(document, signer)
    const message = { subject: toStatementSubject(document), data, expectedSeq: 0 }
    // If this stores nothing, the publication has ended or was given up in the meantime.
    await retrying(signal, async () => await engine.tryStore(message))
  }
}

/** Returns what is committed together. The statements come last. */
function toGroups(
  heads: readonly PlannedDocument[],
  statements: readonly PlannedDocument[],
  size: number,
): readonly (readonly PlannedDocument[])[] {
  const groups: PlannedDocument[][] = []
  for (let start = 0; start < heads.length; start += size) groups.push(heads.slice(start, start + size))
  const last = groups.at(-1)
  if (size > 1 && last !== undefined) last.push(...statements)
  else groups.push(...statements.map(each => [each]))
  return groups
}

/** @throws {SkillError} TOO_LARGE */
async function toMember(
  { document, expectedSeq }: PlannedDocument,
  { engine, signer }: ChannelChange,
): Promise<Member> {
  const data = await writeDocument(document, signer)
  const most = engine.maxPayload - HEADER_BYTES
  if (data.length > most)
    throw new SkillError(
      'TOO_LARGE',
      'skill' in document
        ? `the manifest of ${quote(document.skill)} has ${data.length} bytes, and the server accepts ${most}; the skill has too many files, or a long note or frontmatter`
        : `the list of the channel ${document.channel} has ${data.length} bytes, and the server accepts ${most}; raise max_payload of the server`,
    )
  const subject = 'skill' in document ? toHeadSubject(document) : toStatementSubject(document)
  const isMarker = document.kind === 'removal'
  // Agents with trusted keys remove nothing without a signed removal, so it does not expire.
  const ttl = isMarker && signer === undefined ? { ttlSeconds: MARKER_SECONDS } : {}
  return { document, message: { subject, data, expectedSeq, isMarker, ...ttl } }
}

/** Returns the sequence of the first member. */
async function commitGroup(change: ChannelChange, members: readonly Member[]): Promise<number> {
  const { engine, signal } = change
  return await retrying(signal, async () => {
    try {
      return await engine.storeAll(members.map(({ message }) => message))
    } catch (thrown) {
      if (!(thrown instanceof SequenceConflict)) throw thrown
      // The answer to an earlier attempt may have been lost.
      return await findOwnCommit(change, members, thrown)
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
  { engine, fleet: { trusted }, log, publication: { publishId } }: ChannelChange,
  members: readonly Member[],
  cause: SequenceConflict,
): Promise<number> {
  let firstSeq = 0
  let [isChanged, isForeign] = [false, false]
  let conflict: SkillError | undefined
  for (const [index, { message, document }] of members.entries()) {
    const stored = await engine.readLast(HEADS, message.subject, 'leader')
    const now = tryReadDocument(stored?.data, trusted)
    const isOwn =
      now !== undefined && 'publishId' in now && now.publishId === publishId && !('isGivenUp' in now)
    if (isOwn && stored !== undefined) firstSeq = stored.seq - index
    else if (!('skill' in document) || !(await log.hasOwn(document))) isForeign = true
    if ((stored?.seq ?? 0) === message.expectedSeq) continue
    isChanged = true
    if (!isOwn && 'skill' in document) conflict ??= describeConflict(document, now, cause)
  }
  if (!isChanged)
    throw new SkillError('IO_FAILED', 'the servers refuse the commit, but their heads have not changed yet', {
      cause,
    })
  if (!isForeign) return firstSeq
  const message = 'the channel has changed; publish again'
  throw conflict ?? new SkillError('CHANGED_SINCE_READ', message, { cause })
}

/** @param now the document that another publisher has stored, if it is trusted */
function describeConflict(
  { channel, skill }: VersionRecord,
  now: FleetDocument | undefined,
  cause: SequenceConflict,
): SkillError {
  const { version, publisher } = now !== undefined && 'skill' in now ? now : {}
  const change =
    version === undefined ? 'changed' : `has version ${version} now, which ${publisher} published`
  const message = `${channel}/${skill} ${change}; look at it, then publish again`
  return new SkillError('CHANGED_SINCE_READ', message, { cause, data: { channel, skill, version } })
}
