import { SkillError } from '@skillstoke/core'
import { checkOptions, type KnownOptions, whole } from '@skillstoke/core/internal'
import type { FleetConnection } from './fleet-connection.ts'
import {
  AGENTS,
  ALL_AGENTS,
  ALL_BLOBS,
  ALL_HEADS,
  ALL_LIVE,
  ALL_RECORDS,
  BEAT_SCHEDULE_SUBJECT,
  BEAT_SUBJECT,
  BLOBS,
  HEADS,
  RECORDS,
} from './fleet-subjects.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StreamConfig, StreamDescription } from './nats-messages.ts'
import { prepareChannels, prepareEpoch } from './prepare-epoch.ts'
import { NEVER, retrying } from './retries.ts'
import { isAtLeast, RECOMMENDED_SERVER } from './server-version.ts'
import type { ManifestSigner } from './signing.ts'

const SECOND_NS = 1e9
/** How long the server keeps the marker of a removed skill. */
export const MARKER_SECONDS: number = 30 * 86_400
/** An agent that has not reported for this time is gone. */
export const PRESENCE_SECONDS = 60
const MAX_REPORT_BYTES = 65_536

export interface PrepareFleetOptions {
  /** How many servers store each message: 1, 3 or 5. @default 3 in a cluster, otherwise 1 */
  readonly replicas?: number
  /** Signs the epoch. Needed if agents trust only signed documents. */
  readonly signer?: ManifestSigner
  /**
   * Raises the epoch, and says that each channel has the skills that its stream contains now. All agents read everything
   * again. Needed after the streams were restored from a backup.
   * @default false
   */
  readonly isNewEpoch?: boolean
  /** Changes nothing, and reports what would change. @default false */
  readonly isDryRun?: boolean
}

const KNOWN: KnownOptions<PrepareFleetOptions> = {
  replicas: whole(1, 5),
  signer: true,
  isNewEpoch: true,
  isDryRun: true,
}

/** What `prepareFleet()` did to one part of the layout. */
export interface LayoutStep {
  /** Name of the stream, or `epoch`, `beat`, `removals`, or the list of a channel. */
  readonly part: string
  readonly outcome: 'created' | 'changed' | 'unchanged'
  readonly detail?: string
}

export interface LayoutReport {
  /** Version of the server. */
  readonly server: string
  readonly epoch: number | undefined
  readonly steps: readonly LayoutStep[]
  /** What works less well than it could, for example because the server is old. */
  readonly warnings: readonly string[]
}

/**
 * Creates the streams of a fleet, or brings existing streams to the expected settings. Idempotent. Existing skills stay.
 * @throws {SkillError} IO_FAILED if the server refuses, or a stream has settings that cannot be changed
 *
 * @example
 * ```ts no-run
 * import { FleetConnection, prepareFleet } from '@skillstoke/fleet'
 *
 * await using fleet = new FleetConnection({ servers: 'nats://127.0.0.1:4222' })
 * const { steps } = await prepareFleet(fleet)
 * for (const { part, outcome } of steps) console.log(part, outcome)
 * ```
 */
export async function prepareFleet(
  fleet: FleetConnection,
  options: PrepareFleetOptions = {},
): Promise<LayoutReport> {
  checkOptions('prepareFleet()', options, KNOWN)
  const { isDryRun = false } = options
  const engine = await fleet.open()
  // The servers of a fresh cluster need seconds to find each other and to elect leaders.
  const ready = async <T>(work: () => Promise<T>): Promise<T> =>
    engine.isClustered ? await retrying(NEVER, work) : await work()
  const existing = await ready(async () => await engine.describeStream(HEADS))
  const replicas = options.replicas ?? readReplicas(existing) ?? (engine.isClustered ? 3 : 1)
  if (replicas > 1 && !engine.isClustered)
    throw new SkillError(
      'INVALID_OPTION',
      `replicas is ${replicas}, and ${fleet.address} runs alone; use 1, or start three servers`,
    )
  const steps: LayoutStep[] = []
  for (const config of describeStreams(engine, replicas))
    steps.push(await ready(async () => await prepareStream(engine, config, isDryRun)))
  const isCreated = steps.some(({ part, outcome }) => part === HEADS && outcome === 'created')
  const epochOptions = { ...options, isMissing: isCreated && isDryRun }
  const epoch = await ready(async () => await prepareEpoch(fleet, engine, epochOptions))
  steps.push(epoch.step)
  const { document } = epoch
  if (!isDryRun && document !== undefined)
    steps.push(...(await ready(async () => await prepareChannels(fleet, engine, document, options.signer))))
  if (engine.features.schedules)
    steps.push(await ready(async () => await prepareBeat(engine, isDryRun, isCreated)))
  return {
    server: engine.version,
    epoch: epoch.document?.epoch,
    steps,
    warnings: describeWeakness(engine, replicas, fleet.trusted.isRequired),
  }
}

export function readReplicas(stream: StreamDescription | undefined): number | undefined {
  const replicas = stream?.config['num_replicas']
  return typeof replicas === 'number' ? replicas : undefined
}

/** Returns what is missing in a server, for people. */
export function describeWeakness(engine: NatsEngine, replicas: number, isSigned: boolean): readonly string[] {
  const { version, features } = engine
  const warnings: string[] = []
  if (!isAtLeast(version, RECOMMENDED_SERVER))
    warnings.push(
      `nats-server ${version} lacks current security fixes${features.batchGet ? '' : ', reads in batches'}, atomic batches and expiring markers; use ${RECOMMENDED_SERVER} or newer`,
    )
  if (!features.schedules)
    warnings.push(
      'this server sends no beat (nats-server 2.14 does), so a cut-off server is noticed after up to 30 s',
    )
  if (replicas < 3)
    warnings.push(
      `each message is on ${replicas === 1 ? 'one server' : `${replicas} servers`}; use 3 in production`,
    )
  if (!isSigned) warnings.push('signatures are not checked; name trusted keys in production')
  return warnings
}

/** The settings of all streams. */
export function describeStreams({ features }: NatsEngine, replicas: number): readonly StreamConfig[] {
  const common = { num_replicas: replicas, storage: 'file', allow_direct: true }
  const expiring = features.batchGet
    ? { allow_msg_ttl: true, subject_delete_marker_ttl: MARKER_SECONDS * SECOND_NS }
    : {}
  return [
    {
      ...common,
      ...expiring,
      name: HEADS,
      subjects: [ALL_HEADS],
      max_msgs_per_subject: 1,
      allow_rollup_hdrs: true,
      republish: { src: ALL_HEADS, dest: ALL_LIVE },
      ...(features.atomicBatch ? { allow_atomic: true } : {}),
      ...(features.schedules ? { allow_msg_schedules: true } : {}),
    },
    { ...common, name: RECORDS, subjects: [ALL_RECORDS], max_msgs_per_subject: 1 },
    { ...common, name: BLOBS, subjects: [ALL_BLOBS], max_msgs_per_subject: 1 },
    {
      ...common,
      name: AGENTS,
      subjects: [ALL_AGENTS],
      // A single server forgets a stream in its memory when it ends.
      storage: replicas < 3 ? 'file' : 'memory',
      num_replicas: Math.min(replicas, 3),
      max_msgs_per_subject: 1,
      max_age: PRESENCE_SECONDS * SECOND_NS,
      max_msg_size: MAX_REPORT_BYTES,
      // A report with the header of a rollup would remove the reports of all other agents.
      allow_rollup_hdrs: false,
    },
  ]
}

async function prepareStream(
  engine: NatsEngine,
  config: StreamConfig,
  isDryRun: boolean,
): Promise<LayoutStep> {
  const { name: part } = config
  const existing = await engine.describeStream(part)
  if (existing === undefined) {
    if (!isDryRun) await engine.writeStream('CREATE', config)
    return { part, outcome: 'created' }
  }
  const differing = findDifferences(config, existing)
  if (differing.length === 0) return { part, outcome: 'unchanged' }
  if (!isDryRun)
    await engine.writeStream('UPDATE', { ...existing.config, ...config, storage: existing.config['storage'] })
  return { part, outcome: 'changed', detail: differing.join(', ') }
}

/** Returns the names of the settings that differ from the expected ones. */
export function findDifferences(
  config: StreamConfig,
  { config: actual }: StreamDescription,
): readonly string[] {
  return Object.keys(config).filter(key => {
    if (key === 'storage') return false // cannot be changed
    const [wanted, found] = [config[key], actual[key]]
    return (
      JSON.stringify(wanted) !== JSON.stringify(found ?? (typeof wanted === 'boolean' ? false : undefined))
    )
  })
}

async function prepareBeat(engine: NatsEngine, isDryRun: boolean, isCreated: boolean): Promise<LayoutStep> {
  const part = 'beat'
  const existing =
    isCreated && isDryRun ? undefined : await engine.readLast(HEADS, BEAT_SCHEDULE_SUBJECT, 'leader')
  if (existing !== undefined) return { part, outcome: 'unchanged' }
  if (!isDryRun) await engine.storeSchedule(BEAT_SCHEDULE_SUBJECT, BEAT_SUBJECT, '1s')
  return { part, outcome: 'created' }
}
