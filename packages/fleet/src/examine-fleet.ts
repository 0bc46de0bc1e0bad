import { type Digest, SkillError } from '@skillstoke/core'
import {
  checkOptions,
  digestOf,
  type KnownOptions,
  mapConcurrently,
  toMessage,
} from '@skillstoke/core/internal'
import { nodeHasher } from '@skillstoke/core/node'
import { piecesOf } from './blobs.ts'
import { examineMessages, type FleetFinding, FleetFindings } from './examine-messages.ts'
import type { FleetConnection } from './fleet-connection.ts'
import { describeStreams, describeWeakness, findDifferences, readReplicas } from './fleet-layout.ts'
import { BEAT_SCHEDULE_SUBJECT, BEAT_SUBJECT, BLOBS, HEADS, toBlobSubject } from './fleet-subjects.ts'
import type { NatsEngine } from './nats-engine.ts'
import { findRestoredBackup } from './restored-backup.ts'
import { NEVER } from './retries.ts'

export interface FleetExamination {
  readonly servers: string
  readonly serverVersion: string
  /** How many published skills were examined, in all channels. */
  readonly skills: number
  /** How many pieces of files were looked up. */
  readonly pieces: number
  readonly findings: readonly FleetFinding[]
}

export interface ExamineOptions {
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void
}

const KNOWN: KnownOptions<ExamineOptions> = { onProgress: true }
const AT_ONCE = 64
const REPAIR = 'run "stoke fleet init"'
/** The server stores a beat every second. */
const OLD_BEAT_MS = 10_000

/**
 * Examines a fleet: the servers, the streams, the epoch, the signatures of all heads, and whether the files of all heads
 * are stored. Changes nothing. Needs the permissions of an administrator.
 * @throws {SkillError} IO_FAILED if the servers do not answer
 *
 * @example
 * ```ts no-run
 * import { examineFleet, FleetConnection } from '@skillstoke/fleet'
 *
 * await using fleet = new FleetConnection({ servers: 'nats://127.0.0.1:4222' })
 * for (const { severity, message } of (await examineFleet(fleet)).findings) console.log(severity, message)
 * ```
 */
export async function examineFleet(
  fleet: FleetConnection,
  options: ExamineOptions = {},
): Promise<FleetExamination> {
  checkOptions('examineFleet()', options, KNOWN)
  const engine = await fleet.open()
  const findings = new FleetFindings()
  const replicas = await examineStreams(engine, findings)
  // Without streams, nothing is stored at all.
  const shown = replicas === 0 ? 3 : replicas
  for (const message of describeWeakness(engine, shown, fleet.trusted.isRequired)) findings.warn(message)
  let [skills, pieces] = [0, 0]
  if (replicas > 0) {
    await examineBeat(engine, findings)
    const restored = await findRestoredBackup(fleet)
    // A report is a claim of one host.
    if (restored !== undefined) findings.warn(restored)
    try {
      await fleet.feed.reload()
    } catch (thrown) {
      if (!SkillError.isInstance(thrown)) throw thrown
      findings.error(toMessage(thrown))
    }
    await examineMessages(fleet, engine, findings)
    skills = fleet.feed.state.heads.size
    pieces = await examineFiles(fleet, engine, findings, options)
  }
  return { servers: fleet.address, serverVersion: engine.version, skills, pieces, findings: findings.all }
}

/** Returns how many servers store the heads; 0 if a stream is missing. */
async function examineStreams(engine: NatsEngine, findings: FleetFindings): Promise<number> {
  const heads = await engine.describeStream(HEADS)
  const replicas = readReplicas(heads) ?? 0
  let isComplete = heads !== undefined
  for (const config of describeStreams(engine, Math.max(1, replicas))) {
    const stream = await engine.describeStream(config.name)
    if (stream === undefined) {
      isComplete = false
      findings.error(`the stream ${config.name} is missing`, REPAIR)
      continue
    }
    const differing = findDifferences(config, stream)
    if (differing.length > 0)
      findings.error(`the stream ${config.name} has other settings: ${differing.join(', ')}`, REPAIR)
    const { leader, replicas: others = [] } = stream.cluster ?? {}
    if (stream.cluster !== undefined && leader === undefined)
      findings.error(`the stream ${config.name} has no leader`)
    for (const { name, current } of others)
      if (!current) findings.error(`the replica of ${config.name} on ${name} is not up to date`)
  }
  return isComplete ? replicas : 0
}

async function examineBeat(engine: NatsEngine, findings: FleetFindings): Promise<void> {
  if (!engine.features.schedules) return
  const beat = await engine.readLast(HEADS, BEAT_SUBJECT, 'leader')
  // The first beat comes a second after its schedule.
  const newest = beat ?? (await engine.readLast(HEADS, BEAT_SCHEDULE_SUBJECT, 'leader'))
  const time = (await engine.readTime(HEADS)) ?? Date.now()
  const ageMs = newest === undefined ? Infinity : time - newest.at
  if (ageMs < OLD_BEAT_MS) return
  const message =
    beat === undefined ? 'there is no beat' : `the last beat is ${Math.round(ageMs / 1_000)} s old`
  findings.error(message, `${REPAIR}, and compare the clocks`)
}

async function examineFiles(
  fleet: FleetConnection,
  engine: NatsEngine,
  findings: FleetFindings,
  { onProgress }: ExamineOptions,
): Promise<number> {
  const owners = new Map<Digest, string>()
  for (const { channel, skill, manifest } of fleet.feed.state.heads.values())
    for (const file of manifest.files)
      for (const digest of piecesOf(file)) owners.set(digest, `${channel}/${skill}: ${file.path}`)
  let done = 0
  const examine = async ([digest, owner]: readonly [Digest, string]): Promise<void> => {
    const stored = await engine.readLast(BLOBS, toBlobSubject(digest), 'any')
    if (stored === undefined || digestOf(stored.data, nodeHasher) !== digest)
      findings.error(
        `${owner} has ${stored === undefined ? 'no' : 'other'} content`,
        `${stored === undefined ? '' : 'run "stoke fleet gc", then '}publish this skill again`,
      )
    onProgress?.({ done: ++done, total: owners.size })
  }
  await mapConcurrently([...owners], examine, AT_ONCE, NEVER)
  return owners.size
}
