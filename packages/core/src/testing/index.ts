// `@skillstoke/core/testing`: helpers for tests of hosts, and for tests of objects that implement an interface of this
// library. The export blocks are sorted by hand.

// A clock for tests of hosts. The test controls the clock.
export { FakeClock } from './fake-clock.ts'

// The rules of each interface as a list of test cases, for authors who implement the interface.
export type { ConformanceCase } from './conformance.ts'
export { type SourceSubject, sourceConformance } from './source-conformance.ts'
export { type FileSystemSubject, fileSystemConformance } from './file-system-conformance.ts'
export { storeConformance } from './store-conformance.ts'
export { eventBusConformance } from './event-bus-conformance.ts'
export { scriptRunnerConformance } from './script-runner-conformance.ts'
