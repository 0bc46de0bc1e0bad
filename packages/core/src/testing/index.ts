// `@skillstoke/core/testing`: helpers to test hosts and implementations of interfaces. The order of the export blocks
// is chosen by hand.

// A clock for tests of hosts. The test controls the clock.
export { FakeClock } from './fake-clock.ts'

// The contract of each interface as a list of cases, for authors of an implementation.
export { type SourceCase, type SourceSubject, sourceConformance } from './source-conformance.ts'
export {
  type FileSystemCase,
  type FileSystemSubject,
  fileSystemConformance,
} from './file-system-conformance.ts'
export { type StoreCase, storeConformance } from './store-conformance.ts'
export { type EventBusCase, eventBusConformance } from './event-bus-conformance.ts'
export { type ScriptRunnerCase, scriptRunnerConformance } from './script-runner-conformance.ts'
