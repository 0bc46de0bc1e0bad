import { ForgetfulLedger } from '../activation/ledger.ts'
import { type LoadOutcome, loadSkill, readBody } from '../activation/load-skill.ts'
import type { SkillAccess } from '../activation/skill-access.ts'
import { expandSlash, type SlashExpansion, type SlashOptions } from '../activation/slash.ts'
import { SkillWriter, type SkillWriterOptions } from '../authoring/skill-writer.ts'
import { AgentBinder } from '../binding/agent-binder.ts'
import type { AgentBinding, BindOptions } from '../binding/agent-binding.ts'
import type { BindableAgent } from '../binding/owned-tools.ts'
import { CatalogCache } from '../catalog/catalog-cache.ts'
import {
  approximateTokens,
  type Catalog,
  type CatalogOptions,
  type TokenCounter,
} from '../catalog/render-catalog.ts'
import { createScopeTest, type Scope } from '../catalog/scope.ts'
import { type SearchHit, SkillSearch } from '../catalog/skill-search.ts'
import { SkillError } from '../errors.ts'
import { emitUpdate } from '../events/emit-update.ts'
import { type EventBus, InProcessEventBus } from '../events/event-bus.ts'
import {
  type Clock,
  type Hasher,
  type Logger,
  portableHasher,
  silentLogger,
  systemClock,
  within,
} from '../host.ts'
import type { AdmissionPolicy } from '../registry/admission.ts'
import type { Generation } from '../registry/generation.ts'
import type { DuplicatePolicy } from '../registry/name-index.ts'
import { type InvalidPolicy, SkillRegistry } from '../registry/skill-registry.ts'
import type { Phase, Subscriber } from '../registry/subscriptions.ts'
import {
  createSkillAccess,
  type SessionHost,
  type SessionOptions,
  SkillSession,
} from '../session/skill-session.ts'
import { FACETS, type Facet } from '../skill/diff-skills.ts'
import type { Digest } from '../skill/digest.ts'
import type { LoadedSkill, Skill } from '../skill/skill.ts'
import { isLoadableName } from '../skill/skill-name.ts'
import { DEFAULT_SETTLE, type SettlePolicy } from '../source/settle.ts'
import type { SkillSource } from '../source/skill-source.ts'
import { MemorySkillStore } from '../store/memory-skill-store.ts'
import type { SkillStore } from '../store/skill-store.ts'
import { type SourceStatus, SourceSync } from '../sync/source-sync.ts'
import { createSkillTools } from '../tool/skill-tools.ts'
import type { ToolDefinition } from '../tool/tool-definition.ts'
import type { NamedTool } from '../tool/tool-resolver.ts'
import { assertDemands, type Demands } from './demands.ts'
import { type Explanation, explainSkill } from './explain-skill.ts'
import { PreScan, type PreScanHook, type PreScanOptions } from './pre-scan.ts'
import { type ReloadReport, type SkillReload, toReloadReport, toSkillReload } from './reload-report.ts'

export interface SkillRuntimeOptions {
  /** In order of precedence. */
  readonly sources: readonly SkillSource[]
  /** Where what was read is kept. Closed with the runtime. @default in memory */
  readonly store?: SkillStore
  /** @default portableHasher */
  readonly hasher?: Hasher
  /**
   * Which of several skills with one name is served. With `error`, starting and `reload` fail while there are some.
   * @default 'first-wins'
   */
  readonly onDuplicate?: DuplicatePolicy
  /**
   * What a text that cannot be served does to its skill. With `throw` the last good revision stays, and starting and
   * `reload` fail. @default 'keep-last-good'
   */
  readonly onInvalid?: InvalidPolicy | 'throw'
  /** Changes of which parts of a skill emit `skill:modified`. @default all of them */
  readonly modifiedOn?: readonly Facet[]
  /** When sources are looked at besides their own events and `reload`. */
  readonly triggers?: Partial<ReadTriggers>
  /** Called before the sources are scanned at the start, on `reload`, and on requests where no events tell of changes. */
  readonly preScan?: PreScanHook | PreScanOptions
  /** Decides whether a new revision goes live. @default by the trust of its source */
  readonly admission?: AdmissionPolicy
  /** When a burst of changes counts as finished. @default DEFAULT_SETTLE */
  readonly settle?: Partial<SettlePolicy>
  /** How often all bytes are hashed again whatever the file facts say, in milliseconds. @default 600,000 */
  readonly rehashMs?: number
  readonly catalog?: CatalogOptions
  /** @default a new InProcessEventBus */
  readonly events?: EventBus
  readonly logger?: Logger
  readonly clock?: Clock
}

/** When sources are looked at without having been told of a change. */
export interface ReadTriggers {
  /** Whether loading a skill looks at its folder first. @default true */
  readonly onAccess: boolean
  /** Whether `fresh`, and with it every `update` of a session, reads sources that have no events. @default true */
  readonly onRequest: boolean
}

export interface FreshOptions {
  /** After how long the newest generation will do as it is. @default none */
  readonly maxWaitMs?: number
}

export const DEFAULT_REHASH_MS = 600_000

const DEFAULT_SEARCH_LIMIT = 10

/**
 * Reads all sources once and keeps following them until it is closed. A source that cannot be read does not stop the
 * others: its state is in `status()`.
 * @throws {SkillError} DUPLICATE_SOURCE when two sources have the same label; SOURCE_MISSING, DUPLICATE_SKILL,
 * SKILL_INVALID or HOOK_FAILED where the options ask for it
 */
export async function createSkillRuntime(options: SkillRuntimeOptions): Promise<SkillRuntime> {
  const runtime = new SkillRuntime(options)
  try {
    await runtime.start()
  } catch (thrown) {
    await runtime.close()
    throw thrown
  }
  return runtime
}

/** Live skills: one generation for every reader, kept true by the sources. Made by `createSkillRuntime`. */
export class SkillRuntime implements AsyncDisposable {
  /** What happened, for whoever wants to hear of it. */
  readonly events: EventBus
  readonly #registry: SkillRegistry
  readonly #syncs: SourceSync[] = []
  readonly #createSync: (source: SkillSource) => SourceSync
  readonly #store: SkillStore
  readonly #catalogs: CatalogCache
  readonly #search = new SkillSearch()
  readonly #host: SessionHost
  readonly #clock: Clock
  readonly #triggers: ReadTriggers
  readonly #preScan: PreScan | undefined
  readonly #demands: Demands
  readonly #sessions = new Set<WeakRef<SkillSession>>()
  readonly #retained = new WeakMap<SkillSession, Set<Digest>>()
  readonly #finalizer = new FinalizationRegistry<Set<Digest>>(revisions => {
    for (const revision of revisions) this.#store.release(revision)
  })
  readonly #logger: Logger
  #binder: AgentBinder | undefined
  #closing: Promise<void> | undefined

  constructor(options: SkillRuntimeOptions) {
    const logger = options.logger ?? silentLogger
    const clock = options.clock ?? systemClock
    const hasher = options.hasher ?? portableHasher
    const store = options.store ?? new MemorySkillStore({ clock })
    this.#store = store
    this.#clock = clock
    this.#logger = logger
    this.#registry = new SkillRegistry({
      store,
      hasher,
      clock,
      logger,
      ...(options.onDuplicate === undefined ? {} : { onDuplicate: options.onDuplicate }),
      ...(options.onInvalid === 'drop' ? { onInvalid: 'drop' } : {}),
      ...(options.admission === undefined ? {} : { admission: options.admission }),
    })
    this.#demands = {
      isUnique: options.onDuplicate === 'error',
      isValid: options.onInvalid === 'throw',
    }
    this.#triggers = { onAccess: true, onRequest: true, ...options.triggers }
    this.#preScan = options.preScan === undefined ? undefined : new PreScan(options.preScan, clock, logger)
    this.events =
      options.events ??
      new InProcessEventBus({
        onHandlerError: (error, name) => logger.error('an event handler failed', { name, error }),
      })
    const modifiedOn = new Set(options.modifiedOn ?? FACETS)
    this.#registry.subscribe(update => emitUpdate(this.events, update, modifiedOn), { phase: 'events' })
    const settle = { ...DEFAULT_SETTLE, ...options.settle }
    const rehashMs = options.rehashMs ?? DEFAULT_REHASH_MS
    this.#createSync = source =>
      new SourceSync({
        source,
        registry: this.#registry,
        store,
        hasher,
        clock,
        logger,
        settle,
        rehashMs,
        readsOnRequest: this.#triggers.onRequest,
      })
    for (const source of options.sources) this.#register(source)
    this.#catalogs = new CatalogCache(options.catalog ?? {})
    this.#host = this.#createHost(options.catalog?.countTokens ?? approximateTokens, hasher)
  }

  /** Reads every source for the first time; called by `createSkillRuntime`. */
  async start(): Promise<void> {
    await this.#preScan?.run('start')
    await Promise.all(this.#syncs.map(sync => sync.start()))
    assertDemands(this.#demands, this.current, this.#syncs)
  }

  /** The newest generation. Take it once for everything that belongs together. */
  get current(): Generation {
    return this.#registry.current
  }

  /**
   * Calls back after each visible change, with what changed for readers; returns a function that unsubscribes.
   * Phases are told in their order; a subscriber that throws or hangs harms nobody else.
   */
  subscribe(subscriber: Subscriber, options?: { readonly phase?: Phase }): () => void {
    return this.#registry.subscribe(subscriber, options)
  }

  /** The present generation, then each newer one; ends when the runtime is closed or the signal aborts. */
  watch(signal?: AbortSignal): AsyncGenerator<Generation, void, undefined> {
    return this.#registry.watch(signal)
  }

  /**
   * Adds a source behind all others in precedence; resolves when its skills are visible, or `status()` says why not.
   * @throws {SkillError} CLOSED; DUPLICATE_SOURCE when another source has its label
   */
  async addSource(source: SkillSource): Promise<void> {
    this.#assertOpen()
    await this.#register(source).start()
  }

  /**
   * Sweeps every source: what was on disk before the call is visible afterwards, or the report says why not.
   * @throws {SkillError} CLOSED; SOURCE_MISSING, DUPLICATE_SKILL, SKILL_INVALID or HOOK_FAILED where the options ask for it
   */
  async reload(): Promise<ReloadReport> {
    this.#assertOpen()
    const previous = this.current
    await this.#preScan?.run('reload')
    await Promise.all(this.#syncs.map(sync => sync.reload()))
    const report = toReloadReport(previous, this.current, this.status())
    const { generation, count, added, modified, removed } = report
    await this.events.emit('skills:reloaded', {
      generation: generation.number,
      digest: generation.digest,
      count,
      added,
      modified,
      removed,
      errors: report.errors.map(({ message }) => message),
    })
    assertDemands(this.#demands, generation, this.#syncs)
    return report
  }

  /**
   * Looks at the folders of one name again, and for one that is not known yet.
   * @throws {SkillError} CLOSED
   */
  async reloadSkill(name: string): Promise<SkillReload> {
    this.#assertOpen()
    const previous = this.current
    await this.#lookAgain(name)
    return toSkillReload(name, previous, this.current, this.status())
  }

  /**
   * The same barrier at next to no cost while events can be trusted; to be awaited before the skills are used. Folders
   * that do not hold still are read whole or not at all, so it can take two seconds while somebody writes all the time.
   * @throws {SkillError} CLOSED
   */
  async fresh(options: FreshOptions = {}): Promise<Generation> {
    this.#assertOpen()
    const { maxWaitMs } = options
    const read = this.#readNewer()
    if (maxWaitMs === undefined) await read
    else await within(this.#clock, maxWaitMs, read)
    return this.current
  }

  /** Starts a conversation that follows the skills. */
  session(options: SessionOptions): SkillSession {
    this.#assertOpen()
    const session = new SkillSession(this.#host, options)
    this.#sessions.add(new WeakRef(session))
    return session
  }

  /**
   * The constant tools for a reader that keeps no conversation, such as a stateless server. They answer from the newest
   * generation and remember nothing between calls.
   */
  tools(
    options: { readonly scope?: Scope; readonly skillToolName?: string } = {},
  ): readonly ToolDefinition[] {
    this.#assertOpen()
    return createSkillTools(this.#reader(options.scope), options.skillToolName)
  }

  /**
   * What a name or some words lead to, as the skill tool would find it: the skill itself after a look at its folder,
   * near matches, or nothing. Remembers nothing.
   */
  async lookup(name: string, options: { readonly scope?: Scope } = {}): Promise<LoadOutcome> {
    this.#assertOpen()
    return await loadSkill(name, this.#reader(options.scope))
  }

  /** `SkillSession.expandSlash` for a host that keeps no conversations. */
  async expandSlash(
    message: string,
    options: SlashOptions & { readonly scope?: Scope } = {},
  ): Promise<SlashExpansion> {
    this.#assertOpen()
    return await expandSlash(message, this.#reader(options.scope), options)
  }

  /**
   * Lets an agent follow the skills: it gets the tools of those that exist now, and from then on each change of tools and
   * instructions in the middle of its run. An agent that is bound already keeps its binding.
   */
  async bind<Tool extends NamedTool>(
    agent: BindableAgent<Tool>,
    options: BindOptions<Tool> = {},
  ): Promise<AgentBinding> {
    this.#assertOpen()
    this.#binder ??= this.#createBinder()
    return await this.#binder.bind(agent, options)
  }

  /** Ends the binding of an agent; nothing happens when it has none. */
  async unbind(agent: BindableAgent): Promise<void> {
    await this.#binder?.unbind(agent)
  }

  /**
   * Writes skills into the first source that may be written to. Take one writer for all who write.
   * @throws {SkillError} READ_ONLY when no source may be written to
   */
  writer(options: SkillWriterOptions = {}): SkillWriter {
    this.#assertOpen()
    const source = this.#syncs.map(sync => sync.source).find(({ writable }) => writable !== undefined)
    if (source?.writable === undefined) {
      throw new SkillError(
        'READ_ONLY',
        'no source may be written to; make one writable: directory(path, { writable: true })',
      )
    }
    const host = {
      find: (name: string) => this.current.find(name),
      readFile: (skill: Skill, path: string) => this.readFile(skill, path),
      reloadSkill: async (name: string) =>
        (await this.reloadSkill(name)).errors.map(({ message }) => message),
      reload: async () => {
        const { count, errors } = await this.reload()
        return { count, errors: errors.map(({ message }) => message) }
      },
    }
    return new SkillWriter({ label: source.label, ...source.writable }, host, {
      clock: this.#clock,
      ...options,
    })
  }

  /** The sessions that are still in use. */
  sessions(): readonly SkillSession[] {
    const alive: SkillSession[] = []
    for (const reference of this.#sessions) {
      const session = reference.deref()
      if (session === undefined) this.#sessions.delete(reference)
      else alive.push(session)
    }
    return alive
  }

  /** The catalog text for a scope, rendered only when something that it shows has changed. */
  renderCatalog(scope?: Scope): Catalog {
    return this.#catalogs.render(this.current, scope)
  }

  /** Ranked search over names and descriptions, best first. */
  search(
    query: string,
    options: { readonly limit?: number; readonly scope?: Scope } = {},
  ): readonly SearchHit[] {
    const limit = options.limit ?? DEFAULT_SEARCH_LIMIT
    return this.#search.search(this.current.list(), query, {
      limit,
      isInScope: createScopeTest(options.scope),
    })
  }

  /**
   * A skill with its instructions, after looking at its folder again.
   * @throws {SkillError} SKILL_NOT_FOUND
   */
  async load(name: string): Promise<LoadedSkill> {
    this.#assertOpen()
    await this.#refresh(name)
    const skill = this.current.get(name)
    return Object.freeze({ ...skill, body: await readBody(skill, this.#store) })
  }

  /**
   * The instructions of a skill at its revision, without looking at its folder.
   * @throws {SkillError} REVISION_NOT_FOUND
   */
  async readBody(skill: Skill): Promise<string> {
    return await readBody(skill, this.#store)
  }

  /**
   * One file of a skill at its revision, old revisions included as long as they are stored.
   * @throws {SkillError} FILE_NOT_FOUND, REVISION_NOT_FOUND
   */
  async readFile(skill: Skill, path: string): Promise<Uint8Array> {
    const file = skill.files.find(each => each.path === path)
    if (file === undefined)
      throw new SkillError(
        'FILE_NOT_FOUND',
        `${JSON.stringify(skill.name)} has no file ${JSON.stringify(path)}`,
      )
    const bytes = await this.#store.get(file.digest)
    if (bytes === undefined)
      throw new SkillError('REVISION_NOT_FOUND', `revision ${skill.revision} is no longer stored`)
    return bytes
  }

  /** Where a skill stopped on its way to a conversation: found, parsed, eligible, scoped, listed, announced, loaded. */
  explain(
    name: string,
    options: { readonly scope?: Scope; readonly session?: SkillSession } = {},
  ): Explanation {
    return explainSkill(name, this.current, scope => this.renderCatalog(scope), options)
  }

  /** How each source is doing, in order of precedence. */
  status(): readonly SourceStatus[] {
    return this.#syncs.map(sync => sync.status())
  }

  /** Resolves when subscribers and event handlers have been told of everything that is visible now. */
  async delivered(): Promise<void> {
    await this.#registry.delivered()
  }

  /** Stops watching, waits for what is under way, and closes the store. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#preScan?.close()
      await Promise.all(this.#syncs.map(sync => sync.close()))
      await this.#registry.close()
      await this.#store.close()
    })()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new SkillError('CLOSED', 'the skill runtime is closed')
  }

  #register(source: SkillSource): SourceSync {
    this.#registry.addSource(source)
    const sync = this.#createSync(source)
    this.#syncs.push(sync)
    return sync
  }

  #reader(scope: Scope | undefined): SkillAccess {
    return createSkillAccess(this.#host, createScopeTest(scope), new ForgetfulLedger())
  }

  async #readNewer(): Promise<void> {
    if (this.#syncs.some(sync => sync.scansOnRequest)) await this.#preScan?.run('request')
    await Promise.all(this.#syncs.map(sync => sync.fresh()))
  }

  async #refresh(name: string): Promise<void> {
    if (this.#triggers.onAccess) await this.#lookAgain(name)
  }

  /** Looks again at the folders that serve a name, and for a folder of that name that is not known yet. */
  async #lookAgain(name: string): Promise<void> {
    const isNamed = ({ name: other, location }: { name: string; location: string }): boolean =>
      other === name || location.split('/').at(-1) === name
    const served = this.current.find(name)
    const known = served === undefined ? this.current.reports().filter(isNamed) : [served]
    const isProbed = known.length === 0
    await Promise.all(
      this.#syncs.map(async sync => {
        const locations = new Set(
          known.flatMap(({ source, location }) => (source === sync.label ? location : [])),
        )
        // Where nothing tells of changes, a folder that would come first could be there by now.
        if ((isProbed || sync.scansOnRequest) && isLoadableName(name)) locations.add(name)
        if (locations.size === 0) await sync.fresh()
        await Promise.all([...locations].map(location => sync.refresh(location)))
      }),
    )
  }

  #forget(session: SkillSession): void {
    for (const reference of this.#sessions)
      if (reference.deref() === session) this.#sessions.delete(reference)
    const retained = this.#retained.get(session)
    if (retained === undefined) return
    for (const revision of retained) this.#store.release(revision)
    retained.clear()
  }

  /** What a conversation was given stays readable until nobody holds the conversation any more. */
  #retain(session: SkillSession, revision: Digest): void {
    let retained = this.#retained.get(session)
    if (retained === undefined) {
      retained = new Set()
      this.#retained.set(session, retained)
      this.#finalizer.register(session, retained)
    }
    if (retained.has(revision)) return
    retained.add(revision)
    this.#store.retain(revision)
  }

  #createBinder(): AgentBinder {
    const binder = new AgentBinder({
      current: () => this.current,
      load: async skill => Object.freeze({ ...skill, body: await readBody(skill, this.#store) }),
      clock: this.#clock,
      logger: this.#logger,
    })
    this.subscribe(update => binder.syncTools(update), { phase: 'tools' })
    this.subscribe(update => binder.syncInstructions(update), { phase: 'instructions' })
    return binder
  }

  #createHost(countTokens: TokenCounter, hasher: Hasher): SessionHost {
    return {
      current: () => this.current,
      fresh: async () => {
        await this.fresh()
      },
      refresh: name => this.#refresh(name),
      renderCatalog: (generation, scope) => this.#catalogs.render(generation, scope),
      search: (generation, query, limit, isInScope) =>
        this.#search.search(generation.list(), query, { limit, isInScope }),
      retain: (session, revision) => this.#retain(session, revision),
      ended: session => this.#forget(session),
      store: this.#store,
      hasher,
      countTokens,
    }
  }
}
