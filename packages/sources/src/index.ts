// Skills from elsewhere: `@skillstoke/sources`. By default, these skills wait for approval. The order of the export
// blocks is intentional, so no tool may sort them.

// For hosts: skills from remote sources.
export { GIT_UPDATES, type GitOptions, git } from './git/git-source.ts'
export { type ArchiveOptions, archive } from './archive/archive-source.ts'
export { type WellKnownOptions, wellKnown } from './well-known/well-known-source.ts'
export { type NpmPackagesOptions, npmPackages } from './npm-packages.ts'
export { type SftpClient, sftpFileSystem } from './sftp-file-system.ts'

// For authors of sources: HTTP requests that cannot reach this machine or its private network.
export { checkUrl } from './http/address-guard.ts'
export { createGuardedFetch } from './http/guarded-fetch.ts'
