// Time under a test's control.

export { type EventBusCase, eventBusConformance } from './event-bus-conformance.ts'
export { FakeClock } from './fake-clock.ts'
export {
  type FileSystemCase,
  type FileSystemSubject,
  fileSystemConformance,
} from './file-system-conformance.ts'
export { type ScriptRunnerCase, scriptRunnerConformance } from './script-runner-conformance.ts'
export { type SourceCase, type SourceSubject, sourceConformance } from './source-conformance.ts'
// What every implementation of a seam has to keep.
export { type StoreCase, storeConformance } from './store-conformance.ts'
