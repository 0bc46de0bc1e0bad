import {
  createSkillRuntime,
  type FileSystem,
  fromAllowedPaths,
  type Logger,
  type Skill,
  SkillError,
  type SkillRuntime,
} from '../index.ts'
import { PRESETS } from './presets.ts'

/** What an agent has at a request. */
export interface ToolsetContext<Files extends FileSystem = FileSystem> {
  /** Through which all files are read; without one there are no skills. */
  readonly fileOperator?: Files
  /** Folders that the agent may use; skills of a later one override those of an earlier one. */
  readonly allowedPaths: readonly string[]
  /** What the agent runs commands with; handed on to the hook. */
  readonly shell?: unknown
}

/** Called before every scan: copies built-in skills, downloads, checks. */
export type PreScanToolsetHook<Files extends FileSystem = FileSystem> = (
  toolset: SkillToolset<Files>,
  context: ToolsetContext<Files>,
) => void | Promise<void>

export interface SkillToolsetOptions<Files extends FileSystem = FileSystem> {
  readonly toolsetId?: string
  readonly preScanHook?: PreScanToolsetHook<Files>
  /** After how long a scan goes on without the hook, in milliseconds. @default 30,000 */
  readonly preScanTimeoutMs?: number
  /** Further folders in each allowed path, each yielding to the next and all to the main one. @default [] */
  readonly extraDirNames?: readonly string[]
  readonly logger?: Logger
}

/** Where agents of several kinds keep the skills that they share. */
export const SHARED_SKILLS_DIR_NAME = '.agents/skills'

/** A skill as pai has it. The same object as long as its frontmatter and its place are the same. */
export interface SkillConfig {
  readonly name: string
  readonly description: string
  /** Folder of the skill, as the file operator names it. */
  readonly path: string
  /** SHA-256 of the raw frontmatter, 64 hexadecimal digits. */
  readonly contentHash: string
  /** All other fields of the frontmatter. */
  readonly extra: Readonly<Record<string, unknown>>
}

interface Scanned<Files extends FileSystem> {
  readonly key: string
  /** The newest request, for the hook. */
  context: ToolsetContext<Files>
  readonly runtime: SkillRuntime
  readonly configs: Map<string, SkillConfig>
}

/**
 * pai's toolset: instructions that list the skills in an agent's folders, scanned at each request. It has no tools; the
 * agent reads and runs what is listed with those that it has.
 */
export class SkillToolset<Files extends FileSystem = FileSystem> implements AsyncDisposable {
  readonly skillsDirName: string
  readonly id: string | undefined
  readonly #options: SkillToolsetOptions<Files>
  readonly #scanned = new Map<FileSystem, Promise<Scanned<Files>>>()

  constructor(skillsDirName = 'skills', options: SkillToolsetOptions<Files> = {}) {
    this.skillsDirName = skillsDirName
    this.id = options.toolsetId
    this.#options = options
  }

  /** The block for the system text, of what is there now; `null` when there are no skills. */
  async getInstructions(context: ToolsetContext<Files>): Promise<string | null> {
    const scanned = await this.#scan(context)
    const text = scanned?.runtime.renderCatalog().text ?? ''
    return text === '' ? null : text
  }

  /** The skills that are there now, sorted by name. */
  async getSkills(context: ToolsetContext<Files>): Promise<readonly SkillConfig[]> {
    const scanned = await this.#scan(context)
    if (scanned === undefined) return []
    const { runtime, configs } = scanned
    const list = runtime.current.list().map(skill => reuse(configs.get(skill.name), skill))
    configs.clear()
    for (const config of list) configs.set(config.name, config)
    return list
  }

  /** None: there for agents that ask every toolset. */
  getTools(): Readonly<Record<string, never>> {
    return {}
  }

  /** @throws {SkillError} INVALID_OPTION always */
  callTool(name: string): never {
    throw new SkillError(
      'INVALID_OPTION',
      `SkillToolset does not provide tools; there is no ${JSON.stringify(name)}`,
    )
  }

  /** Ends all scanning. Idempotent. */
  async close(): Promise<void> {
    const scanned = [...this.#scanned.values()]
    this.#scanned.clear()
    for (const each of scanned) await (await each).runtime.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #scan(context: ToolsetContext<Files>): Promise<Scanned<Files> | undefined> {
    const { fileOperator, allowedPaths } = context
    if (fileOperator === undefined || allowedPaths.length === 0) return undefined
    const key = JSON.stringify(allowedPaths)
    const before = this.#scanned.get(fileOperator)
    if (before !== undefined) {
      const scanned = await before
      if (scanned.key === key) {
        scanned.context = context
        await scanned.runtime.fresh()
        return scanned
      }
      await scanned.runtime.close()
    }
    const opening = this.#open(fileOperator, context, key)
    this.#scanned.set(fileOperator, opening)
    return await opening
  }

  async #open(fileOperator: Files, context: ToolsetContext<Files>, key: string): Promise<Scanned<Files>> {
    const { extraDirNames, preScanHook, preScanTimeoutMs, logger } = this.#options
    const latest = { context }
    const runtime = await createSkillRuntime({
      ...PRESETS.pai.runtime,
      sources: fromAllowedPaths(fileOperator, context.allowedPaths, {
        ...PRESETS.pai.source,
        dirName: this.skillsDirName,
        ...(extraDirNames === undefined ? {} : { extraDirNames }),
      }),
      ...(logger === undefined ? {} : { logger }),
      ...(preScanHook === undefined
        ? {}
        : {
            preScan: {
              hook: () => preScanHook(this, latest.context),
              ...(preScanTimeoutMs === undefined ? {} : { timeoutMs: preScanTimeoutMs }),
            },
          }),
    })
    return Object.assign(latest, { key, runtime, configs: new Map<string, SkillConfig>() })
  }
}

function reuse(before: SkillConfig | undefined, skill: Skill): SkillConfig {
  const path = skill.directory ?? skill.location
  const contentHash = skill.frontmatterDigest.replace('sha256:', '')
  if (before?.contentHash === contentHash && before.path === path) return before
  const { name, description, license, compatibility, metadata, allowedTools } = skill
  return Object.freeze({
    name,
    description,
    path,
    contentHash,
    extra: Object.freeze({
      ...(license === undefined ? {} : { license }),
      ...(compatibility === undefined ? {} : { compatibility }),
      ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
      ...(allowedTools === undefined ? {} : { 'allowed-tools': allowedTools }),
      ...skill.extra,
    }),
  })
}
