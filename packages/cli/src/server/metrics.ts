import type { SkillRuntime } from '@skillstoke/core'
import { countSkills } from '@skillstoke/core/internal'
import { COUNTERS, followTelemetry } from '@skillstoke/core/internal/node'
import { publishEvents } from '@skillstoke/core/node'
import type * as PromClient from 'prom-client'

type CounterName = keyof typeof COUNTERS

/** Names of the labels of each counter. */
const LABELS: Readonly<Record<CounterName, readonly string[]>> = {
  activations: ['skill', 'by', 'tool'],
  changes: ['kind'],
  problems: ['kind'],
  reloads: ['outcome'],
  commands: ['skill', 'outcome'],
  requests: ['method', 'outcome'],
  notifications: ['method'],
}

/** Upper bounds of the buckets, in seconds. A request without an edit takes a few milliseconds. */
const REQUEST_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const COMMAND_BUCKETS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60]

/** The metrics of a runtime and its MCP server. */
export interface Metrics extends Disposable {
  /** Renders the metrics in the text format of Prometheus. */
  toResponse(): Promise<Response>
}

/** Counts what a runtime and its MCP server do. Imports the library only here, because most commands need no metrics. */
export async function createMetrics(skills: SkillRuntime): Promise<Metrics> {
  const library = await import('prom-client')
  const registry = new library.Registry()
  const registers = [registry]
  const counters = new Map<CounterName, PromClient.Counter>()
  for (const [name, help] of Object.entries(COUNTERS) as [CounterName, string][]) {
    const options = { name: `skillstoke_${name}_total`, help, labelNames: [...LABELS[name]], registers }
    counters.set(name, new library.Counter(options))
  }
  const requests = new library.Histogram({
    name: 'skillstoke_request_duration_seconds',
    help: 'Time to answer a request of an MCP client',
    labelNames: ['method'],
    buckets: REQUEST_BUCKETS,
    registers,
  })
  const commands = new library.Histogram({
    name: 'skillstoke_command_duration_seconds',
    help: 'Run time of commands and scripts',
    labelNames: ['skill', 'outcome'],
    buckets: COMMAND_BUCKETS,
    registers,
  })
  const stops = [
    publishEvents(skills),
    followTelemetry({
      count: (name, labels) => counters.get(name)?.inc(labels),
      commandEnded: (seconds, labels) => commands.observe(labels, seconds),
      requestEnded: ({ method }, seconds) => requests.observe({ method }, seconds),
    }),
  ]
  return {
    toResponse: async () => {
      const text = `${await renderGauges(skills, library)}${await registry.metrics()}`
      const headers = {
        'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
        'Cache-Control': 'no-store',
      }
      return new Response(text, { headers })
    },
    [Symbol.dispose]: () => {
      for (const stop of stops) stop()
    },
  }
}

/** Renders the current state. A new registry each time, so that removed sources and modes disappear. */
async function renderGauges(skills: SkillRuntime, library: typeof PromClient): Promise<string> {
  const registry = new library.Registry()
  const registers = [registry]
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new library.Gauge({ name: `skillstoke_${name}`, help, labelNames: [...labelNames], registers })
  const { current } = skills
  gauge('generation', 'Number of the current generation in this process').set(current.number)
  gauge('sessions', 'Number of open conversations').set(skills.sessions().length)
  const byStatus = gauge('skills', 'Number of skills found, by status', ['status'])
  for (const [status, count] of Object.entries(countSkills(skills, []).counts))
    byStatus.set({ status }, count)
  const up = gauge('source_up', 'Whether the last read of a source succeeded (1 or 0)', ['source'])
  const failures = gauge('source_failures', 'Failed reads since the last successful read', ['source'])
  const mode = gauge('source_mode', 'How changes of a source are detected', ['source', 'mode'])
  const success = gauge('source_last_success_timestamp_seconds', 'Time of the last successful read', [
    'source',
  ])
  const failure = gauge('source_last_error_timestamp_seconds', 'Time of the last failed read', ['source'])
  const next = gauge('source_next_read_seconds', 'Seconds until the next automatic read', ['source'])
  for (const status of skills.status()) {
    const source = status.label
    up.set({ source }, status.lastError === undefined ? 1 : 0)
    failures.set({ source }, status.failures)
    mode.set({ source, mode: status.mode }, 1)
    if (status.lastReadAt !== undefined) success.set({ source }, status.lastReadAt / 1000)
    if (status.lastErrorAt !== undefined) failure.set({ source }, status.lastErrorAt / 1000)
    if (status.nextReadMs !== undefined) next.set({ source }, status.nextReadMs / 1000)
  }
  return await registry.metrics()
}
