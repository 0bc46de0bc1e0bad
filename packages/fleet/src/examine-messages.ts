import { toMessage } from '@skillstoke/core/internal'
import type { FleetFinding } from './examine-fleet.ts'
import type { FleetConnection } from './fleet-connection.ts'
import {
  BEAT_SCHEDULE_SUBJECT,
  BEAT_SUBJECT,
  EPOCH_SUBJECT,
  HEADS,
  isAnnouncementSubject,
  isStatementSubject,
  parseHeadSubject,
  parseRecordSubject,
  RECORDS,
  toHeadSubject,
} from './fleet-subjects.ts'
import {
  type FleetDocument,
  listSigners,
  readVersionAt,
  tryReadDocument,
  type VersionRecord,
} from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import { NO_KEYS } from './signing.ts'

const SHOWN = 5
const OWN: readonly string[] = [EPOCH_SUBJECT, BEAT_SUBJECT, BEAT_SCHEDULE_SUBJECT]

/** The newest version of each skill in its records, by the subject of its head. */
type NewestRecords = ReadonlyMap<string, VersionRecord>

/** Finds the messages that agents refuse or do not read: forged, foreign and unreadable ones. */
export async function examineMessages(
  fleet: FleetConnection,
  engine: NatsEngine,
): Promise<readonly FleetFinding[]> {
  const { newest, findings } = await examineRecords(fleet, engine)
  return [
    ...(await examineRefusals(fleet, engine, newest)),
    ...examineWaiting(fleet),
    ...examineSigners(fleet),
    ...(await examineHeads(fleet, engine, newest)),
    ...findings,
  ]
}

async function examineRefusals(
  { feed }: FleetConnection,
  engine: NatsEngine,
  newest: NewestRecords,
): Promise<readonly FleetFinding[]> {
  const findings: FleetFinding[] = []
  for (const [subject, { reason }] of feed.state.refusals) {
    const stored = await engine.readLast(HEADS, subject, 'leader')
    const refused = stored === undefined ? undefined : tryReadDocument(stored.data, NO_KEYS)
    // The kind of a refused head decides only if no record is trusted, for example because another key has signed all of them.
    const kind = newest.get(subject)?.kind ?? refused?.kind
    findings.push({ severity: 'error', message: `${subject}: ${reason}`, fix: adviseRefusal(subject, kind) })
  }
  return findings
}

/** Returns what to do about a refused document. What was removed on purpose is not published again. */
function adviseRefusal(subject: string, kind: FleetDocument['kind'] | undefined): string {
  const place = parseHeadSubject(subject)
  if (place === undefined) return 'run "stoke fleet init" with the signing key'
  if (kind === 'skill') return 'publish this skill again'
  return `run ${nameRemoval(place)} if the skill was removed on purpose`
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

/**
 * Finds markers without a document, which agents with trusted keys refuse, heads that are older than their newest records,
 * and messages of other programs. An older head was stored again by another program, or a backup was restored.
 */
async function examineHeads(
  { trusted }: FleetConnection,
  engine: NatsEngine,
  newest: NewestRecords,
): Promise<readonly FleetFinding[]> {
  const findings: FleetFinding[] = []
  const foreign: string[] = []
  for await (const { messages } of engine.readFrom(HEADS, 1))
    for (const { subject, data, isMarker } of messages) {
      const place = parseHeadSubject(subject)
      if (place === undefined) {
        const isOwn = isStatementSubject(subject) || isAnnouncementSubject(subject) || OWN.includes(subject)
        if (!isOwn) foreign.push(subject)
        continue
      }
      const known = newest.get(subject)
      if (isMarker && data.length === 0 && trusted.isRequired && known?.kind === 'skill')
        findings.push({
          severity: 'error',
          message: `${subject}: its removal is not signed, so agents keep the skill`,
          fix: `publish this skill again, or run ${nameRemoval(place)}`,
        })
      const document = known === undefined ? undefined : tryReadDocument(data, trusted)
      if (document === undefined || !('skill' in document) || document.version >= (known?.version ?? 0))
        continue
      findings.push({
        severity: 'error',
        message: `${subject}: its version ${document.version} is older than ${known?.version}, which was published later`,
        fix: 'publish or remove this skill again',
      })
    }
  return [...findings, ...describeForeign(HEADS, foreign)]
}

/** Reads all records. Finds those that no log shows, and messages of other programs. */
async function examineRecords(
  { trusted, feed }: FleetConnection,
  engine: NatsEngine,
): Promise<{ readonly newest: NewestRecords; readonly findings: readonly FleetFinding[] }> {
  const foreign: string[] = []
  const faults: string[] = []
  const newest = new Map<string, VersionRecord>()
  for await (const { messages } of engine.readFrom(RECORDS, 1))
    for (const { subject, data } of messages) {
      const place = parseRecordSubject(subject)
      if (place === undefined) {
        foreign.push(subject)
        continue
      }
      try {
        const { document } = readVersionAt(data, trusted, place)
        if (document.fleet !== feed.state.epoch?.document.id) throw new Error('it belongs to another fleet')
        if (document.version !== place.version) throw new Error(`it is version ${document.version}`)
        const head = toHeadSubject(place)
        if ((newest.get(head)?.version ?? 0) < document.version) newest.set(head, document)
      } catch (thrown) {
        faults.push(`${subject} (${toMessage(thrown)})`)
      }
    }
  const unreadable: FleetFinding = {
    severity: 'warning',
    message: `${RECORDS} has records that no log shows: ${describeSubjects(faults)}`,
  }
  return {
    newest,
    findings: [...describeForeign(RECORDS, foreign), ...(faults.length === 0 ? [] : [unreadable])],
  }
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
