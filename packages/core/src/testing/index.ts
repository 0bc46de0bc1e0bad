// `@skillstoke/core/testing`: helpers for tests of hosts and of implementations. The order of the blocks is chosen by
// hand.

// For tests of hosts: a clock that the test controls.
export { FakeClock } from './fake-clock.ts'

// For authors of an implementation: the contract of each interface, as lists of cases.
export { type SourceCase, type SourceSubject, sourceConformance } from './source-conformance.ts'
export {
  type FileSystemCase,
  type FileSystemSubject,
  fileSystemConformance,
} from './file-system-conformance.ts'
export { type StoreCase, storeConformance } from './store-conformance.ts'
export { type EventBusCase, eventBusConformance } from './event-bus-conformance.ts'
export { type ScriptRunnerCase, scriptRunnerConformance } from './script-runner-conformance.ts'
