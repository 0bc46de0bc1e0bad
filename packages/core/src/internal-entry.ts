// `@skillstoke/core/internal`: exports for the other packages of this repository. Hosts must not import this entry,
// because any release may change or remove an export. No tool may sort the export blocks.

// For every package.
export { toMessage } from './errors.ts'
export { toCompact } from './fs/file-system.ts'
export { mapConcurrently } from './fs/walk.ts'
export { isInside, pathInside } from './is-inside.ts'
export {
  checkOptions,
  checkValue,
  findNearest,
  type KnownOptions,
  number,
  oneOf,
  whole,
} from './options.ts'
export { closeInTurn, LATE, LONGEST_TIMER_MS, silentLogger, untilAborted, waitAtMost } from './host.ts'
export { Listeners } from './listeners.ts'
export { Turns } from './turns.ts'
export { defined } from './defined.ts'
export { compareText } from './skill/compare.ts'
export { digestOf, shortDigest } from './skill/digest.ts'
export { mayRun, type ScriptEnding } from './skill/program-file.ts'
export {
  decodeStrictText,
  decodeText,
  decodeUnmarkedText,
} from './skill/text.ts'
export { escapeControls, limitMessage, quote, quoteAll, showValue } from './quote.ts'

export { findPathFault } from './skill/skill-path.ts'

// For everything that writes or checks the files of a skill: names that no skill contains.
export { findLeftOutIn, findLeftOutKind, isPrivateKey } from './skill/entry-names.ts'
export {
  findRepository,
  isGitName,
  isRepository,
  isRepositoryEntry,
  type NamedEntry,
} from './skill/git-layout.ts'
export { findIncludedSecret } from './skill/left-out.ts'

// For `@skillstoke/core/node` and the conformance suites.
export { revisionOf } from './skill/manifest.ts'
export { FOLDER_OPTIONS } from './source/check-file-source-options.ts'
export { DecidedFolders, keyOf as keyOfPlace, moveFolders, placeOfSource } from './history/decisions.ts'
export { DEFAULT_HISTORY_LENGTH, LOG_OPTIONS } from './history/revision-log.ts'

// For the command line and the API of the dev server: one answer to each question about skills.
export type { Answering } from './answers/answering.ts'
export {
  DECISION_VERBS,
  type DecideWish,
  type DecisionVerb,
  decideSkill,
  GRANT_VERBS,
  type GrantVerb,
  type GrantWish,
  grantSkill,
} from './answers/decide-skill.ts'
export {
  describeGrants,
  describeScripts,
  type DescribedScripts,
} from './answers/describe-scripts.ts'
export {
  type Comparison,
  compareSkill,
  describeLastChange,
  describeModified,
  findDifference,
  type SkillDiff,
} from './answers/differences.ts'
export {
  capabilitiesOf,
  doubtsAbout,
  listWaiting,
  type WaitingRow,
  withUnreported,
} from './answers/doubts.ts'
export {
  countSkills,
  isMisnamed,
  listNotSkills,
  listSkills,
  type ListedSource,
  type SkillList,
  type SourcesStatus,
} from './answers/list-skills.ts'
export { type RunOutcome, type RunTarget, runTarget, USAGE_CODES } from './answers/run-script.ts'
export {
  type FileInfo,
  type FileText,
  findMeant,
  type SkillDetail,
  showSkill,
  showSkillFile,
} from './answers/show-skill.ts'
export {
  type DecidedRow,
  type GenerationId,
  type SkillRow,
  type SkillTokens,
  toGenerationId,
  toRow,
} from './answers/skill-row.ts'

// For the command line: functions that display, check and write skills.
export { describePlace, isError } from './skill/diagnostic.ts'
export { targetOf } from './registry/generation.ts'
export { describeNewCapabilities } from './history/capabilities.ts'
export { findHiddenIn } from './history/hidden-in-revision.ts'
export { sortFiles } from './skill/manifest.ts'
export { DEFAULT_CATALOG_TOKENS } from './catalog/render-catalog.ts'
export { type FolderFile, replaceFolder } from './authoring/folder-swap.ts'
export {
  CAPABILITY_FORMS,
  type CapabilityForm,
  checkCapabilities,
  findCapabilityForm,
  isCapability,
} from './skill/capabilities.ts'

// For the command line: lists of allowed values, from which choices, help texts and the schema are generated.
export { SKILL_STATUSES } from './registry/generation.ts'
export { CATALOG_FORMAT_NAMES, DEFAULT_CATALOG_FORMAT } from './catalog/catalog-format.ts'
export { DUPLICATE_WINNERS, type DuplicateWinner } from './registry/duplicate-policy.ts'
export { READING_CHOICES } from './skill/reading-policy.ts'
export { EXPLANATION_STEPS } from './reader/explain-skill.ts'
export { DEFAULT_FETCH_POLL_MS } from './source/remote-source.ts'

// For the script runner and for code that calls it.
export {
  checkCommandName,
  checkInputSchema,
  mayBeImported,
  mayExportCommands,
  splitCommandId,
  toCommandDescription,
  toCommandHints,
} from './script/command.ts'
export { DEFAULT_CALL_MS, LONGEST_CALL_MS } from './script/script-runner.ts'
export { renderCommandValue } from './script/script-tools.ts'
export { describeUnknownFields, listFields } from './tool/tool-input.ts'

// For hosts that list slash commands, and for lists that a model reads.
export { isUserInvocable } from './skill/invocation.ts'
export { diffListings } from './session/listing-diff.ts'

// For the offline model of `@skillstoke/agent`.
export { TOOL_NAMES } from './tool/tool-names.ts'

// For the MCP server.
export { type ArgumentHint, readArgumentHints } from './activation/substitute-arguments.ts'
export { useNewest } from './reader/use-newest.ts'
export { describeBundle } from './tool/skill-tool.ts'
export { toToolName } from './skill/tool-name.ts'

// For servers that answer HTTP requests.
export { MAX_LOOK_MS } from './sync/source-readers.ts'
export { freshOrKnown } from './reader/fresh-or-known.ts'

// For the state directory on Node.
export { assertSupported } from './runtime/assert-supported.ts'

// For `@skillstoke/compat`.
export { CATALOG_FORMATS } from './catalog/catalog-format.ts'
export { SETTLE_OPTIONS } from './source/settle.ts'
export { isToolResolver, toToolResolver } from './tool/tool-resolver.ts'

// For the benchmarks.
export { SkillSearch } from './catalog/skill-search.ts'
