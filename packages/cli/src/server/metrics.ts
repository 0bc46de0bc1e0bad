import type { SkillRuntime } from '@skillstoke/core'
import { SKILL_STATUSES } from '@skillstoke/core/internal'

/** Renders the metrics in the text format of Prometheus. */
export async function renderMetrics(skills: SkillRuntime): Promise<string> {
  const { Gauge, Registry } = await import('prom-client')
  const registry = new Registry()
  const registers = [registry]
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Gauge({ name: `skillstoke_${name}`, help, labelNames: [...labelNames], registers })
  const { current } = skills
  gauge('generation', 'Number of the current generation in this process').set(current.number)
  gauge('sessions', 'Number of open conversations').set(skills.sessions().length)
  const byStatus = gauge('skills', 'Number of skills found, by status', ['status'])
  const reports = current.reports()
  for (const status of SKILL_STATUSES)
    byStatus.set({ status }, reports.filter(report => report.status === status).length)
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
