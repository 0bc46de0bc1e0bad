// `@skillstoke/core/source`: interfaces and helpers for authors of sources, stores, policies and runners. No tool may
// sort the export blocks.

// For authors of sources: the interface of a source, and functions that read a skill folder.
export type {
  SourceReadContext,
  SkillSource,
  SourceChange,
  SourceReading,
  SourceState,
  SourceWatch,
} from './source/skill-source.ts'
export type { SourceContents, SourceEntry } from './skill/source-contents.ts'
export type { NotSkill, NotSkills } from './source/not-skill.ts'
export { captureSkill } from './source/capture-skill.ts'
export type { SkillFile } from './skill/manifest.ts'
export type { ReadingPolicy } from './skill/reading-policy.ts'
export { DEFAULT_LIMITS, type SkillLimits } from './skill/limits.ts'

// For hosts and authors of file systems: a source that reads any file system.
export { FileSource } from './source/file-source.ts'
export type { FileSourceOptions } from './source/file-source-options.ts'
export { DEFAULT_SETTLE, NO_SETTLE } from './source/settle.ts'
export { fromAllowedPaths } from './source/allowed-paths.ts'
export type { DirectoryEntry, FileStat, FileSystem, OpenedFile, FileReadOptions } from './fs/file-system.ts'
export type { WritableFileSystem, FileWriteOptions } from './fs/writable-file-system.ts'
export { MemoryFileSystem } from './fs/memory-file-system.ts'
export { type AdaptFileSystemOptions, adaptFileSystem, type SimpleFiles } from './fs/adapt-file-system.ts'

// For authors of fetchers: a source that fetches all skills of another machine together.
export { RemoteSource, type RemoteSourceOptions } from './source/remote-source.ts'
export type {
  FetchContext,
  FetchResult,
  FileTree,
  ListedSkill,
  TreeFetcher,
  TreeFile,
} from './source/tree-fetcher.ts'
export { storeRetrieved } from './source/store-retrieved.ts'
export { type FetchedFile, storeTree, refuseTreeEntry, restoreTree } from './source/stored-tree.ts'

// For authors of stores: file contents, decisions, history and write locks.
export type { FolderNote, FolderNotes } from './store/folder-notes.ts'
export type { SkillStore, StoreFault } from './store/skill-store.ts'
export { MemorySkillStore } from './store/memory-skill-store.ts'
export {
  type SkillDecision,
  type DecisionStore,
  type FolderDecisions,
  type MadeDecision,
  MemoryDecisions,
  type RecordedDecision,
} from './history/decisions.ts'
export { MemoryRevisionLog, type RevisionLog, type RevisionRecord } from './history/revision-log.ts'
export { InProcessWriteLock, type WriteLock } from './authoring/write-lock.ts'

// For hosts: option types that contain the types above.
export type { SkillState } from './runtime/skill-state.ts'
export type { SharedSources } from './registry/last-good.ts'

// For authors of admission policies, which decide whether a revision goes live.
export type {
  AdmissionPolicy,
  AdmissionRequest,
  AdmissionVerdict,
  FolderMove,
  FolderPlace,
} from './registry/admission.ts'

// For authors of runners, which execute scripts.
export type {
  ScriptContainment,
  ScriptFileRun,
  LoadedProgram,
  ProgramLoad,
  ScriptRunOptions,
  ScriptLine,
  ScriptProgram,
  ScriptRunner,
} from './script/script-runner.ts'
export type { ScannedCommand, ScriptScan, ScriptText } from './script/command.ts'
export type { ScriptCapability } from './skill/capabilities.ts'

// For all authors: the clock and the hasher that the runtime passes.
export { type Clock, type Hasher, portableHasher, systemClock } from './host.ts'
