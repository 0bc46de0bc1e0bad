import { defined } from '@skillstoke/core/internal'
import type { FleetConnection } from './fleet-connection.ts'
import {
  BEAT_SCHEDULE_SUBJECT,
  BEAT_SUBJECT,
  EPOCH_SUBJECT,
  HEADS,
  type HeadPlace,
  isAnnouncementSubject,
  isStatementSubject,
  parseHeadSubject,
  RECORDS,
} from './fleet-subjects.ts'
import { type FleetDocument, listSigners, tryReadDocument, type VersionRecord } from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import { NO_KEYS } from './signing.ts'
import { type NewestRecords, readNewestRecords } from './version-log.ts'

/** Something that is wrong, or could be better. */
export interface FleetFinding {
  readonly severity: 'error' | 'warning'
  readonly message: string
  readonly fix?: string
}

/** Collects what an examination finds. */
export class FleetFindings {
  readonly all: FleetFinding[] = []

  error(message: string, fix?: string): void {
    this.all.push({ severity: 'error', message, ...defined({ fix }) })
  }

  warn(message: string, fix?: string): void {
    this.all.push({ severity: 'warning', message, ...defined({ fix }) })
  }
}

const SHOWN = 5
const OWN: readonly string[] = [EPOCH_SUBJECT, BEAT_SUBJECT, BEAT_SCHEDULE_SUBJECT]

/** Finds the messages that agents refuse or do not read: forged, foreign and unreadable ones. */
export async function examineMessages(
  fleet: FleetConnection,
  engine: NatsEngine,
  findings: FleetFindings,
): Promise<void> {
  const id = fleet.feed.state.epoch?.document.id ?? ''
  const { newest, foreign, faults } = await readNewestRecords(engine, fleet.trusted, id)
  await examineRefusals(fleet, engine, newest, findings)
  examineWaiting(fleet, findings)
  examineSigners(fleet, findings)
  await examineHeads(fleet, engine, newest, findings)
  warnOfForeign(RECORDS, foreign, findings)
  if (faults.length > 0)
    findings.warn(`${RECORDS} has records that no log shows: ${describeSubjects(faults)}`)
}

async function examineRefusals(
  { feed }: FleetConnection,
  engine: NatsEngine,
  newest: NewestRecords,
  findings: FleetFindings,
): Promise<void> {
  for (const [subject, { reason }] of feed.state.refusals) {
    const stored = await engine.readLast(HEADS, subject, 'leader')
    const refused = tryReadDocument(stored?.data, NO_KEYS)
    // The kind of a refused head decides only if no record is trusted, for example because another key has signed all of them.
    const kind = newest.get(subject)?.kind ?? refused?.kind
    findings.error(`${subject}: ${reason}`, adviseRefusal(subject, kind))
  }
}

/** Returns what to do about a refused document. What was removed on purpose is not published again. */
function adviseRefusal(subject: string, kind: FleetDocument['kind'] | undefined): string {
  const place = parseHeadSubject(subject)
  if (place === undefined) return 'run "stoke fleet init" with the signing key'
  if (kind === 'skill') return 'publish this skill again'
  return `run ${nameRemoval(place)} if the skill was removed on purpose`
}

function nameRemoval({ channel, skill }: HeadPlace): string {
  return `"stoke fleet remove ${skill} --channel ${channel}"`
}

function examineWaiting({ feed }: FleetConnection, findings: FleetFindings): void {
  const warn = (kind: VersionRecord['kind'], fix: string): void => {
    const waiting = [...feed.waiting.values()].filter(({ document }) => document.kind === kind)
    if (waiting.length === 0) return
    const subjects = describeSubjects(waiting.map(({ message }) => message.subject))
    findings.warn(
      `agents keep the earlier versions of ${subjects}, because the rest of the publication is missing`,
      `${fix}, unless their publication is still running`,
    )
  }
  warn('skill', 'publish these skills again')
  warn('removal', 'remove these skills again, or publish again with --mirror')
}

/** Finds heads that agents will refuse as soon as they trust only the key that has signed the epoch. */
function examineSigners({ feed }: FleetConnection, findings: FleetFindings): void {
  const { epoch, heads } = feed.state
  const current = listSigners(epoch?.data)
  if (current.length === 0) return
  const others = [...heads].filter(([, { data }]) => !listSigners(data).some(key => current.includes(key)))
  if (others.length === 0) return
  const subjects = describeSubjects(others.map(([subject]) => subject))
  findings.warn(
    `${subjects}: not signed by the key of the epoch, ${current.join(', ')}`,
    'check these skills, then publish or promote them with this key before agents trust no other key',
  )
}

/**
 * Finds markers without a document, which agents with trusted keys refuse, heads that are older than their newest records,
 * and messages of other programs. An older head was stored again by another program, or a backup was restored.
 */
async function examineHeads(
  { trusted }: FleetConnection,
  engine: NatsEngine,
  newest: NewestRecords,
  findings: FleetFindings,
): Promise<void> {
  const foreign: string[] = []
  for await (const { subject, data, isMarker } of engine.readFrom(HEADS, 1)) {
    const place = parseHeadSubject(subject)
    if (place === undefined) {
      const isOwn = isStatementSubject(subject) || isAnnouncementSubject(subject) || OWN.includes(subject)
      if (!isOwn) foreign.push(subject)
      continue
    }
    const known = newest.get(subject)
    if (known === undefined) continue
    if (isMarker && data.length === 0 && trusted.isRequired && known.kind === 'skill')
      findings.error(
        `${subject}: its removal is not signed, so agents keep the skill`,
        `publish this skill again, or run ${nameRemoval(place)}`,
      )
    const document = tryReadDocument(data, trusted)
    if (document !== undefined && 'skill' in document && document.version < known.version)
      findings.error(
        `${subject}: its version ${document.version} is older than ${known.version}, which was published later`,
        'publish or remove this skill again',
      )
  }
  warnOfForeign(HEADS, foreign, findings)
}

function warnOfForeign(stream: string, subjects: readonly string[], findings: FleetFindings): void {
  if (subjects.length === 0) return
  findings.warn(
    `${stream} has messages of other programs, which no agent reads: ${describeSubjects(subjects)}`,
    'find out which program wrote them, and delete them',
  )
}

function describeSubjects(subjects: readonly string[]): string {
  const more = subjects.length - SHOWN
  return `${subjects.slice(0, SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
