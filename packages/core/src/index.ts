// The runtime: what most hosts need and nothing else.

export { ALLOWED_TOOLS_POLICIES, type AllowedToolsPolicy, isToolAllowed } from './activation/allowed-tools.ts'
export type { Ledger, LedgerEntry } from './activation/ledger.ts'
export type { LoadOutcome } from './activation/load-skill.ts'
export type { SlashExpansion, SlashOptions } from './activation/slash.ts'
// Writing skills.
export { type AuthorToolsOptions, createAuthorTools } from './authoring/author-tools.ts'
export { type FolderFile, type FolderSwap, replaceFolder } from './authoring/folder-swap.ts'
export { RESERVED_WORDS, type WritableNames } from './authoring/skill-name-rule.ts'
export {
  type AgentAuthor,
  type AuthoringHost,
  type NotedWrite,
  type ReloadedSkill,
  type ReloadedSkills,
  SkillWriter,
  type SkillWriterOptions,
  type WritableLayer,
  type WriteRequest,
  type WriteResult,
} from './authoring/skill-writer.ts'
export { InProcessWriteLock, type WriteLock } from './authoring/write-lock.ts'
// Agents whose own tools and instructions follow the skills.
export {
  AgentBinding,
  type BindOptions,
  DEFAULT_BINDING_TIMEOUT_MS,
  type InstructionsBuilder,
  UNBIND_MODES,
  type UnbindMode,
} from './binding/agent-binding.ts'
export type { BindableAgent } from './binding/owned-tools.ts'
// What one agent may see.
export {
  CATALOG_FORMAT_NAMES,
  CATALOG_FORMATS,
  type CatalogFormat,
  type CatalogFormatName,
  DEFAULT_CATALOG_FORMAT,
} from './catalog/catalog-format.ts'
export {
  approximateTokens,
  type Catalog,
  type CatalogOptions,
  DEFAULT_CATALOG_TOKENS,
  renderCatalog,
  type TokenCounter,
} from './catalog/render-catalog.ts'
export { createScopeTest, type Scope, type ScopeTest } from './catalog/scope.ts'
export { type SearchHit, SkillSearch } from './catalog/skill-search.ts'
// Errors, and what a host may pass in.
export { checkChoice, SkillError, type SkillErrorCode, type SkillErrorOptions, toMessage } from './errors.ts'
// What may be told outside.
export {
  DEFAULT_HANDLER_DEADLINE_MS,
  type EventBus,
  InProcessEventBus,
  type InProcessEventBusOptions,
  type SkillEventHandler,
  type SkillEventName,
  type SkillEvents,
  type SkillProblem,
} from './events/event-bus.ts'
export {
  type AdaptOptions,
  adaptFileSystem,
  DEFAULT_FILE_TIMEOUT_MS,
  type SimpleFiles,
  type SimpleStat,
} from './fs/adapt-file-system.ts'
export {
  type DirectoryEntry,
  type FileKind,
  type FileStat,
  type FileSystem,
  isSameStat,
  type OpenedFile,
  type ReadOptions,
} from './fs/file-system.ts'
export type { FileTree, TreeFile } from './fs/file-tree.ts'
export { MemoryFileSystem } from './fs/memory-file-system.ts'
export { TreeFileSystem } from './fs/tree-file-system.ts'
export type { WritableFileSystem, WriteOptions } from './fs/writable-file-system.ts'
// Who decided what may be served, and what became of it.
export { describeNewCapabilities } from './history/capabilities.ts'
export {
  compareRevisions,
  type FieldChange,
  type FileChange,
  type RevisionDiff,
} from './history/compare-revisions.ts'
export {
  type AgentWrite,
  type DecidedFolder,
  DecidedFolders,
  type Decision,
  type DecisionMeta,
  type DecisionStore,
  type FolderDecisions,
  keyOf as keyOfPlace,
  type MadeDecision,
  MemoryDecisions,
  moveFolders,
  type RecordedDecision,
  type WrittenFile,
} from './history/decisions.ts'
export { findHiddenIn } from './history/hidden-in-revision.ts'
export { createReviewAdmission, type ReviewAdmissionOptions } from './history/review-admission.ts'
export {
  DEFAULT_HISTORY_LENGTH,
  MemoryRevisionLog,
  type MemoryRevisionLogOptions,
  type RevisionAuthor,
  type RevisionCause,
  type RevisionLog,
  type RevisionRecord,
} from './history/revision-log.ts'
export {
  type RevisionPair,
  type Rollback,
  type RollbackOptions,
  SkillHistory,
} from './history/skill-history.ts'
export {
  type DecidedSkill,
  type DecideOptions,
  type DecisionNote,
  type FolderRevisions,
  type Found,
  SkillReview,
  type SkillTarget,
} from './history/skill-review.ts'
export {
  type Clock,
  type Hasher,
  LATE,
  type Logger,
  portableHasher,
  silentLogger,
  systemClock,
  within,
} from './host.ts'
export { checkOptions, type KnownOptions, type OptionPlace } from './options.ts'
export {
  type AdmissionPolicy,
  type AdmissionRequest,
  type AdmissionVerdict,
  type FolderMove,
  type FolderPlace,
  type StandingDecision,
  trustAdmission,
} from './registry/admission.ts'
// What exists: generations, changes, and what decides about them.
export { INVALID_POLICIES, type InvalidPolicy } from './registry/candidate-builder.ts'
export {
  DUPLICATE_POLICIES,
  DUPLICATE_WINNERS,
  type DuplicateChooser,
  type DuplicatePolicy,
  type DuplicateWinner,
} from './registry/duplicate-policy.ts'
export {
  type Generation,
  SKILL_STATUSES,
  type SkillCopy,
  type SkillReport,
  type SkillStatus,
  type SourceReport,
  targetOf,
} from './registry/generation.ts'
export { diffGenerations, type RegistryUpdate, type SkillChange } from './registry/registry-update.ts'
export {
  DEFAULT_SUBSCRIBER_DEADLINE_MS,
  type RegisteredSource,
  SkillRegistry,
  type SkillRegistryOptions,
} from './registry/skill-registry.ts'
export { PHASES, type Phase, type Subscriber } from './registry/subscriptions.ts'
export { EXPLANATION_STEPS, type Explanation, type ExplanationStep } from './runtime/explain-skill.ts'
export {
  DEFAULT_PRE_SCAN_TIMEOUT_MS,
  type PreScanContext,
  type PreScanHook,
  type PreScanOptions,
  type ScanReason,
} from './runtime/pre-scan.ts'
export type {
  ReloadProblem,
  ReloadReport,
  SkillReload,
  SkillReloadStatus,
} from './runtime/reload-report.ts'
export type { ScriptReload } from './runtime/script-admin.ts'
export type { ExplainWithin } from './runtime/skill-explainer.ts'
export { createSkillRuntime, SkillRuntime } from './runtime/skill-runtime.ts'
export {
  AGENT_WRITES,
  type AgentWrites,
  DEFAULT_REHASH_MS,
  type FreshOptions,
  type ReadTriggers,
  type ReviewPolicy,
  type RuntimeTuning,
  type SkillRuntimeOptions,
} from './runtime/skill-runtime-options.ts'
export type { SkillState } from './runtime/skill-state.ts'
export {
  type Command,
  type CommandAddress,
  checkCommandName,
  checkInputSchema,
  mayBeImported,
  mayExportCommands,
  type ScannedCommand,
  type ScriptScan,
  type ScriptText,
  splitCommandId,
  toCommandDescription,
  toCommandHints,
} from './script/command.ts'
export {
  type CommandContext,
  type CommandDefinition,
  type CommandHints,
  type CommandInput,
  type DefinedCommand,
  defineCommand,
  type JsonSchemaObject,
  type StandardSchema,
} from './script/define-command.ts'
export type { CommandsChange, ScriptCall, ScriptEvents } from './script/script-events.ts'
// Scripts as commands: where they run, and calling them.
export type {
  CommandProgress,
  Containment,
  FileRun,
  LoadedProgram,
  LoadOptions,
  ProgramLoad,
  RunOptions,
  ScriptLine,
  ScriptProgram,
  ScriptRunner,
} from './script/script-runner.ts'
export { renderCommandValue } from './script/script-tools.ts'
export {
  type CommandResult,
  type ScriptStatus,
  SkillScripts,
  type UnloadStatus,
} from './script/skill-scripts.ts'
// One conversation and what it was told.
export { type RoleMessage, withLiveSystem } from './session/live-system.ts'
export type { SessionState } from './session/session-state.ts'
export {
  APPLY_AT,
  type ApplyAt,
  DEFAULT_RESTORE_TOKENS,
  DELIVERY_MODES,
  type DeliveryMode,
  type RebaseOptions,
  type SessionHost,
  type SessionOptions,
  type SessionRebase,
  type SessionUpdate,
  SkillSession,
  type UpdateOptions,
} from './session/skill-session.ts'
export {
  CAPABILITY_FORMS,
  type Capability,
  checkCapabilities,
  declaredCapabilities,
  findMissing,
  isCapability,
} from './skill/capabilities.ts'
export { compareText } from './skill/compare.ts'
export {
  type Diagnostic,
  type DiagnosticCode,
  describePlace,
  isError,
  SEVERITIES,
  type Severity,
} from './skill/diagnostic.ts'
export { diffSkills, FACETS, type Facet } from './skill/diff-skills.ts'
export { type Digest, digestOf, isDigest, shortDigest } from './skill/digest.ts'
export type { Outcome } from './skill/frontmatter.ts'
export { findHiddenText, type HiddenText, showHiddenText } from './skill/hidden-text.ts'
export { DEFAULT_LIMITS, type SkillLimits } from './skill/limits.ts'
export { revisionOf, type SkillFile, sortFiles } from './skill/manifest.ts'
export { type ParseSkillOptions, parseSkill } from './skill/parse-skill.ts'
export { readFrontmatter } from './skill/read-frontmatter.ts'
export { DEFAULT_READING, READING_CHOICES, type ReadingPolicy } from './skill/reading-policy.ts'
// The format.
export type { LoadedSkill, Skill } from './skill/skill.ts'
export type { ParsedSkill, SkillDescription } from './skill/skill-fields.ts'
export { findPathFault, parseSkillPath, type SkillPath } from './skill/skill-path.ts'
export { renderSkillText, type SkillDefinition } from './skill/skill-text.ts'
export { EMPTY_CONTENTS, type SourceContents, type SourceEntry } from './skill/source-contents.ts'
export { toToolName } from './skill/tool-name.ts'
export { TRUSTS, type Trust } from './skill/trust.ts'
export { validateSkill } from './skill/validate-skill.ts'
export { type AllowedPathsOptions, fromAllowedPaths } from './source/allowed-paths.ts'
export {
  type CaptureContext,
  captureSkill,
  type FileContents,
  type SkillFolder,
} from './source/capture-skill.ts'
export { MISSING_ROOT_POLICIES, type MissingRootPolicy } from './source/check-file-source-options.ts'
export { isNearlySkillFile } from './source/describe-not-skill.ts'
export { SYMLINK_POLICIES, type SymlinkPolicy } from './source/entry-classifier.ts'
export { WATCHING_MODES, type WatchingMode } from './source/event-trust.ts'
export { DEFAULT_LAYOUT, type FileLayout } from './source/file-layout.ts'
export {
  DEFAULT_POLL_MS,
  DEFAULT_RECONCILE_MS,
  DEFAULT_REMOTE_POLL_MS,
  FileSource,
  type FileSourceOptions,
  ROOT_GRACE_MS,
} from './source/file-source.ts'
export { type MemorySkill, MemorySource, type MemorySourceOptions } from './source/memory-source.ts'
export type { NotSkill, NotSkillQuery, NotSkillReason, NotSkills } from './source/not-skill.ts'
export {
  DEFAULT_FETCH_POLL_MS,
  DEFAULT_FETCH_TIMEOUT_MS,
  DEFAULT_FIRST_WAIT_MS,
  type FetchContext,
  type FetchResult,
  POLLING_MODES,
  type PollingMode,
  RemoteSource,
  type RemoteSourceOptions,
  type TreeFetcher,
} from './source/remote-source.ts'
export { checkSettle, DEFAULT_SETTLE, NO_SETTLE, type SettlePolicy } from './source/settle.ts'
// Where skills come from.
export type {
  ReadContext,
  ReadDepth,
  SkillSource,
  SourceChange,
  SourceHint,
  SourceReading,
  SourceState,
  WatchMode,
  WritableFolder,
} from './source/skill-source.ts'
export { type FetchedFile, filesBelow, keepTree, refuseEntry, restoreTree } from './source/stored-tree.ts'
export {
  DEFAULT_STORE_GRACE_MS,
  MemorySkillStore,
  type MemorySkillStoreOptions,
} from './store/memory-skill-store.ts'
export type { SkillStore, StoreFault } from './store/skill-store.ts'
export type { SourceStatus } from './sync/source-sync.ts'
export type {
  ToolContext,
  ToolDefinition,
  ToolHints,
  ToolProgress,
  ToolResult,
} from './tool/tool-definition.ts'
export {
  isToolResolver,
  type NamedTool,
  type ToolMap,
  type ToolResolver,
  toToolResolver,
} from './tool/tool-resolver.ts'
