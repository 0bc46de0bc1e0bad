import { type Digest, SkillError } from '@skillstoke/core'
import { decodeUnmarkedText } from '@skillstoke/core/internal'
import { AGENTS, isChannel, toAgentSubject } from './fleet-subjects.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'

/** What one process reports about itself. */
export interface AgentReport {
  readonly host: string
  readonly agent: string
  /** Differs between two processes with the same name. */
  readonly instance: string
  readonly pid: number
  readonly channel: string
  /** Digest of the names and revisions of the skills of the fleet that the process serves. */
  readonly digest: Digest
  /** How many skills of the fleet the process serves. */
  readonly skills: number
  /** How many newer revisions wait for approval, or were rejected. */
  readonly held: number
  /**
   * Skills that the process serves otherwise than its channel has them, with the served revision; null if the process does
   * not serve the skill. At most 50, sorted by name.
   */
  readonly differs?: readonly { readonly skill: string; readonly revision: Digest | null }[]
  /** The generation of the process, which includes its other sources. */
  readonly generation: { readonly number: number; readonly digest: string }
  /** Epoch and sequence that the process has received. */
  readonly epoch?: number
  readonly seq: number
  /** Id of the coming publication whose files are all on this machine. */
  readonly prefetched?: string
  /**
   * Milliseconds from the last commit until the process served it. Contains the difference between the clocks of the
   * server and of this machine.
   */
  readonly lagMs?: number
  /** Wall time since which the process may miss changes, in milliseconds since the epoch. */
  readonly staleSince?: number
  readonly sandbox?: string
  /** Errors of the source, for people. At most five. */
  readonly errors: readonly string[]
  /** Wall time of the report, in milliseconds since the epoch. */
  readonly at: number
}

export const MAX_ERRORS = 5
export const MAX_DIFFERS = 50
/** Longest text in a report, in characters. */
export const MAX_TEXT = 1_000
const LAST_TIME = 8.64e15

type Check = (value: unknown) => boolean

const isText: Check = value => typeof value === 'string' && value.length <= MAX_TEXT
const isNumber: Check = value => typeof value === 'number' && value >= 0 && value <= LAST_TIME
const isDigest: Check = value => typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value)
const isErrors: Check = value =>
  Array.isArray(value) && value.length <= MAX_ERRORS && value.every(each => isText(each))
const isDiffers: Check = value =>
  Array.isArray(value) &&
  value.length <= MAX_DIFFERS &&
  value.every(each => isText(each?.skill) && (each.revision === null || isDigest(each.revision)))
const orAbsent =
  (check: Check): Check =>
  value =>
    value === undefined || check(value)

const CHECKS: Readonly<Record<keyof AgentReport, Check>> = {
  host: isText,
  agent: isText,
  instance: isText,
  pid: isNumber,
  channel: value => typeof value === 'string' && isChannel(value),
  digest: isDigest,
  skills: isNumber,
  held: isNumber,
  differs: orAbsent(isDiffers),
  generation: value => {
    const { number, digest } = (value ?? {}) as Readonly<Record<string, unknown>>
    return isNumber(number) && isText(digest)
  },
  epoch: orAbsent(isNumber),
  seq: isNumber,
  prefetched: orAbsent(isText),
  lagMs: orAbsent(isNumber),
  staleSince: orAbsent(isNumber),
  sandbox: orAbsent(isText),
  errors: isErrors,
  at: isNumber,
}

/**
 * Reads the newest reports of all agents. A fleet without the stream of the reports has none.
 * @param most how many messages are read
 */
export async function readReports(
  engine: NatsEngine,
  most: number = Infinity,
): Promise<readonly AgentReport[]> {
  // A report that arrives while others are read replaces the earlier one.
  const reports = new Map<string, AgentReport | undefined>()
  let count = 0
  try {
    for await (const message of engine.readFrom(AGENTS, 1)) {
      reports.set(message.subject, readReport(message))
      if (++count === most) break
    }
  } catch (thrown) {
    if (!SkillError.isInstance(thrown, 'IO_FAILED') || thrown.data['isMissing'] !== true) throw thrown
  }
  return [...reports.values()].filter(report => report !== undefined)
}

/**
 * Reads the report of another machine. Returns `undefined` unless each field is valid, and the report names the host and the
 * agent of its subject: the server permits each host only its own subjects.
 */
function readReport({ subject, data, isMarker }: StoredMessage): AgentReport | undefined {
  if (isMarker) return undefined
  const value = parseObject(data)
  const isValid = Object.entries(CHECKS).every(([field, check]) => check(value[field]))
  const report = value as unknown as AgentReport
  return isValid && toAgentSubject(report.host, report.agent) === subject ? report : undefined
}

function parseObject(data: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(decodeUnmarkedText(data)))
  } catch {
    return {}
  }
}

/** Compares two agents by their hosts and names. */
export function compareAgents(a: AgentReport, b: AgentReport): number {
  return `${a.host} ${a.agent}` < `${b.host} ${b.agent}` ? -1 : 1
}
