// What the parts of a runtime are made of: `@skillstoke/core/source`. No tool sorts the blocks.

// For authors of sources: the contract, and how a folder is captured.
export type {
  MarkReason,
  SourceReadContext,
  SourceReadDepth,
  SkillSource,
  SourceChange,
  SourceHint,
  SourceReading,
  SourceState,
  SourceVersions,
  SourceWatch,
  SourceWatchMode,
  WritableFolder,
} from './source/skill-source.ts'
export type { SourceTrust } from './skill/trust.ts'
export { EMPTY_CONTENTS, type SourceContents, type SourceEntry } from './skill/source-contents.ts'
export type { NotSkill, NotSkillQuery, NotSkillReason, NotSkills } from './source/not-skill.ts'
export {
  type CaptureContext,
  captureSkill,
  type FileContents,
  type SkillFolder,
} from './source/capture-skill.ts'
export type { SkillFile } from './skill/manifest.ts'
export type { ReadingPolicy } from './skill/reading-policy.ts'
export { DEFAULT_LIMITS, type SkillLimits } from './skill/limits.ts'

// For hosts and authors of file systems: skills in folders of any file system.
export { FileSource } from './source/file-source.ts'
export type { FileSourceOptions } from './source/file-source-options.ts'
export type { FileLayout } from './source/file-layout.ts'
export type { SymlinkPolicy } from './source/entry-classifier.ts'
export { DEFAULT_SETTLE, NO_SETTLE, type SettlePolicy } from './source/settle.ts'
export { type AllowedPathsOptions, fromAllowedPaths } from './source/allowed-paths.ts'
export type {
  DirectoryEntry,
  FileKind,
  FileStat,
  FileSystem,
  OpenedFile,
  FileReadOptions,
} from './fs/file-system.ts'
export type { WritableFileSystem, FileWriteOptions } from './fs/writable-file-system.ts'
export { MemoryFileSystem } from './fs/memory-file-system.ts'
export {
  type AdaptFileSystemOptions,
  adaptFileSystem,
  type SimpleFiles,
  type SimpleStat,
} from './fs/adapt-file-system.ts'

// For authors of fetchers: skills that another machine has, taken whole.
export {
  type FetchContext,
  type FetchResult,
  RemoteSource,
  type RemoteSourceOptions,
  type TreeFetcher,
} from './source/remote-source.ts'
export type { FileTree, TreeFile } from './fs/file-tree.ts'
export {
  type FetchedFile,
  listFilesBelow,
  storeTree,
  refuseTreeEntry,
  restoreTree,
} from './source/stored-tree.ts'

// For authors of stores: what was read, what was decided, what happened, and who may write.
export type { SkillStore, StoreFault } from './store/skill-store.ts'
export { MemorySkillStore, type MemorySkillStoreOptions } from './store/memory-skill-store.ts'
export {
  type AgentWrite,
  type DecidedFolder,
  type SkillDecision,
  type DecisionMeta,
  type DecisionStore,
  type FolderDecisions,
  type MadeDecision,
  MemoryDecisions,
  type RecordedDecision,
  type WrittenFile,
} from './history/decisions.ts'
export {
  MemoryRevisionLog,
  type MemoryRevisionLogOptions,
  type RevisionAuthor,
  type RevisionCause,
  type RevisionLog,
  type RevisionRecord,
} from './history/revision-log.ts'
export { InProcessWriteLock, type WriteLock } from './authoring/write-lock.ts'

// For hosts: the parts of the options that are made of these.
export type { ReviewPolicy, RuntimeTuning } from './runtime/skill-runtime-options.ts'
export type { SkillState } from './runtime/skill-state.ts'

// For authors of admission policies: whether a revision goes live.
export type {
  AdmissionPolicy,
  AdmissionRequest,
  AdmissionVerdict,
  FolderMove,
  FolderPlace,
  StandingDecision,
} from './registry/admission.ts'

// For authors of runners: where scripts run.
export type {
  CommandProgress,
  ScriptContainment,
  ScriptFileRun,
  LoadedProgram,
  ProgramLoadOptions,
  ProgramLoad,
  ScriptRunOptions,
  ScriptLine,
  ScriptProgram,
  ScriptRunner,
} from './script/script-runner.ts'
export type { ScannedCommand, ScriptScan, ScriptText } from './script/command.ts'
export type { ScriptCapability } from './skill/capabilities.ts'

// For all of these: time and digests, which a host passes in.
export { type Clock, type Hasher, portableHasher, systemClock } from './host.ts'

// For hosts that write them down: what methods of a runtime, a session, a review and a history take and return.
export type { SlashExpansion, SlashOptions } from './activation/slash.ts'
export type { LoadOutcome } from './activation/load-skill.ts'
export type { Ledger, LedgerEntry } from './activation/ledger.ts'
export type { AgentAuthor, ReloadedSkills } from './authoring/skill-writer.ts'
export type { WritableNames } from './authoring/skill-name-rule.ts'
export type { InstructionsBuilder } from './binding/agent-binding.ts'
export type { SkillProblem } from './events/event-bus.ts'
export type { FieldChange, FileChange } from './history/compare-revisions.ts'
export type { RevisionPair, RollbackOptions, RollbackOutcome } from './history/skill-history.ts'
export type {
  DecidableFolder,
  DecideOptions,
  DecisionNote,
  FolderRevisions,
  SkillTarget,
} from './history/skill-review.ts'
export type { ExplanationStep, ToldConversation } from './reader/explain-skill.ts'
export type { SearchOptions } from './reader/skill-reader.ts'
export type { SkillCopy, SourceReport } from './registry/generation.ts'
export type { Phase, SubscribeOptions } from './registry/subscriptions.ts'
export type { ReloadProblem, SkillReload, SkillReloadStatus } from './runtime/reload-report.ts'
export type { ScriptReload } from './runtime/skill-reloads.ts'
export type { ScopeOptions, ToolsOptions } from './runtime/skill-runtime.ts'
export type { CommandsChange, ScriptCall } from './script/script-events.ts'
export type { ScriptStatus, UnloadStatus } from './script/skill-scripts.ts'
export type { RebaseOptions, RestoredSkill, SessionRebase } from './session/rebase.ts'
export type { OfferOptions } from './session/session-offer.ts'
export type { FrozenCatalog } from './session/session-state.ts'
export type { RoleMessage } from './session/live-system.ts'
export type { DiagnosticCode, Severity } from './skill/diagnostic.ts'
export type { HiddenText } from './skill/hidden-text.ts'
export type { PreScanContext, ScanReason } from './sync/pre-scan.ts'
export type { ReadTriggers } from './sync/source-readers.ts'
export type { ToolHints, ToolProgress } from './tool/tool-definition.ts'
