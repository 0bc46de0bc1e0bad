// Skills from elsewhere: `@skillstoke/sources`. By default, these skills wait for approval. The order of the export
// blocks is intentional, so no tool may sort them.

// For hosts: skills from remote sources.
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

// For authors of sources: HTTP requests that cannot reach this machine or its private network.
export { checkUrl, type HostAccess, type ResolveHost } from './http/address-guard.ts'
export { createGuardedFetch, type GuardedFetchOptions } from './http/guarded-fetch.ts'
