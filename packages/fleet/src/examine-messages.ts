import { toMessage } from '@skillstoke/core/internal'
import type { FleetFinding } from './examine-fleet.ts'
import type { FleetConnection } from './fleet-connection.ts'
import {
  BEAT_SCHEDULE_SUBJECT,
  BEAT_SUBJECT,
  EPOCH_SUBJECT,
  HEADS,
  parseHeadSubject,
  parseListSubject,
  parsePublicationSubject,
  parseRecordSubject,
  RECORDS,
  toHeadSubject,
} from './fleet-subjects.ts'
import { listSigners, readVersionAt, tryReadDocument, type VersionRecord } from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'
import { NO_KEYS, type TrustedKeys } from './signing.ts'
import { readRecords } from './version-log.ts'

const SHOWN = 5
const OWN: readonly string[] = [EPOCH_SUBJECT, BEAT_SUBJECT, BEAT_SCHEDULE_SUBJECT]

/** Finds the messages that agents refuse or do not read: forged, foreign and unreadable ones. */
export async function examineMessages(
  fleet: FleetConnection,
  engine: NatsEngine,
): Promise<readonly FleetFinding[]> {
  return [
    ...(await examineRefusals(fleet, engine)),
    ...examineWaiting(fleet),
    ...examineSigners(fleet),
    ...(await examineHeads(fleet, engine)),
    ...(await examineRecords(fleet, engine)),
  ]
}

async function examineRefusals(fleet: FleetConnection, engine: NatsEngine): Promise<readonly FleetFinding[]> {
  const findings: FleetFinding[] = []
  for (const [subject, { reason }] of fleet.feed.state.refusals)
    findings.push({
      severity: 'error',
      message: `${subject}: ${reason}`,
      fix: await adviseRefusal(fleet, engine, subject),
    })
  return findings
}

/**
 * Returns what to do about a refused head. Its kind decides only if no record is trusted, for example because another key
 * has signed all of them. What was removed on purpose is not published again.
 */
async function adviseRefusal(fleet: FleetConnection, engine: NatsEngine, subject: string): Promise<string> {
  const place = parseHeadSubject(subject)
  if (place === undefined) return 'run "stoke fleet init" with the signing key'
  const [newest] = await readRecords(fleet, engine, place)
  const stored = await engine.readLast(HEADS, subject, 'leader')
  const refused = stored === undefined ? undefined : tryReadDocument(stored.data, NO_KEYS)
  const kind = newest?.kind ?? refused?.kind
  if (kind === 'skill') return 'publish this skill again'
  return `run ${nameRemoval(place)} if the skill was removed on purpose`
}

/** Whether the newest version that agents accept is no removal. */
async function wasPublished(
  fleet: FleetConnection,
  engine: NatsEngine,
  place: { readonly channel: string; readonly skill: string },
): Promise<boolean> {
  const [newest] = await readRecords(fleet, engine, place)
  return newest?.kind === 'skill'
}

function nameRemoval({ channel, skill }: { readonly channel: string; readonly skill: string }): string {
  return `"stoke fleet remove ${skill} --channel ${channel}"`
}

function examineWaiting({ feed }: FleetConnection): readonly FleetFinding[] {
  const waiting = [...feed.waiting.values()]
  const listSubjects = (kind: VersionRecord['kind']): readonly string[] =>
    waiting.filter(({ document }) => document.kind === kind).map(({ message }) => message.subject)
  const describe = (subjects: readonly string[], fix: string): readonly FleetFinding[] => {
    if (subjects.length === 0) return []
    const message = `agents keep the earlier versions of ${describeSubjects(subjects)}, because the rest of the publication is missing`
    return [{ severity: 'warning', message, fix: `${fix}, unless their publication is still running` }]
  }
  return [
    ...describe(listSubjects('skill'), 'publish these skills again'),
    ...describe(listSubjects('removal'), 'remove these skills again, or publish again with --mirror'),
  ]
}

/** Finds heads that agents will refuse as soon as they trust only the key that has signed the epoch. */
function examineSigners({ feed }: FleetConnection): readonly FleetFinding[] {
  const { epoch, heads } = feed.state
  const current = epoch === undefined ? [] : listSigners(epoch.data)
  if (current.length === 0) return []
  const others = [...heads].filter(([, { data }]) => !listSigners(data).some(key => current.includes(key)))
  if (others.length === 0) return []
  const subjects = others.map(([subject]) => subject)
  return [
    {
      severity: 'warning',
      message: `${describeSubjects(subjects)}: not signed by the key of the epoch, ${current.join(', ')}`,
      fix: 'check these skills, then publish or promote them with this key before agents trust no other key',
    },
  ]
}

/** Finds markers without a document, which agents with trusted keys refuse, and messages of other programs. */
async function examineHeads(fleet: FleetConnection, engine: NatsEngine): Promise<readonly FleetFinding[]> {
  const findings: FleetFinding[] = []
  const foreign: string[] = []
  for await (const { messages } of engine.readFrom(HEADS, 1))
    for (const { subject, data, isMarker } of messages) {
      const place = parseHeadSubject(subject)
      const isStatement = parseListSubject(subject) ?? parsePublicationSubject(subject)
      if (place === undefined && isStatement === undefined && !OWN.includes(subject)) foreign.push(subject)
      const isEmpty = place !== undefined && isMarker && data.length === 0
      if (!isEmpty || !fleet.trusted.isRequired || !(await wasPublished(fleet, engine, place))) continue
      findings.push({
        severity: 'error',
        message: `${subject}: its removal is not signed, so agents keep the skill`,
        fix: `publish this skill again, or run ${nameRemoval(place)}`,
      })
    }
  return [...findings, ...describeForeign(HEADS, foreign)]
}

async function examineRecords({ trusted, feed }: FleetConnection, engine: NatsEngine) {
  const foreign: string[] = []
  const faults: string[] = []
  const newest = new Map<string, number>()
  const readRecord = ({ subject, data }: StoredMessage): VersionRecord => {
    const place = parseRecordSubject(subject)
    const { document } = readVersionAt(data, trusted, place)
    if (document.fleet !== feed.state.epoch?.document.id) throw new Error('it belongs to another fleet')
    if (document.version !== place?.version) throw new Error(`it is version ${document.version}`)
    return document
  }
  for await (const { messages } of engine.readFrom(RECORDS, 1))
    for (const message of messages) {
      const { subject } = message
      if (parseRecordSubject(subject) === undefined) {
        foreign.push(subject)
        continue
      }
      try {
        const { channel, skill, version } = readRecord(message)
        const head = toHeadSubject({ channel, skill, isStaged: false })
        newest.set(head, Math.max(newest.get(head) ?? 0, version))
      } catch (thrown) {
        faults.push(`${subject} (${toMessage(thrown)})`)
      }
    }
  const unreadable: FleetFinding = {
    severity: 'warning',
    message: `${RECORDS} has records that no log shows: ${describeSubjects(faults)}`,
  }
  return [
    ...describeForeign(RECORDS, foreign),
    ...(faults.length === 0 ? [] : [unreadable]),
    ...(await examineReplayed(trusted, engine, newest)),
  ]
}

/** Finds heads that are older than their newest records: another program has stored them again, or a backup was restored. */
async function examineReplayed(
  trusted: TrustedKeys,
  engine: NatsEngine,
  newest: ReadonlyMap<string, number>,
): Promise<readonly FleetFinding[]> {
  const findings: FleetFinding[] = []
  for await (const { messages } of engine.readFrom(HEADS, 1))
    for (const { subject, data } of messages) {
      const known = newest.get(subject) ?? 0
      const document = known === 0 ? undefined : tryReadDocument(data, trusted)
      if (document === undefined || !('version' in document) || document.version >= known) continue
      findings.push({
        severity: 'error',
        message: `${subject}: its version ${document.version} is older than ${known}, which was published later`,
        fix: 'publish or remove this skill again',
      })
    }
  return findings
}

function describeForeign(stream: string, subjects: readonly string[]): readonly FleetFinding[] {
  if (subjects.length === 0) return []
  const message = `${stream} has messages of other programs, which no agent reads: ${describeSubjects(subjects)}`
  return [{ severity: 'warning', message, fix: 'find out which program wrote them, and delete them' }]
}

function describeSubjects(subjects: readonly string[]): string {
  const more = subjects.length - SHOWN
  return `${subjects.slice(0, SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
