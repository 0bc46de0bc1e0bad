import type { RemoteSourceOptions } from '@skillstoke/core/source'

/** The options of a remote source that each function of this package passes on. */
export type RemoteOptions = Pick<
  RemoteSourceOptions,
  'trust' | 'layout' | 'reading' | 'limits' | 'pollMs' | 'timeoutMs' | 'firstWaitMs' | 'polling' | 'clock'
>

/** Their names. `RemoteSource` checks the values. */
export const REMOTE_OPTIONS: Readonly<Record<keyof RemoteOptions, true>> = {
  timeoutMs: true,
  trust: true,
  layout: true,
  reading: true,
  limits: true,
  pollMs: true,
  firstWaitMs: true,
  polling: true,
  clock: true,
}
