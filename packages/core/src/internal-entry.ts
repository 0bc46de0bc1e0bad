// `@skillstoke/core/internal`: exports for the other packages of this repository. Hosts must not import this entry,
// because any release may change or remove an export. No tool may sort the export blocks.

// For every package.
export { toMessage } from './errors.ts'
export { mapConcurrently } from './fs/walk.ts'
export { isInside, pathInside } from './is-inside.ts'
export { checkOptions, findNearest, isRecord, type KnownOptions, number, oneOf, whole } from './options.ts'
export { LATE, LONGEST_TIMER_MS, silentLogger, untilAborted, waitAtMost } from './host.ts'
export { Listeners } from './listeners.ts'
export { Turns } from './turns.ts'
export { defined } from './defined.ts'
export { compareText } from './skill/compare.ts'
export { digestOf, shortDigest } from './skill/digest.ts'
export { mayRun, type ScriptEnding } from './skill/program-file.ts'
export { suggestName } from './skill/skill-name.ts'
export { decodeText, decodeUnmarkedText } from './skill/text.ts'
export { escapeControls, limitMessage, quote, quoteAll, showValue } from './quote.ts'

export { findPathFault } from './skill/skill-path.ts'

// For `@skillstoke/author`: words of texts, YAML, and the skills that a model sees.
export { foldText } from './skill/text.ts'
export { isModelInvocable } from './skill/invocation.ts'
export { cutField, cutItem, splitEntries } from './skill/yaml-entries.ts'
export { loadYaml } from './skill/yaml-text.ts'

// For everything that lists files of a skill, or reports its changes, to a model: the tests of the skill.
export { differsOnlyInTests, isTestFile } from './skill/test-files.ts'

// For everything that writes or checks the files of a skill: names that no skill contains.
export { findLeftOutIn, isPrivateKey } from './skill/left-out-names.ts'
export { findRepository, isGitName, isRepository, isRepositoryEntry } from './skill/git-layout.ts'
export { findIncludedSecret } from './skill/left-out.ts'

// For `@skillstoke/core/node` and the conformance suites.
export { revisionOf } from './skill/manifest.ts'
export { FOLDER_OPTIONS } from './source/check-file-source-options.ts'
export { placeOfSource } from './history/decisions.ts'
export { DEFAULT_HISTORY_LENGTH } from './history/revision-log.ts'

// For the command line and the API of the dev server: one answer to each question about skills.
export type { Answering, Viewing } from './answers/answering.ts'
export { computeBudget, type SkillBudget } from './answers/budget.ts'
export {
  DECISION_VERBS,
  type DecisionVerb,
  decideSkill,
  GRANT_VERBS,
  type GrantVerb,
  grantSkill,
} from './answers/decide-skill.ts'
export { describeGrants, describeScripts } from './answers/describe-scripts.ts'
export { describeLastChange, describeModified, diffSkill, type SkillDiff } from './answers/differences.ts'
export { explainSkill } from './answers/explain-skill.ts'
export { describeWaiting, listWaiting, type WaitingRow } from './answers/doubts.ts'
export {
  countSkills,
  isMisnamed,
  listNotSkills,
  listSkills,
  type SkillList,
  type SourcesStatus,
} from './answers/list-skills.ts'
export { type RunOutcome, type RunTarget, runTarget, USAGE_CODES } from './answers/run-script.ts'
export { findMeant, type SkillDetail, showSkill, showSkillFile, type FileText } from './answers/show-skill.ts'
export {
  type CatalogUse,
  type CatalogView,
  countEntry,
  type SkillVisibility,
  VISIBILITIES,
  viewCatalog,
} from './answers/visibility.ts'
export {
  type DecidedRow,
  type GenerationId,
  type SkillRow,
  toGenerationId,
  toRow,
} from './answers/skill-row.ts'

// For the command line: functions that display, check and write skills.
export { describePlace, isError } from './skill/diagnostic.ts'
export { editDistance } from './edit-distance.ts'
export { targetOf } from './registry/skill-report.ts'
export { describeNewCapabilities } from './history/capabilities.ts'
export { listServed } from './history/find-revision.ts'
export { findHiddenIn } from './history/hidden-in-revision.ts'
export { sortFiles } from './skill/manifest.ts'
export { approximateTokens, DEFAULT_CATALOG } from './catalog/render-catalog.ts'
export { replaceFolder } from './authoring/folder-swap.ts'
export { splitParts } from './authoring/left-out-files.ts'
export { CAPABILITY_FORMS, checkCapabilities, findCapabilityForm } from './skill/capabilities.ts'

// For the command line: lists of allowed values, from which choices, help texts and the schema are generated.
export { CATALOG_FORMAT_NAMES } from './catalog/catalog-format.ts'
export { DUPLICATE_WINNERS } from './registry/duplicate-policy.ts'
export { READING_CHOICES } from './skill/reading-policy.ts'
export { EXPLANATION_STEPS } from './reader/explain-skill.ts'
export { SKILL_STATUSES } from './registry/skill-report.ts'
export { DEFAULT_FETCH_POLL_MS } from './source/remote-source.ts'

// For the script runner and for code that calls it.
export { mayBeImported, mayExportCommands, splitCommandId } from './script/command.ts'
export { CALL_TIMEOUT_MS } from './script/script-runner.ts'
export { renderCommandValue } from './script/script-tools.ts'
export { listFields } from './tool/tool-input.ts'

// For hosts that list slash commands, and for lists that a model reads.
export { isUserInvocable } from './skill/invocation.ts'
export { diffListings } from './session/listing-diff.ts'

// For the offline model of `@skillstoke/agent`.
export { TOOL_NAMES } from './tool/tool-names.ts'

// For the MCP server.
export { readArgumentHints } from './activation/substitute-arguments.ts'
export { useNewest } from './reader/use-newest.ts'
export { describeBundle } from './tool/skill-tool.ts'
export { toToolName } from './skill/tool-name.ts'

// For servers that answer HTTP requests.
export { MAX_LOOK_MS } from './sync/source-readers.ts'
export { freshOrKnown } from './reader/fresh-or-known.ts'

// For `@skillstoke/compat`.
export { CATALOG_FORMATS } from './catalog/catalog-format.ts'
export { isToolResolver, toToolResolver } from './tool/tool-resolver.ts'
