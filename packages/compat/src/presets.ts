import type {
  BindOptions,
  SessionOptions,
  Skill,
  SkillRuntimeOptions,
  SkillWriterOptions,
} from '@skillstoke/core'
import { CATALOG_FORMATS } from '@skillstoke/core/internal'
import type { DirectoryOptions } from '@skillstoke/core/node'
import { EXO_READING, isActive } from './exo-skill.ts'

/**
 * The policies of one design. Spread each field into the options of one function or class, for example `runtime` into
 * the options of `createSkillRuntime()`.
 */
export interface Preset {
  readonly runtime: Partial<Omit<SkillRuntimeOptions, 'sources'>>
  readonly source: Pick<DirectoryOptions, 'watching' | 'reading' | 'layout' | 'onMissing' | 'onMissingRoot'>
  readonly session: Partial<Omit<SessionOptions, 'id'>>
  readonly binding: Partial<BindOptions>
  /** For `skills.writer(...)`. */
  readonly writer: Pick<SkillWriterOptions, 'names' | 'reservedNames' | 'afterWrite'>
  /** For `new SkillMcp(skills, ...)`. */
  readonly mcp: {
    readonly commandTools?: boolean
    readonly adminTools?: boolean
    readonly notificationIntervalMs?: number
  }
}

type PresetName = 'default' | 'exo' | 'omni' | 'crabtalk' | 'rustfox' | 'pai'

/**
 * The policies of each design. Options that a design does not set keep their defaults.
 *
 * @example
 * ```ts
 * import { PRESETS } from '@skillstoke/compat'
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * const { runtime, source, session } = PRESETS.rustfox
 * await using skills = await createSkillRuntime({ ...runtime, sources: [directory('./skills', source)] })
 * console.log(skills.session({ ...session, id: 'chat-1' }).catalog.includes('support-pdf')) // prints true
 * ```
 */
export const PRESETS: Readonly<Record<PresetName, Preset>> = Object.freeze({
  default: toPreset({}),
  /**
   * Folders are watched and must exist; a change is published when no file has changed for 500 ms. The catalog is a Markdown list, the tool is `activate_skill`, and unbinding keeps the tools.
   */
  exo: toPreset({
    runtime: { tuning: { settle: { settleMs: 500, burstMs: 500 } }, catalog: { format: listActive } },
    source: { reading: EXO_READING, onMissing: 'throw' },
    session: { delivery: 'rebuild', skillToolName: 'activate_skill', describeUnknownSkill: listActiveNames },
    binding: { unbind: 'keep' },
  }),
  /**
   * When a skill is requested, its scripts are checked for changes. Scripts are also watched, and a change is published
   * when no file has changed for 500 ms. Each command is an MCP tool of its own.
   */
  omni: toPreset({
    runtime: { tuning: { settle: { settleMs: 500, burstMs: 500 } } },
    mcp: { commandTools: true, adminTools: true, notificationIntervalMs: 1_000 },
  }),
  /** Folders are not watched, and missing folders are ignored. Each request reads the current files. */
  crabtalk: toPreset({
    runtime: { catalog: { format: 'markdown' } },
    source: { watching: 'off', onMissingRoot: () => undefined },
  }),
  /**
   * Skills are read again only when the agent calls the reload tool. The system text of every model call contains the catalog. Skills that one agent writes are served to all agents immediately.
   */
  rustfox: toPreset({
    runtime: {
      tuning: { triggers: { onAccess: false, onRequest: false } },
      review: { agentWrites: 'live' },
    },
    source: {
      watching: 'off',
      reading: { description: 'first-heading' },
      layout: { standaloneFiles: true, fileNames: ['SKILL.md', 'AGENT.md'] },
    },
    session: { delivery: 'rebuild' },
    // As in RustFox, the source serves every name that the writer allows. Reserved words in a name cause only a warning.
    writer: { names: /^[a-z0-9-]{1,64}$/, reservedNames: [] },
  }),
  /**
   * Folders are scanned at each request. For skills of the same name, a later folder overrides an earlier folder. A skill counts as changed only if its frontmatter or its location changed.
   */
  pai: toPreset({
    runtime: {
      onDuplicate: 'last-wins',
      tuning: { modifiedOn: ['frontmatter', 'location'] },
      // Agents of pai have no tool that finds skills outside the catalog, so the catalog has no size limit.
      catalog: { format: 'pai-xml', maxTokens: Number.POSITIVE_INFINITY },
    },
    source: { watching: 'off', reading: { missingName: 'error' }, onMissing: 'empty' },
    session: { delivery: 'rebuild', applyAt: 'turn' },
  }),
})

function toPreset(fields: Partial<Preset>): Preset {
  return { runtime: {}, source: {}, session: {}, binding: {}, writer: {}, mcp: {}, ...fields }
}

/** Returns the catalog in Exo's format, without inactive skills. */
function listActive(skills: readonly Skill[], omitted: number): string {
  return CATALOG_FORMATS.markdown(skills.filter(isActive), omitted)
}

const MAX_LISTED_NAMES = 200

/** Returns Exo's answer to an unknown skill name. */
function listActiveNames(name: string, skills: readonly Skill[]): string {
  const names = skills.filter(isActive).map(skill => skill.name)
  const rest = names.length - MAX_LISTED_NAMES
  const more = rest > 0 ? ` and ${rest} more` : ''
  return `Skill '${name}' not found. Available skills: ${names.slice(0, MAX_LISTED_NAMES).join(', ') || 'none'}${more}`
}
