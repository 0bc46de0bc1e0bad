import {
  type Skill as CoreSkill,
  createSkillRuntime,
  type Generation,
  type Logger,
  MemorySource,
  SkillError,
  type SkillRuntime,
  type SkillRuntimeOptions,
} from '@skillstoke/core'
import { checkOptions, defined, type KnownOptions, quote } from '@skillstoke/core/internal'
import { type DirectoryOptions, directory } from '@skillstoke/core/node'
import { EXO_READING, toExoSkill } from './exo-skill.ts'
import { FoldingSource } from './folding-source.ts'
import { foldInto } from './from-watcher.ts'
import { type GitHubSourceOptions, gitHubSource } from './github-polling-watcher.ts'
import type { Skill } from './skill.ts'
import { SkillChangeEvent, type SkillChangeFields } from './skill-watcher.ts'
import { SourceRoot } from './source-root.ts'

const CONFLICT_STRATEGIES = ['keep_first', 'keep_last', 'raise'] as const

/** What happens if two skills have the same name: the first is kept, the last is kept, or `loadAll()` rejects. */
export type ConflictStrategy = (typeof CONFLICT_STRATEGIES)[number]

/** Matches `https://`, `http://` and `ssh://` URLs, and `git@host:path`. Any other text is the path of a folder. */
const REPOSITORY = /^(?:https?|ssh):\/\/|^[\w.-]+@[\w.-]+:/i

type DuplicatePolicy = NonNullable<SkillRuntimeOptions['onDuplicate']>

const POLICIES: Readonly<Record<ConflictStrategy, DuplicatePolicy>> = {
  keep_first: 'first-wins',
  keep_last: 'last-wins',
  raise: 'error',
}

export interface SkillRegistryOptions {
  /** @default 'keep_first' */
  readonly conflictStrategy?: ConflictStrategy
  readonly logger?: Logger
}

const KNOWN: KnownOptions<SkillRegistryOptions> = { conflictStrategy: true, logger: true }

export interface SearchOptions {
  /** Text that the name or the description must contain, in any letter case. @default '' */
  readonly query?: string
  readonly skillType?: string
  /** @default false */
  readonly activeOnly?: boolean
}

const KNOWN_SEARCH: KnownOptions<SearchOptions> = { query: true, skillType: true, activeOnly: true }

/**
 * Exo's registry of skills, which reads folders on demand. Between these reads, a `SkillSyncManager` keeps the registry up to
 * date. Skills and their instructions are available synchronously.
 *
 * @example
 * ```ts
 * import { SkillRegistry } from '@skillstoke/compat'
 *
 * await using registry = new SkillRegistry({ conflictStrategy: 'keep_first' }).registerSource('./skills')
 * await registry.loadAll()
 * console.log(registry.listNames(), registry.get('support-pdf').usage)
 * // prints [ 'support-pdf' ] Instructions of support-pdf.
 * ```
 */
export class SkillRegistry implements AsyncDisposable {
  readonly #options: SkillRegistryOptions
  readonly #onDuplicate: DuplicatePolicy
  readonly #folders: FoldingSource[] = []
  readonly #views = new WeakMap<CoreSkill, Promise<Skill>>()
  /** The skills of the newest generation, by name. */
  #served: ReadonlyMap<string, Skill> = new Map()
  #opening: Promise<SkillRuntime> | undefined

  /** @throws {SkillError} INVALID_OPTION for an unknown strategy */
  constructor(options: SkillRegistryOptions = {}) {
    checkOptions('SkillRegistry', options, KNOWN)
    const { conflictStrategy = 'keep_first' } = options
    const policy = Object.hasOwn(POLICIES, conflictStrategy) ? POLICIES[conflictStrategy] : undefined
    if (policy === undefined) {
      const known = Object.keys(POLICIES).join(', ')
      throw new SkillError('INVALID_OPTION', `conflictStrategy is "${conflictStrategy}"; use one of ${known}`)
    }
    this.#options = options
    this.#onDuplicate = policy
  }

  /**
   * Registers a folder, or a repository on GitHub or another server. Earlier sources have precedence. The folder or repository is first read by `loadAll()`.
   * @param options.linkRoots folders outside a registered folder that its links may point to
   * @throws {SkillError} INVALID_OPTION with `Invalid GitHub URL: ...`
   */
  registerSource(
    pathOrUrl: string,
    { linkRoots = [], ...options }: GitHubSourceOptions & Pick<DirectoryOptions, 'linkRoots'> = {},
  ): this {
    const source = REPOSITORY.test(pathOrUrl)
      ? gitHubSource(pathOrUrl, options)
      : directory(pathOrUrl, { watching: 'off', onMissing: 'throw', reading: EXO_READING, linkRoots })
    const root = new SourceRoot(source.origin, pathOrUrl)
    this.#folders.push(new FoldingSource(`source-${this.#folders.length + 1}`, root, source))
    return this
  }

  /**
   * Reads all registered sources again.
   * @throws {SkillError} SOURCE_MISSING; DUPLICATE_SKILL with the strategy `raise`; IO_FAILED or NOT_FOUND when a
   * repository cannot be read
   */
  async loadAll(): Promise<void> {
    for (const folder of this.#folders) folder.request('load')
    const isOpen = this.#opening !== undefined
    try {
      const runtime = await this.open()
      if (isOpen) await runtime.reload()
      await runtime.delivered()
      for (const folder of this.#folders) if (folder.failure !== undefined) throw folder.failure
    } catch (thrown) {
      throw toExoError(thrown)
    }
  }

  /** Returns the current version of the skill with the given name. @throws {SkillError} SKILL_NOT_FOUND */
  get(name: string): Skill {
    const skill = this.#served.get(name)
    if (skill === undefined)
      throw new SkillError('SKILL_NOT_FOUND', `Skill '${name}' not found`, {
        data: { available: this.listNames() },
      })
    return skill
  }

  search(options: SearchOptions = {}): readonly Skill[] {
    checkOptions('search()', options, KNOWN_SEARCH)
    const { query = '', skillType, activeOnly = false } = options
    const wanted = query.toLowerCase()
    return [...this.#served.values()].filter(
      skill =>
        (skill.name.toLowerCase().includes(wanted) || skill.description.toLowerCase().includes(wanted)) &&
        (skillType === undefined || skill.skillType === skillType) &&
        (!activeOnly || skill.active),
    )
  }

  /** Returns the names of all skills, sorted. */
  listNames(): readonly string[] {
    return [...this.#served.keys()]
  }

  /** A new map of all skills, by name. */
  get skills(): Map<string, Skill> {
    return new Map(this.#served)
  }

  /** Closes the registry. Stop every manager that uses the registry before you close the registry. Idempotent. */
  async close(): Promise<void> {
    await (await this.#opening?.catch(() => undefined))?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Returns the underlying runtime, for features that Exo does not have. The first call starts the runtime. */
  async open(): Promise<SkillRuntime> {
    this.#opening ??= this.#start()
    try {
      const runtime = await this.#opening
      for (const folder of this.#folders)
        if (!runtime.status().some(({ label }) => label === folder.label)) await runtime.addSource(folder)
      return runtime
    } catch (thrown) {
      this.#opening = undefined
      throw thrown
    }
  }

  /** Adds a source for the skills that one watcher reports outside the registered folders. */
  async addPlace(): Promise<MemorySource> {
    const runtime = await this.open()
    const label = `watcher-${runtime.status().length + 1}`
    const place = new MemorySource({ label, reading: EXO_READING })
    await runtime.addSource(place)
    return place
  }

  /**
   * Applies a batch of a watcher as a whole. Each event goes to the registered sources that contain its `sourcePath`. If no registered source contains the path, the event goes to the watcher's own source. The skill name does not identify the source, because several sources may have a skill of this name. Invalid events are
   * skipped and logged. Resolves after all subscribers were called.
   */
  async apply(batch: readonly SkillChangeFields[], own: MemorySource): Promise<void> {
    const runtime = await this.open()
    for (const event of batch) {
      try {
        this.#fold(event, own)
      } catch (thrown) {
        this.#options.logger?.warn('an invalid event of a watcher was skipped', { event, error: thrown })
      }
    }
    await runtime.fresh()
    await runtime.delivered()
  }

  /**
   * Reads the folders of a watcher again, to find changes between `loadAll()` and the start of the watcher. If
   * a folder cannot be read, the registry keeps its contents and logs the failure.
   */
  async catchUp(origin: string): Promise<void> {
    const folders = this.#folders.filter(({ root }) => root.overlaps(origin))
    if (folders.length === 0) return
    const runtime = await this.open()
    for (const folder of folders) folder.request('catch-up')
    await runtime.fresh()
    await runtime.delivered()
    for (const { failure: error, origin: source } of folders)
      if (error !== undefined)
        this.#options.logger?.warn('a source could not be read again', { source, error })
  }

  /** Registered folders can be nested, so an event may apply to several of them. */
  #fold(event: SkillChangeFields, own: MemorySource): void {
    const { kind, skill, skillName, sourcePath } = new SkillChangeEvent(event)
    if (kind !== 'removed' && skill?.name !== skillName)
      throw new SkillError(
        'INVALID_OPTION',
        `the event of ${quote(skillName)} contains a skill with another name`,
      )
    const folders = this.#folders.filter(({ root }) => root.within(sourcePath) !== undefined)
    for (const folder of folders) folder.fold(event)
    if (folders.length === 0) foldInto(own, event)
  }

  /** Returns a skill with Exo's fields. Repeated calls for one skill return the same object. */
  async view(skill: CoreSkill): Promise<Skill> {
    return await this.#view(await this.open(), skill)
  }

  async #start(): Promise<SkillRuntime> {
    const { logger } = this.#options
    const runtime = await createSkillRuntime({
      sources: this.#folders,
      onDuplicate: this.#onDuplicate,
      tuning: { settle: { settleMs: 0, burstMs: 0 } },
      ...defined({ logger }),
    })
    // No source changes before the first caller of `open()` continues, so the first update cannot overtake this one.
    runtime.subscribe(({ generation }) => this.#show(runtime, generation), { phase: 'tools' })
    await this.#show(runtime, runtime.current)
    return runtime
  }

  async #view(runtime: SkillRuntime, skill: CoreSkill): Promise<Skill> {
    const view = this.#views.get(skill) ?? runtime.readBody(skill).then(usage => toExoSkill(skill, usage))
    this.#views.set(skill, view)
    return await view
  }

  async #show(runtime: SkillRuntime, generation: Generation): Promise<void> {
    const list = generation.list()
    const views = await Promise.all(list.map(skill => this.#view(runtime, skill)))
    this.#served = new Map(views.map(view => [view.name, view]))
  }
}

/** Converts errors to the messages that Exo uses. */
function toExoError(thrown: unknown): unknown {
  if (!SkillError.isInstance(thrown)) return thrown
  const fail = (message: string): SkillError =>
    new SkillError(thrown.code, message, { cause: thrown, data: thrown.data })
  if (thrown.code === 'SOURCE_MISSING')
    return fail(`Skill source directory not found: ${/"(.*?)"/.exec(thrown.message)?.[1] ?? ''}`)
  if (thrown.code === 'DUPLICATE_SKILL')
    return fail(`Duplicate skill '${/"(.*?)"/.exec(thrown.message)?.[1] ?? ''}' (conflict_strategy=raise)`)
  return thrown
}
