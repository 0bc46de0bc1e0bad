import { randomUUID } from 'node:crypto'
import { SkillError } from '@skillstoke/core'
import { tryReadEpoch } from './feed-state.ts'
import type { FleetConnection } from './fleet-connection.ts'
import type { LayoutStep, PrepareFleetOptions } from './fleet-layout.ts'
import {
  EPOCH_SUBJECT,
  HEADS,
  isStatementSubject,
  parseHeadSubject,
  toHeadSubject,
  toStatementSubject,
} from './fleet-subjects.ts'
import {
  type ChannelList,
  describePublication,
  type FleetDocument,
  type FleetEpoch,
  isSignedBy,
  listSigners,
  tryReadDocument,
  type VersionRecord,
  writeDocument,
} from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'
import { type ManifestSigner, NO_KEYS } from './signing.ts'
import { type NewestRecords, readNewestRecords } from './version-log.ts'

/**
 * Creates or raises the epoch. Another key signs the same epoch anew, so that agents keep their skills.
 * @throws {SkillError} INVALID_OPTION
 */
export async function prepareEpoch(
  fleet: FleetConnection,
  engine: NatsEngine,
  {
    signer,
    isNewEpoch = false,
    isDryRun = false,
    isMissing,
  }: PrepareFleetOptions & { readonly isMissing: boolean },
): Promise<{ readonly step: LayoutStep; readonly document: FleetEpoch | undefined }> {
  for (;;) {
    const stored = isMissing ? undefined : await engine.readLast(HEADS, EPOCH_SUBJECT, 'leader')
    // The clock of this machine may be wrong, and agents never go back to a lower epoch.
    const time = (await engine.readTime(HEADS)) ?? Date.now()
    // Agents may refuse the stored document, for example because it is not signed.
    const before = tryReadEpoch(stored?.data, fleet.trusted)
    const signers = listSigners(stored?.data)
    const isOwn = stored !== undefined && isSignedBy(stored.data, signer)
    if (before !== undefined && !isNewEpoch && isOwn)
      return { step: { part: 'epoch', outcome: 'unchanged' }, document: before }
    if (signer === undefined && (fleet.trusted.isRequired || signers.length > 0))
      throw new SkillError('INVALID_OPTION', 'agents trust only signed documents; name the signing key')
    const isForeign = signers.length > 0 && !isOwn && (before === undefined || !fleet.trusted.isRequired)
    if (isForeign && !isNewEpoch)
      throw new SkillError(
        'INVALID_OPTION',
        `the epoch of this fleet is signed by ${signers.join(', ')}, which is none of the trusted keys; trust this key, too, or begin another fleet with --new-epoch`,
      )
    const document = nextEpoch(before ?? readOpenEpoch(stored, time), isNewEpoch, time)
    const data = await writeDocument(document, signer)
    const step = { part: 'epoch', outcome: stored === undefined ? 'created' : 'changed' } as const
    if (isDryRun) return { step, document: before }
    // If another administrator was first, the next round reads what that one stored.
    if (await engine.tryStore({ subject: EPOCH_SUBJECT, data, expectedSeq: stored?.seq ?? 0 }))
      return { step, document }
  }
}

function nextEpoch(before: FleetEpoch | undefined, isNewEpoch: boolean, time: number): FleetEpoch {
  if (before !== undefined && !isNewEpoch) return before
  // The time rises even if the earlier epoch was lost with its stream.
  const epoch = Math.max(time, (before?.epoch ?? 0) + 1)
  const { id = randomUUID() } = before ?? {}
  return { kind: 'epoch', id, epoch, at: new Date(epoch).toISOString() }
}

/** Returns the epoch of a fleet without a signed epoch. An epoch in the future could never be raised. */
function readOpenEpoch(stored: StoredMessage | undefined, time: number): FleetEpoch | undefined {
  if (listSigners(stored?.data).length > 0) return undefined
  const document = tryReadEpoch(stored?.data, NO_KEYS)
  return document !== undefined && document.epoch <= time ? document : undefined
}

const NO_RECORDS: NewestRecords = new Map()

interface StoredDocument {
  readonly message: StoredMessage
  readonly document: FleetDocument
}

/**
 * Signs removals and lists anew after the key was replaced, and writes the list of each channel whose heads come from an
 * earlier epoch. Both are also done if an earlier call ended midway.
 */
export async function prepareChannels(
  fleet: FleetConnection,
  engine: NatsEngine,
  epoch: FleetEpoch,
  signer: ManifestSigner | undefined,
): Promise<readonly LayoutStep[]> {
  const steps: LayoutStep[] = []
  const documents = await readDocuments(fleet, engine, epoch)
  // Without trusted keys, a forged removal would be signed, too.
  const signed = fleet.trusted.isRequired ? await signAnew(engine, documents, epoch, signer) : 0
  if (signed > 0) steps.push({ part: 'removals', outcome: 'changed', detail: `${signed} signed anew` })
  const unlisted = findUnlisted(documents, epoch)
  const isNeeded = unlisted.length > 0 && fleet.trusted.isRequired
  const records = isNeeded ? (await readNewestRecords(engine, fleet.trusted, epoch.id)).newest : NO_RECORDS
  for (const channel of unlisted) {
    const skills = listSkills(channel, documents, records)
    const subject = toStatementSubject({ kind: 'list', channel })
    const stored = await engine.readLast(HEADS, subject, 'leader')
    const document: ChannelList = { kind: 'list', ...describePublication(epoch, channel), skills }
    const data = await writeDocument(document, signer)
    const expectedSeq = stored?.seq ?? 0
    if (await engine.tryStore({ subject, data, expectedSeq }))
      steps.push({
        part: `list of ${channel}`,
        outcome: stored === undefined ? 'created' : 'changed',
        detail: `${Object.keys(skills).length} skills`,
      })
  }
  return steps
}

/** Reads all documents of the fleet that agents accept. */
async function readDocuments(
  { trusted }: FleetConnection,
  engine: NatsEngine,
  { id }: FleetEpoch,
): Promise<readonly StoredDocument[]> {
  const documents: StoredDocument[] = []
  for await (const message of engine.readFrom(HEADS, 1)) {
    const { subject } = message
    const isNamed = isStatementSubject(subject) || parseHeadSubject(subject) !== undefined
    const document = isNamed ? tryReadDocument(message.data, trusted) : undefined
    if (document !== undefined && 'fleet' in document && document.fleet === id)
      documents.push({ message, document })
  }
  return documents
}

/**
 * Signs removals, lists and ends of publications with another key. Skills are signed anew when they are published. Returns
 * how many.
 */
async function signAnew(
  engine: NatsEngine,
  documents: readonly StoredDocument[],
  { epoch }: FleetEpoch,
  signer: ManifestSigner | undefined,
): Promise<number> {
  const ended = new Set<string>()
  for (const { document } of documents)
    if (document.kind === 'publication' && document.isGivenUp !== true) ended.add(document.publishId)
  let count = 0
  for (const { message, document } of documents) {
    const renewed = toRenewed(document, epoch, ended)
    if (renewed === undefined || isSignedBy(message.data, signer)) continue
    const { subject, seq } = message
    const data = await writeDocument(renewed, signer)
    if (await engine.tryStore({ subject, data, expectedSeq: seq, isMarker: renewed.kind === 'removal' }))
      count++
  }
  return count
}

/** Returns the document to sign anew. Returns `undefined` for documents that stay. */
function toRenewed(
  document: FleetDocument,
  epoch: number,
  ended: ReadonlySet<string>,
): FleetDocument | undefined {
  if (document.kind === 'publication') return document
  if (document.kind === 'list') return document.epoch === epoch ? document : undefined
  if (document.kind !== 'removal') return undefined
  const { publication, ...alone } = document
  // A removal whose publication is not complete does not count.
  if (publication?.isSplit === true && !ended.has(document.publishId)) return undefined
  // It gets another place in the stream, apart from the rest of its publication.
  return alone
}

/** Returns the channels that have heads of an earlier epoch, and no list of this one. */
function findUnlisted(documents: readonly StoredDocument[], { epoch }: FleetEpoch): readonly string[] {
  const carried = new Set<string>()
  for (const { document } of documents)
    if ('skill' in document && document.epoch < epoch) carried.add(document.channel)
  for (const { document } of documents)
    if (document.kind === 'list' && document.epoch === epoch) carried.delete(document.channel)
  return [...carried].sort()
}

/**
 * Returns the skills of a channel. With trusted keys, also a skill whose head is refused or missing stays in the list,
 * unless its newest record is a removal.
 */
function listSkills(
  channel: string,
  documents: readonly StoredDocument[],
  records: NewestRecords,
): Readonly<Record<string, number>> {
  const newest = new Map<string, VersionRecord>()
  for (const [subject, record] of records) if (record.channel === channel) newest.set(subject, record)
  for (const { message, document } of documents) {
    const { subject } = message
    if (!('skill' in document) || document.channel !== channel || toHeadSubject(document) !== subject)
      continue
    // A head that is older than its record was replayed or restored.
    if ((newest.get(subject)?.version ?? 0) <= document.version) newest.set(subject, document)
  }
  const skills = [...newest.values()].filter(({ kind }) => kind === 'skill')
  return Object.fromEntries(skills.map(({ skill, version }) => [skill, version]))
}
