// Names and presets of five published designs of live agent skills. The exports are grouped by design, so Biome must not sort them.

// For users of any design: the policies of each design as one object.
export { PRESET_NAMES, PRESETS, type Preset, type PresetName } from './presets.ts'

// For users of Exo: registry, watchers, tools and agents.
export {
  type ConflictStrategy,
  type SearchOptions,
  SkillRegistry,
  type SkillRegistryOptions,
} from './skill-registry.ts'
export { type EventSink, SkillSyncManager, type SkillSyncManagerOptions } from './skill-sync-manager.ts'
export {
  SkillChangeEvent,
  type SkillChangeFields,
  type SkillChangeKind,
  SkillWatcher,
  type SkillWatcherLike,
} from './skill-watcher.ts'
export { DEFAULT_DEBOUNCE_MS, LocalFileWatcher, type LocalFileWatcherOptions } from './local-file-watcher.ts'
export {
  DEFAULT_POLL_INTERVAL_MS,
  GitHubPollingWatcher,
  type GitHubPollingWatcherOptions,
  type GitHubSourceOptions,
} from './github-polling-watcher.ts'
export { type GitHubAddress, parseGithubUrl } from './parse-github-url.ts'
export { EventBus, type EventBusOptions, type EventHandler } from './event-bus.ts'
export { DictToolResolver, isToolResolver, type ToolResolver } from './tool-resolver.ts'
export { Skill, type SkillFields } from './skill.ts'
export type { ExoSkill, WatchedSkill } from './exo-skill.ts'
export {
  collectSkills,
  diffSnapshots,
  fingerprintSkill,
  fingerprintSnapshot,
  type SkillSnapshot,
} from './skill-snapshot.ts'
export { type FromWatcherOptions, fromWatcher } from './from-watcher.ts'
export { type SourceWatcherOptions, toWatcher } from './to-watcher.ts'

// For users of omni: scripts that contain commands, and a scanner for them.
export { parseScriptContent, type ScanPathsOptions, scanPaths, type ToolRecord } from './scan-paths.ts'
export {
  ScriptSkill,
  SkillManager,
  type SkillManagerOptions,
  type SkillTransition,
} from './skill-manager.ts'

// For users of crabtalk: the skill tool and slash commands.
export { type AgentScope, SkillHandler, type SkillHandlerOptions } from './skill-handler.ts'

// For users of pai: skills listed in the instructions of a request.
export type { SkillConfig } from './skill-config.ts'
export {
  MAX_OPEN_RUNTIMES,
  type PreScanToolsetHook,
  SHARED_SKILLS_DIR_NAME,
  SkillToolset,
  type SkillToolsetOptions,
  type ToolsetContext,
} from './skill-toolset.ts'
