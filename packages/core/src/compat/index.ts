// Exo: registry, watchers, tools and agents.
export { EventBus, type EventBusOptions, type EventHandler } from './event-bus.ts'
export type { ExoSkill, WatchedSkill } from './exo-skill.ts'
export { DEFAULT_DEBOUNCE_MS, LocalFileWatcher, type LocalFileWatcherOptions } from './local-file-watcher.ts'
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
export { toWatcher } from './to-watcher.ts'
export { DictToolResolver, type ToolResolver } from './tool-resolver.ts'
