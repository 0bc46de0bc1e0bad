// For tests of hosts and of implementations: `@skillstoke/core/testing`. No tool sorts the blocks.

// For tests of hosts: time under the control of a test.
export { FakeClock } from './fake-clock.ts'

// For authors of an implementation: what each one has to keep, as lists of cases.
export { type SourceCase, type SourceSubject, sourceConformance } from './source-conformance.ts'
export {
  type FileSystemCase,
  type FileSystemSubject,
  fileSystemConformance,
} from './file-system-conformance.ts'
export { type StoreCase, storeConformance } from './store-conformance.ts'
export { type EventBusCase, eventBusConformance } from './event-bus-conformance.ts'
export { type ScriptRunnerCase, scriptRunnerConformance } from './script-runner-conformance.ts'
