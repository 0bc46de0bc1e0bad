// Skills on the disk of this machine, and on others.
export { type ArchiveOptions, archive, DEFAULT_MAX_ARCHIVE_BYTES } from './archive/archive-source.ts'
export { type ArchiveLimits, DEFAULT_ARCHIVE_LIMITS } from './archive/read-archive.ts'
export { bundledSkills } from './bundled-skills.ts'
export { type Collection, type CollectOptions, collectGarbage } from './collect-garbage.ts'
export { type DecisionStoreOptions, openDecisions } from './decision-store.ts'
export { type DirectoryOptions, directory } from './directory.ts'
export {
  DEFAULT_MAX_REPOSITORY_BYTES,
  GIT_UPDATES,
  type GitOptions,
  type GitUpdate,
  git,
} from './git/git-source.ts'
export { checkUrl, type HostAccess, type ResolveHost } from './http/address-guard.ts'
export { createGuardedFetch } from './http/guarded-fetch.ts'
export { NodeFileSystem } from './node-file-system.ts'
export { nodeHasher } from './node-hasher.ts'
export { type NpmPackagesOptions, npmPackages } from './npm-packages.ts'
export { type OpenedState, type OpenStateOptions, openState } from './open-state.ts'
// Keeping what was read, and the last good revision of each skill, across restarts.
export { openPackStore } from './pack-store.ts'
export { openRevisionLog } from './revision-log.ts'
export { type ChildProcesses, childProcesses } from './script/child-processes.ts'
export { SANDBOX_MODES, type SandboxMode } from './script/sandbox.ts'
export { scanScripts } from './script/scan-scripts.ts'
export { DEFAULT_SCRIPT_RUNNER_OPTIONS, type ScriptRunnerOptions } from './script/script-runner-options.ts'
// The parts it is made of, for sources of your own.
export { type SftpClient, sftpFileSystem } from './sftp-file-system.ts'
export { openWriteLock, type SharedWriteLock } from './shared-write-lock.ts'
export { createStateDirectory, defaultStateDirectory } from './state-directory.ts'
export { type WellKnownOptions, wellKnown } from './well-known/well-known-source.ts'
