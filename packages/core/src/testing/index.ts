// Time under a test's control.
export { FakeClock } from './fake-clock.ts'
// What every implementation of a seam has to keep.
export { type StoreCase, storeConformance } from './store-conformance.ts'
