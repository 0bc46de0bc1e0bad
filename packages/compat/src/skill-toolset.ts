import { createSkillRuntime, type Logger, SkillError, type SkillRuntime } from '@skillstoke/core'
import { checkOptions, defined, type KnownOptions, number, quote } from '@skillstoke/core/internal'
import { type FileSystem, fromAllowedPaths } from '@skillstoke/core/source'
import { NewestFileSystem, SKILL_FILE_NAMES } from './newest-file-system.ts'
import { OpenRuntimes } from './open-runtimes.ts'
import { PRESETS } from './presets.ts'
import { configKeyOf, createSkillConfig, type SkillConfig } from './skill-config.ts'

/** The file access of an agent at one request. */
export interface ToolsetContext<Files extends FileSystem = FileSystem> {
  /** Reads all files. An agent without file access has no skills. */
  readonly fileOperator?: Files
  /** Folders that the agent may use. For skills of the same name, a later folder overrides an earlier folder. */
  readonly allowedPaths: readonly string[]
  /** The agent's shell, passed to the hook. */
  readonly shell?: unknown
}

/**
 * Called before every scan, for example to copy, download or check skills. The hook must not request skills
 * from the toolset.
 */
export type PreScanToolsetHook<Files extends FileSystem = FileSystem> = (
  toolset: SkillToolset<Files>,
  context: ToolsetContext<Files>,
) => void | Promise<void>

export interface SkillToolsetOptions<Files extends FileSystem = FileSystem> {
  readonly toolsetId?: string
  readonly preScanHook?: PreScanToolsetHook<Files>
  /** How long a scan waits for the hook before the scan continues, in milliseconds. With `Infinity`, the scan always waits until the hook has ended. @default 30,000 */
  readonly preScanTimeoutMs?: number
  /**
   * Names of additional skill folders in each allowed path. If skills in these folders have the same name, a later
   * folder overrides an earlier folder, and the main folder overrides all of them. @default []
   */
  readonly extraDirNames?: readonly string[]
  /** Absolute paths of other folders that links in the skill folders may point to. @default [] */
  readonly linkRoots?: readonly string[]
  readonly logger?: Logger
}

const KNOWN: KnownOptions<SkillToolsetOptions> = {
  toolsetId: true,
  preScanHook: true,
  preScanTimeoutMs: number(1),
  extraDirNames: true,
  linkRoots: true,
  logger: true,
}

/** Folder for skills that different agent programs share. */
export const SHARED_SKILLS_DIR_NAME = '.agents/skills'

/** Maximum number of runtimes that one toolset keeps open. Each combination of a file operator and allowed paths has one runtime. */
export const MAX_OPEN_RUNTIMES = 16

/** The open runtime for one file operator and one list of allowed paths. */
interface Scanned<Files extends FileSystem> {
  /** The context of the newest request. The hook receives it. */
  context: ToolsetContext<Files>
  readonly files: NewestFileSystem
  readonly runtime: SkillRuntime
  /** The configs at the last request, by their keys. */
  configs: ReadonlyMap<string, Promise<SkillConfig>>
  close(): Promise<void>
}

/**
 * pai's toolset. At each request, the toolset scans the folders of an agent, and lists the skills of these folders in
 * its instructions. The toolset has no tools, because the agent reads and runs skills with its own tools.
 *
 * @example
 * ```ts
 * import { SkillToolset } from '@skillstoke/compat'
 * import { NodeFileSystem } from '@skillstoke/core/node'
 *
 * await using toolset = new SkillToolset('skills', { extraDirNames: ['.agents/skills'] })
 * const context = { fileOperator: new NodeFileSystem(), allowedPaths: [process.cwd()] }
 * const instructions = await toolset.getInstructions(context) // at the start of every request
 * console.log(instructions?.includes('support-pdf')) // prints true
 * console.log((await toolset.getSkills(context)).map(({ name }) => name)) // prints [ 'support-pdf' ]
 * ```
 */
export class SkillToolset<Files extends FileSystem = FileSystem> implements AsyncDisposable {
  readonly skillsDirName: string
  readonly id: string | undefined
  readonly #options: SkillToolsetOptions<Files>
  readonly #scanned = new OpenRuntimes<Scanned<Files>>(MAX_OPEN_RUNTIMES)
  /** Numbers that identify file operators without an `identity`. */
  readonly #numbers = new WeakMap<FileSystem, number>()
  #lastNumber = 0

  constructor(skillsDirName = 'skills', options: SkillToolsetOptions<Files> = {}) {
    checkOptions('SkillToolset', options, KNOWN)
    this.skillsDirName = skillsDirName
    this.id = options.toolsetId
    this.#options = options
  }

  /** Number of open runtimes: one per file operator and list of allowed paths, at most `MAX_OPEN_RUNTIMES`. */
  get openRuntimes(): number {
    return this.#scanned.size
  }

  /** Returns the list of current skills as a block for the system text, or `null` if there are no skills. */
  async getInstructions(context: ToolsetContext<Files>): Promise<string | null> {
    const text = await this.#scan(context, async ({ runtime }) => runtime.catalog().text)
    return text === undefined || text === '' ? null : text
  }

  /** Returns the current skills, sorted by name. */
  async getSkills(context: ToolsetContext<Files>): Promise<readonly SkillConfig[]> {
    return (await this.#scan(context, listConfigs)) ?? []
  }

  /** Returns an empty list, for agents that ask every toolset for its tools. */
  getTools(): Readonly<Record<string, never>> {
    return {}
  }

  /** @throws {SkillError} INVALID_OPTION always */
  callTool(name: string): never {
    throw new SkillError('INVALID_OPTION', `SkillToolset does not provide tools; there is no ${quote(name)}`)
  }

  /** Closes all runtimes. Idempotent. */
  async close(): Promise<void> {
    await this.#scanned.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Scans the folders again, then calls `work`. Returns `undefined` if the context has no file operator or no allowed path. */
  async #scan<Result>(
    context: ToolsetContext<Files>,
    work: (scanned: Scanned<Files>) => Promise<Result>,
  ): Promise<Result | undefined> {
    const { fileOperator, allowedPaths } = context
    if (fileOperator === undefined || allowedPaths.length === 0) return undefined
    const key = JSON.stringify([this.#identify(fileOperator), ...allowedPaths])
    return await this.#scanned.use(
      key,
      () => this.#open(fileOperator, context),
      async (scanned, isNew) => {
        if (!isNew) {
          scanned.context = context
          scanned.files.current = fileOperator
          await scanned.runtime.fresh()
        }
        return await work(scanned)
      },
    )
  }

  /** Returns the `identity` of a file operator, or a number if the object has no `identity`. */
  #identify(fileOperator: Files): string | number {
    if (fileOperator.identity !== undefined) return fileOperator.identity
    const known = this.#numbers.get(fileOperator)
    if (known !== undefined) return known
    this.#numbers.set(fileOperator, ++this.#lastNumber)
    return this.#lastNumber
  }

  async #open(fileOperator: Files, context: ToolsetContext<Files>): Promise<Scanned<Files>> {
    const { extraDirNames, linkRoots, preScanHook, preScanTimeoutMs, logger } = this.#options
    const latest = { context }
    const files = new NewestFileSystem(fileOperator)
    const sources = fromAllowedPaths(files, context.allowedPaths, {
      ...PRESETS.pai.source,
      layout: { fileNames: SKILL_FILE_NAMES },
      dirName: this.skillsDirName,
      ...defined({ extraDirNames, linkRoots }),
    })
    files.roots = new Set(sources.map(({ origin }) => origin))
    const runtime = await createSkillRuntime({
      ...PRESETS.pai.runtime,
      sources,
      ...defined({ logger }),
      ...(preScanHook === undefined
        ? {}
        : {
            preScan: {
              hook: () => preScanHook(this, latest.context),
              ...defined({ timeoutMs: preScanTimeoutMs }),
            },
          }),
    })
    return Object.assign(latest, { files, runtime, configs: new Map(), close: () => runtime.close() })
  }
}

/** Reads only what changed since the last request. Concurrent requests get the same objects. */
async function listConfigs<Files extends FileSystem>(scanned: Scanned<Files>): Promise<SkillConfig[]> {
  const { runtime, configs: known } = scanned
  const configs = new Map(
    runtime.current.list().map(skill => {
      const key = configKeyOf(skill)
      return [key, known.get(key) ?? createSkillConfig(skill, runtime)]
    }),
  )
  scanned.configs = configs
  return await Promise.all(configs.values()).catch((thrown: unknown) => {
    scanned.configs = new Map() // the next request tries again
    throw thrown
  })
}
