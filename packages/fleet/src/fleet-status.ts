import type { Digest } from '@skillstoke/core'
import { checkOptions, defined, type KnownOptions } from '@skillstoke/core/internal'
import { type AgentReport, compareAgents, MAX_DIFFERS, readReports } from './agent-report.ts'
import { compareNames } from './channel-change.ts'
import { digestOfSet, type Head, listHeads } from './feed-state.ts'
import type { FleetConnection } from './fleet-connection.ts'
import { describeAwaited } from './fleet-source.ts'
import { checkChannel, DEFAULT_CHANNEL } from './fleet-subjects.ts'

export interface FleetStatusOptions {
  /** @default 'stable' */
  readonly channel?: string
}

const KNOWN: KnownOptions<FleetStatusOptions> = { channel: true }

/** The values of `AgentState`. */
export const AGENT_STATES = ['current', 'behind', 'held', 'stale'] as const

/**
 * How an agent stands to its channel. `current`: serves what was published. `behind`: serves something else. `held`: has
 * received everything, but a revision waits for approval or was rejected. `stale`: has no contact to the servers.
 */
export type AgentState = (typeof AGENT_STATES)[number]

/** The newest report of one agent. */
export interface AgentStatus extends AgentReport {
  readonly state: AgentState
  /** Whether `differs` names every difference. Longer lists are cut, and older agents report none. */
  readonly namesAllDifferences: boolean
  /** Whether the agent keeps the skills of an earlier epoch until the channel is filled. */
  readonly isAwaiting: boolean
  /** Milliseconds since the report. */
  readonly ageMs: number
}

/** One published skill. */
export interface FleetSkillStatus {
  readonly name: string
  readonly version: number
  readonly revision: Digest
  readonly publisher: string
  /** Wall time of the commit, in milliseconds since the epoch. */
  readonly at: number
  readonly note?: string
}

/** The state of a channel and of its agents at one moment. */
export interface FleetReport {
  readonly channel: string
  readonly servers: string
  readonly serverVersion: string
  readonly epoch: number
  readonly seq: number
  /** Digest of what the channel has. The same digest in an agent means that the agent serves the same revisions. */
  readonly digest: Digest
  /** Sorted by name. */
  readonly skills: readonly FleetSkillStatus[]
  /** Agents of this channel, sorted by host and name. */
  readonly agents: readonly AgentStatus[]
  readonly counts: Readonly<Record<AgentState, number>>
  /** All channels with skills or agents. */
  readonly channels: readonly string[]
  /** Heads that were refused, for example because of their signature. */
  readonly refusals: readonly { readonly subject: string; readonly reason: string }[]
}

/**
 * Reads who runs what in a channel. Agents that have not reported for 60 seconds are not listed.
 *
 * @example
 * ```ts no-run
 * import { FleetConnection, FleetStatus } from '@skillstoke/fleet'
 *
 * await using fleet = new FleetConnection({ servers: 'nats://127.0.0.1:4222' })
 * const { agents } = await new FleetStatus(fleet).read()
 * for (const { host, agent, state, lagMs } of agents) console.log(host, agent, state, lagMs)
 * ```
 */
export class FleetStatus {
  readonly #fleet: FleetConnection
  readonly #channel: string

  /** @throws {SkillError} INVALID_OPTION */
  constructor(fleet: FleetConnection, options: FleetStatusOptions = {}) {
    checkOptions('FleetStatus', options, KNOWN)
    this.#fleet = fleet
    this.#channel = options.channel ?? DEFAULT_CHANNEL
    checkChannel(this.#channel)
  }

  /** @throws {SkillError} IO_FAILED if the servers do not answer */
  async read(): Promise<FleetReport> {
    const { feed, address } = this.#fleet
    await feed.reload()
    const engine = await this.#fleet.open()
    const all = await readReports(engine)
    const { state } = feed
    const heads = listHeads(state, this.#channel)
    const digest = digestOfSet(
      heads.map(({ skill, manifest }) => ({ name: skill, revision: manifest.revision })),
    )
    const agents = all
      .filter(({ channel }) => channel === this.#channel)
      .map(report => ({
        ...report,
        state: stateOf(report, digest),
        namesAllDifferences: report.digest === digest || (report.differs?.length ?? Infinity) < MAX_DIFFERS,
        isAwaiting: report.errors.some(error => error.includes(describeAwaited(this.#channel))),
        ageMs: Math.max(0, Date.now() - report.at),
      }))
      .sort(compareAgents)
    const count = (wanted: AgentState): number => agents.filter(each => each.state === wanted).length
    return {
      channel: this.#channel,
      servers: address,
      serverVersion: engine.version,
      epoch: state.epoch?.document.epoch ?? 0,
      seq: state.seq,
      digest,
      skills: heads.map(toSkillStatus).sort(compareNames),
      agents,
      counts: {
        current: count('current'),
        behind: count('behind'),
        held: count('held'),
        stale: count('stale'),
      },
      channels: [...new Set([...state.heads.values(), ...all].map(({ channel }) => channel))].sort(),
      refusals: [...state.refusals].map(([subject, { reason }]) => ({ subject, reason })),
    }
  }
}

function toSkillStatus({ skill, at, manifest }: Head): FleetSkillStatus {
  const { version, revision, publisher, note } = manifest
  const committedAt = at === 0 ? Date.parse(manifest.at) : at
  return { name: skill, version, revision, publisher, at: committedAt, ...defined({ note }) }
}

function stateOf({ digest, held, staleSince }: AgentReport, expected: Digest): AgentState {
  if (staleSince !== undefined) return 'stale'
  if (digest === expected) return 'current'
  return held > 0 ? 'held' : 'behind'
}
