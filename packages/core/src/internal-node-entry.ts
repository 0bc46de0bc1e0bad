// Exports for Node that the packages of this repository share: `@skillstoke/core/internal/node`. No stability promise:
// any release may change or remove a name.

// For packages that run scripts, or that check whether a process has ended.
export { hasGroup, isAlive, killGroup, killProcess } from './disk/process-group.ts'
export { removeTree } from './disk/remove-tree.ts'

// For the command line, which counts for Prometheus, and for each day.
export { openUsageLog, type UsageCount } from './state/usage-log.ts'
export { COUNTERS, followTelemetry } from './telemetry/follow-telemetry.ts'
