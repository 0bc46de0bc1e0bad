// The API for hosts. The export blocks are in the order in which a host needs them. No tool may sort the blocks.

// For hosts that give their agent live skills.
export { createSkillRuntime } from './runtime/create-skill-runtime.ts'
export { SkillRuntime } from './runtime/skill-runtime.ts'
export type { SkillRuntimeOptions } from './runtime/skill-runtime-options.ts'
export { type ConversationView, type FreshOptions, SkillReader } from './reader/skill-reader.ts'
export { type MemorySkill, MemorySource } from './source/memory-source.ts'
export { SkillSession } from './session/skill-session.ts'
export type { DeliveryMode, SessionOptions } from './session/session-options.ts'
export type { SessionOffer, SessionUpdate } from './session/session-offer.ts'
export type { SessionState } from './session/session-state.ts'
export type { ToolContext, ToolDefinition, ToolInputSchema, ToolResult } from './tool/tool-definition.ts'
export {
  SkillWriter,
  type SkillWriterOptions,
  type SkillWriteRequest,
  type SkillWriteResult,
} from './authoring/skill-writer.ts'
export { type AuthorToolsOptions, createAuthorTools } from './authoring/author-tools.ts'
export type { EventBus, SkillEvents } from './events/event-bus.ts'
export { SkillError, type SkillErrorCode } from './errors.ts'
export type { Logger } from './host.ts'

// For hosts that have their own rules, formats, tools or agents.
export { createScopeTest, type SkillScope } from './catalog/scope.ts'
export type { CatalogFormat, CatalogFormatName } from './catalog/catalog-format.ts'
export type { CatalogOptions, TokenCounter } from './catalog/render-catalog.ts'
export type { DuplicatePolicy } from './registry/duplicate-policy.ts'
export type { InvalidPolicy } from './registry/candidate-builder.ts'
export type { PreScanHook, PreScanOptions } from './sync/pre-scan.ts'
export type { UpdateSubscriber } from './registry/subscriptions.ts'
export type { AllowedToolsPolicy } from './activation/allowed-tools.ts'
export type { NamedTool, ToolMap, ToolResolver } from './tool/tool-resolver.ts'
export { AgentBinding, type BindOptions } from './binding/agent-binding.ts'
export type { BindableAgent } from './binding/owned-tools.ts'
export { withLiveSystem } from './session/live-system.ts'

// For pages, tests and programs that show skills or record decisions about skills.
export type { LoadedSkill, Skill } from './skill/skill.ts'
export type { Digest } from './skill/digest.ts'
export type { SkillFacet } from './skill/diff-skills.ts'
export type { Diagnostic } from './skill/diagnostic.ts'
export type { Generation, SkillReport, SkillStatus } from './registry/generation.ts'
export { diffGenerations, type RegistryUpdate, type SkillChange } from './registry/registry-update.ts'
export type { SourceStatus } from './sync/source-sync.ts'
export type { ReloadReport } from './runtime/reload-report.ts'
export type { SkillExplanation } from './reader/explain-skill.ts'
export type { SearchHit } from './catalog/skill-search.ts'
export { type SkillCatalog, renderCatalog } from './catalog/render-catalog.ts'
export { type DecidedSkill, SkillReview } from './history/skill-review.ts'
export { SkillHistory } from './history/skill-history.ts'
export type { RevisionDiff } from './history/compare-revisions.ts'
export { type CommandResult, SkillScripts } from './script/skill-scripts.ts'
export type { SkillCommand } from './script/command.ts'
export { parseSkill } from './skill/parse-skill.ts'
export type { ParsedSkill } from './skill/skill-fields.ts'
export { validateSkill } from './skill/validate-skill.ts'
export { readFrontmatter } from './skill/read-frontmatter.ts'
export { renderSkillText, type SkillDefinition } from './skill/skill-text.ts'
export { findHiddenText, showHiddenText } from './skill/hidden-text.ts'
