// Names and presets of five published designs of live agent skills. The exports are grouped by design, so Biome must not
// sort them. A type is exported if a host has to write its name.

// For users of any design: the policies of each design as one object.
export { PRESETS } from './presets.ts'

// For users of Exo: registry, watchers, tools and agents.
export { SkillRegistry } from './skill-registry.ts'
export { SkillSyncManager } from './skill-sync-manager.ts'
export {
  SkillChangeEvent,
  type SkillChangeFields,
  SkillWatcher,
  type SkillWatcherLike,
} from './skill-watcher.ts'
export { LocalFileWatcher } from './local-file-watcher.ts'
export { GitHubPollingWatcher } from './github-polling-watcher.ts'
export { parseGithubUrl } from './parse-github-url.ts'
export { EventBus } from './event-bus.ts'
export { DictToolResolver, isToolResolver, type ToolResolver } from './tool-resolver.ts'
export { Skill } from './skill.ts'
export type { ExoSkill } from './exo-skill.ts'
export { collectSkills, diffSnapshots, fingerprintSkill, fingerprintSnapshot } from './skill-snapshot.ts'
export { fromWatcher } from './from-watcher.ts'
export { toWatcher } from './to-watcher.ts'

// For users of omni: scripts that contain commands, and a scanner for them.
export { parseScriptContent, scanPaths, type ToolRecord } from './scan-paths.ts'
export { ScriptSkill, SkillManager } from './skill-manager.ts'

// For users of crabtalk: the skill tool and slash commands.
export { type AgentScope, SkillHandler } from './skill-handler.ts'

// For users of pai: skills listed in the instructions of a request.
export type { SkillConfig } from './skill-config.ts'
export { SHARED_SKILLS_DIR_NAME, SkillToolset, type ToolsetContext } from './skill-toolset.ts'
