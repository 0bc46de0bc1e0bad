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

/** Called before every scan: copies built-in skills, downloads, checks. It must not ask the toolset for skills. */
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

// Allowed paths of one file operator that are kept open.
const MAX_PATHS = 16

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
  /** Requests that are scanning. */
  users: number
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
  /** By file operator and allowed paths; the ones used last come last. */
  readonly #scanned = new Map<FileSystem, Map<string, Promise<Scanned<Files>>>>()

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
    const scanned = [...this.#scanned.values()].flatMap(each => [...each.values()])
    this.#scanned.clear()
    for (const each of scanned) await closeScanned(each)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #scan(context: ToolsetContext<Files>): Promise<Scanned<Files> | undefined> {
    const { fileOperator, allowedPaths } = context
    if (fileOperator === undefined || allowedPaths.length === 0) return undefined
    const byPaths = this.#scanned.get(fileOperator) ?? new Map<string, Promise<Scanned<Files>>>()
    this.#scanned.set(fileOperator, byPaths)
    const key = JSON.stringify(allowedPaths)
    const before = byPaths.get(key)
    if (before === undefined) {
      const opening = this.#open(fileOperator, context)
      byPaths.set(key, opening)
      opening.catch(() => byPaths.delete(key)) // the next request tries again
      this.#closeOldest(byPaths)
      return await opening
    }
    byPaths.delete(key)
    byPaths.set(key, before)
    const scanned = await before
    scanned.context = context
    scanned.users++
    try {
      await scanned.runtime.fresh()
    } finally {
      scanned.users--
    }
    return scanned
  }

  /** Paths that come and go do not add up for ever. */
  #closeOldest(byPaths: Map<string, Promise<Scanned<Files>>>): void {
    const [oldest] = byPaths
    if (byPaths.size <= MAX_PATHS || oldest === undefined) return
    byPaths.delete(oldest[0])
    void closeScanned(oldest[1])
  }

  async #open(fileOperator: Files, context: ToolsetContext<Files>): Promise<Scanned<Files>> {
    await Promise.resolve() // so that this opening is known before a hook could ask for another
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
    return Object.assign(latest, { users: 0, runtime, configs: new Map<string, SkillConfig>() })
  }
}

/** Waits for the requests that are scanning; an opening that failed has nothing to close. */
async function closeScanned<Files extends FileSystem>(opening: Promise<Scanned<Files>>): Promise<void> {
  const scanned = await opening.catch(() => undefined)
  if (scanned === undefined) return
  if (scanned.users > 0) await scanned.runtime.fresh()
  await scanned.runtime.close()
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
