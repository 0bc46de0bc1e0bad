// The core for machines with Node: `@skillstoke/core/node`. The order of the export blocks is intentional, so no tool
// may sort them.

// For hosts: skills on the disk of this machine.
export { type DirectoryOptions, directory } from './directory.ts'
export { bundledSkills } from './bundled-skills.ts'
export { NodeFileSystem } from './node-file-system.ts'
export { nodeHasher } from './node-hasher.ts'

// For hosts: skills from remote sources. By default, these skills wait for approval.
export {
  DEFAULT_MAX_REPOSITORY_BYTES,
  GIT_UPDATES,
  type GitOptions,
  type GitUpdate,
  git,
} from './git/git-source.ts'
export { type ArchiveOptions, archive, DEFAULT_MAX_ARCHIVE_BYTES } from './archive/archive-source.ts'
export { type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS } from './archive/read-archive.ts'
export { type WellKnownOptions, wellKnown } from './well-known/well-known-source.ts'
export { type NpmPackagesOptions, npmPackages } from './npm-packages.ts'
export { type SftpClient, sftpFileSystem } from './sftp-file-system.ts'

// For hosts: a state directory, which keeps content, decisions and history after the process ends.
export { createStateDirectory, defaultStateDirectory } from './state-directory.ts'
export { type OpenedState, type OpenStateOptions, openState } from './open-state.ts'
export { openSkillStore } from './sqlite-store.ts'
export { type DecisionStoreOptions, openDecisions } from './decision-store.ts'
export { openRevisionLog } from './revision-log.ts'
export { openWriteLock, type SharedWriteLock, type WriteLockOptions } from './shared-write-lock.ts'
export { type GarbageReport, type CollectGarbageOptions, collectGarbage } from './collect-garbage.ts'

// For operators: events on diagnostics channels, and spans and metrics of OpenTelemetry.
export { publishEvents } from './telemetry/publish-events.ts'
export { bridgeOpenTelemetry, type OpenTelemetryApi } from './telemetry/opentelemetry.ts'

// For authors of sources: HTTP requests that cannot reach this machine or its private network.
export { checkUrl, type HostAccess, type ResolveHost } from './http/address-guard.ts'
export { createGuardedFetch, type GuardedFetchOptions } from './http/guarded-fetch.ts'
