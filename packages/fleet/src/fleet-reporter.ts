import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { SkillError, type SkillReport, type SkillRuntime } from '@skillstoke/core'
import {
  checkOptions,
  compareText,
  defined,
  isError,
  type KnownOptions,
  quote,
} from '@skillstoke/core/internal'
import { type AgentReport, MAX_DIFFERS, MAX_ERRORS, MAX_TEXT } from './agent-report.ts'
import { digestOfSet, listHeads } from './feed-state.ts'
import type { FleetConnection } from './fleet-connection.ts'
import type { FleetSource } from './fleet-source.ts'
import { toAgentSubject, toAnnouncementSubject } from './fleet-subjects.ts'

export interface FleetReporterOptions {
  /** The runtime that serves the skills of the source. */
  readonly runtime: SkillRuntime
  /** @default the name of this machine */
  readonly host?: string
  /** Name of this process, unique on its host. @default 'agent-' and the process id */
  readonly agent?: string
  /** How scripts are contained on this machine, for people. @default not reported */
  readonly sandbox?: string
}

const KNOWN: KnownOptions<FleetReporterOptions> = {
  runtime: true,
  host: true,
  agent: true,
  sandbox: true,
}

const REPEAT_MS = 20_000
const COLLECT_MS = 200
const MAX_NAME = 200

/**
 * Reports to the fleet what this process serves: after each change, and every 20 seconds. A process that ends without
 * `close()` disappears from the status after 60 seconds.
 *
 * @example
 * ```ts no-run
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { FleetReporter, fleetSource } from '@skillstoke/fleet'
 *
 * const source = fleetSource('nats://127.0.0.1:4222')
 * await using runtime = await createSkillRuntime({ sources: [source] })
 * await using reporter = new FleetReporter(source, { runtime, agent: 'support-1' })
 * console.log(reporter.report.digest)
 * ```
 */
export class FleetReporter implements AsyncDisposable {
  readonly #source: FleetSource
  readonly #fleet: FleetConnection
  readonly #options: FleetReporterOptions
  readonly #identity: Pick<AgentReport, 'host' | 'agent' | 'instance' | 'pid' | 'channel'>
  readonly #subject: string
  readonly #unsubscribe: (() => void)[]
  readonly #timer: NodeJS.Timeout
  #soon: NodeJS.Timeout | undefined
  /** Sequence of the newest head whose version was served. What was published before the start has no delay. */
  #servedSeq: number
  #lagMs: number | undefined
  /** Names of the skills whose newest revision was held at the last report. */
  #held: ReadonlySet<string> = new Set()
  #isClosed = false

  /** @throws {SkillError} INVALID_OPTION if the runtime has no such source */
  constructor(source: FleetSource, options: FleetReporterOptions) {
    checkOptions('FleetReporter', options, KNOWN)
    for (const name of ['host', 'agent'] as const) checkName(name, options[name])
    const fleet = source.connection
    this.#source = source
    this.#fleet = fleet
    this.#options = options
    const { pid } = process
    const { host = hostname(), agent = `agent-${pid}` } = options
    this.#identity = { host, agent, instance: randomUUID(), pid, channel: source.channel }
    this.#subject = toAgentSubject(host, agent)
    const labels = options.runtime.status().map(({ label }) => label)
    if (!labels.includes(source.label))
      throw new SkillError(
        'INVALID_OPTION',
        `the runtime has no source ${quote(source.label)}; its sources are: ${labels.join(', ')}`,
      )
    this.#servedSeq = fleet.feed.state.seq
    this.#unsubscribe = [
      options.runtime.subscribe(() => this.#noteServed()),
      fleet.feed.onNews(() => this.#sendSoon()),
      source.onPrefetched(() => this.#sendSoon()),
    ]
    this.#timer = setInterval(() => this.#sendSoon(), REPEAT_MS).unref()
    this.#noteServed()
  }

  /** What the process reports now. */
  get report(): AgentReport {
    const { runtime, sandbox } = this.#options
    const { current } = runtime
    const served = current.list().filter(({ source }) => source === this.#source.label)
    const reports = this.#listReports()
    const { state, stale } = this.#fleet.feed
    const announcement = state.announcements.get(toAnnouncementSubject(this.#source.channel))
    const isPrefetched = announcement !== undefined && runtime.isStored(announcement)
    const source = current.sources().find(({ label }) => label === this.#source.label)
    const errors = [
      ...(stale?.reason === undefined ? [] : [stale.reason]),
      ...(source?.diagnostics ?? [])
        .filter(({ severity }) => severity !== 'info')
        .map(({ message }) => message),
      ...reports.flatMap(({ name, diagnostics }) =>
        diagnostics.filter(isError).map(({ message }) => `${name}: ${message}`),
      ),
    ]
    const revisions = new Map(served.map(({ name, revision }) => [name, revision]))
    const differs = listHeads(state, this.#source.channel).flatMap(({ skill, manifest }) => {
      const revision = revisions.get(skill) ?? null
      return revision === manifest.revision ? [] : { skill, revision }
    })
    return {
      ...this.#identity,
      digest: digestOfSet(served),
      differs: differs.sort((a, b) => compareText(a.skill, b.skill)).slice(0, MAX_DIFFERS),
      skills: served.length,
      held: reports.filter(isHeld).length,
      generation: { number: current.number, digest: current.digest },
      seq: state.seq,
      ...defined({
        epoch: state.epoch?.document.epoch,
        prefetched: isPrefetched ? announcement.publishId : undefined,
        lagMs: this.#lagMs,
        staleSince: stale?.since,
        sandbox: sandbox?.slice(0, MAX_TEXT),
      }),
      errors: errors.slice(0, MAX_ERRORS).map(text => text.slice(0, MAX_TEXT)),
      at: Date.now(),
    }
  }

  /** Removes this process from the status. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    clearInterval(this.#timer)
    clearTimeout(this.#soon)
    try {
      const engine = await this.#fleet.open()
      engine.send({ subject: this.#subject, data: new Uint8Array(), isMarker: true })
      await engine.checkAlive()
    } catch {
      // Without a server, the last report expires.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #listReports(): readonly SkillReport[] {
    return this.#options.runtime.current.reports().filter(({ source }) => source === this.#source.label)
  }

  /** Measures how long the newest served version was on its way. */
  #noteServed(): void {
    const served = new Map(this.#options.runtime.current.list().map(skill => [skill.name, skill.revision]))
    for (const { seq, at, skill, manifest } of listHeads(this.#fleet.feed.state, this.#source.channel)) {
      if (seq <= this.#servedSeq || served.get(skill) !== manifest.revision) continue
      // What waited for an approval says nothing about the way of the version.
      const isMeasured = at > 0 && !this.#held.has(skill)
      this.#lagMs = isMeasured ? Math.max(0, Date.now() - at) : undefined
      this.#servedSeq = seq
    }
    this.#sendSoon()
  }

  #sendSoon(): void {
    if (!this.#isClosed) this.#soon ??= setTimeout(() => void this.#send(), COLLECT_MS).unref()
  }

  async #send(): Promise<void> {
    this.#soon = undefined
    try {
      const engine = await this.#fleet.open()
      this.#held = new Set(
        this.#listReports()
          .filter(isHeld)
          .map(({ name }) => name),
      )
      const data = new TextEncoder().encode(JSON.stringify(this.report))
      if (!this.#isClosed) engine.send({ subject: this.#subject, data })
    } catch {
      // The next report comes within 20 seconds.
    }
  }
}

/** Whether a newer revision waits for approval, or was rejected. */
function isHeld({ status }: SkillReport): boolean {
  return status === 'pending' || status === 'rejected'
}

/** @throws {SkillError} INVALID_OPTION */
function checkName(option: 'host' | 'agent', name: string | undefined): void {
  if (name === undefined || (name.length > 0 && name.length <= MAX_NAME)) return
  throw new SkillError(
    'INVALID_OPTION',
    `${option} has ${name.length} characters; use 1 to ${MAX_NAME}, for example "support-1"`,
  )
}
