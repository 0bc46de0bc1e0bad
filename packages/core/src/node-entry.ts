// The core for machines with Node: `@skillstoke/core/node`. The order of the export blocks is intentional, so no tool
// may sort them.

// For hosts: skills on the disk of this machine.
export { type DirectoryOptions, directory } from './disk/directory.ts'
export { bundledSkills } from './disk/bundled-skills.ts'
export { NodeFileSystem } from './disk/node-file-system.ts'
export { nodeHasher } from './disk/node-hasher.ts'

// For hosts: a state directory, which keeps content, decisions and history after the process ends.
export { createStateDirectory, defaultStateDirectory } from './state/state-directory.ts'
export { type OpenedState, type OpenStateOptions, openState } from './state/open-state.ts'
export { openSkillStore } from './state/sqlite-store.ts'
export { openDecisions } from './state/decision-store.ts'
export { openRevisionLog } from './state/revision-log.ts'
export { openWriteLock } from './state/shared-write-lock.ts'
export { type GarbageReport, collectGarbage } from './state/collect-garbage.ts'

// For operators: events on diagnostics channels, and spans and metrics of OpenTelemetry.
export { publishEvents } from './telemetry/publish-events.ts'
export { bridgeOpenTelemetry } from './telemetry/opentelemetry.ts'
