import { compare, parseSemVer } from '@nats-io/transport-node'

/** Features that depend on the version of the server. Old servers ignore unknown options without an error. */
export interface ServerFeatures {
  /** Batched direct gets and expiring messages: 2.11. */
  readonly batchGet: boolean
  /** Several messages in one atomic batch: 2.12. */
  readonly atomicBatch: boolean
  /** Messages that the server repeats: 2.14. */
  readonly schedules: boolean
}

/** The oldest version of the server that works. */
export const OLDEST_SERVER = '2.9.0'
/** The oldest version of the server that has all features of the publisher, and current security fixes. */
export const RECOMMENDED_SERVER = '2.12.0'

export function featuresOf(version: string): ServerFeatures {
  return {
    batchGet: isAtLeast(version, '2.11.0'),
    atomicBatch: isAtLeast(version, '2.12.0'),
    schedules: isAtLeast(version, '2.14.0'),
  }
}

/** Compares two versions such as `2.12.0`. */
export function isAtLeast(version: string, least: string): boolean {
  return compare(parseSemVer(version), parseSemVer(least)) >= 0
}
