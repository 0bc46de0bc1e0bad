import { ForgetfulLedger } from '../activation/ledger.ts'
import { type LoadOutcome, loadSkill, readBody } from '../activation/load-skill.ts'
import { NO_COMMANDS, type SkillAccess } from '../activation/skill-access.ts'
import { expandSlash, type SlashExpansion, type SlashOptions } from '../activation/slash.ts'
import type { SkillWriter, SkillWriterOptions } from '../authoring/skill-writer.ts'
import { AgentBinder } from '../binding/agent-binder.ts'
import type { AgentBinding, BindOptions } from '../binding/agent-binding.ts'
import type { BindableAgent } from '../binding/owned-tools.ts'
import { CatalogCache } from '../catalog/catalog-cache.ts'
import { approximateTokens, type Catalog, type TokenCounter } from '../catalog/render-catalog.ts'
import { createScopeTest, type Scope } from '../catalog/scope.ts'
import { type SearchHit, SkillSearch } from '../catalog/skill-search.ts'
import { SkillError } from '../errors.ts'
import { createEmitter } from '../events/emit-update.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { DecisionStore } from '../history/decisions.ts'
import type { SkillHistory } from '../history/skill-history.ts'
import type { SkillReview } from '../history/skill-review.ts'
import { type Clock, type Hasher, type Logger, within } from '../host.ts'
import { checkOptions } from '../options.ts'
import type { Generation } from '../registry/generation.ts'
import { SkillRegistry } from '../registry/skill-registry.ts'
import type { Phase, Subscriber } from '../registry/subscriptions.ts'
import type { Command } from '../script/command.ts'
import type { ScriptRunner } from '../script/script-runner.ts'
import {
  createAdminTools,
  createCommandTools,
  createScriptTools,
  toCommandToolName,
} from '../script/script-tools.ts'
import type { SkillScripts } from '../script/skill-scripts.ts'
import {
  createSkillAccess,
  type SessionHost,
  type SessionOptions,
  SkillSession,
} from '../session/skill-session.ts'
import type { LoadedSkill, Skill } from '../skill/skill.ts'
import type { NotSkills } from '../source/not-skill.ts'
import type { SkillSource } from '../source/skill-source.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { SourceStatus } from '../sync/source-sync.ts'
import { createSkillTools } from '../tool/skill-tools.ts'
import type { ToolDefinition } from '../tool/tool-definition.ts'
import type { NamedTool } from '../tool/tool-resolver.ts'
import { describeUnknownTool } from '../tool/unknown-tool.ts'
import { createScripts } from './create-scripts.ts'
import { assertDemands, type Demands } from './demands.ts'
import type { Explanation } from './explain-skill.ts'
import { LiveSessions } from './live-sessions.ts'
import { RecapturingStore } from './recapturing-store.ts'
import { type ReloadReport, type SkillReload, toReloadReport, toSkillReload } from './reload-report.ts'
import { createScriptAdmin, reloadScripts, type ScriptAdminHost, type ScriptReload } from './script-admin.ts'
import { SkillChanges } from './skill-changes.ts'
import { type ExplainWithin, SkillExplainer } from './skill-explainer.ts'
import {
  type FreshOptions,
  resolveRuntimeOptions,
  type SkillRuntimeOptions,
} from './skill-runtime-options.ts'
import { SourceReaders } from './source-readers.ts'

const DEFAULT_SEARCH_LIMIT = 10
// Commands that can only be known by running their scripts may come later than everything else.
const MAX_CODE_WAIT_MS = 1_000

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
  /** What waits for approval, and deciding about it. */
  readonly review: SkillReview
  readonly #registry: SkillRegistry
  readonly #sources: SourceReaders
  readonly #store: SkillStore
  /** The same for readers, who get again what it has lost. */
  readonly #stored: SkillStore
  readonly #catalogs: CatalogCache
  readonly #search = new SkillSearch()
  readonly #host: SessionHost
  readonly #clock: Clock
  readonly #demands: Demands
  readonly #sessions: LiveSessions
  readonly #logger: Logger
  readonly #changes: SkillChanges
  readonly #scripts: SkillScripts | undefined
  readonly #explainer: SkillExplainer
  #binder: AgentBinder | undefined
  #isStarted = false
  #closing: Promise<void> | undefined

  constructor(options: SkillRuntimeOptions) {
    const resolved = resolveRuntimeOptions(options)
    const { store, decisions, hasher, clock, logger } = resolved
    if (decisions.damage !== undefined) logger.error(decisions.damage)
    this.#store = store
    this.#stored = new RecapturingStore(store, {
      current: () => this.current,
      recapture: skill => this.#sources.recapture(skill),
    })
    this.#clock = clock
    this.#logger = logger
    const { onDuplicate, onInvalid, admission } = resolved
    this.#registry = new SkillRegistry({ store, hasher, clock, logger, onDuplicate, onInvalid, admission })
    this.#demands = resolved.demands
    this.#sessions = new LiveSessions(store)
    this.events = resolved.events
    const { modifiedOn, settle, rehashMs, triggers, preScan } = resolved
    this.#registry.subscribe(createEmitter({ bus: this.events, logger, modifiedOn }), { phase: 'events' })
    this.#sources = new SourceReaders({
      registry: this.#registry,
      store,
      hasher,
      clock,
      logger,
      settle,
      rehashMs,
      triggers,
      preScan,
    })
    for (const source of resolved.sources) this.#sources.add(source)
    this.#changes = new SkillChanges({
      registry: this.#registry,
      sources: this.#sources,
      store,
      decisions,
      log: resolved.log,
      events: this.events,
      writeLock: resolved.writeLock,
      agentWrites: resolved.agentWrites,
      authoring: {
        look: name => this.#sources.lookAgain(name),
        readFile: (skill, path) => this.readFile(skill, path),
        reloadSkill: async name => (await this.reloadSkill(name)).errors.map(({ message }) => message),
        reload: async conversation => {
          const { generation, errors } = await this.reload()
          const seen = conversation === undefined ? generation : generation.forConversation(conversation)
          return { names: seen.list().map(skill => skill.name), errors }
        },
      },
      clock,
      logger,
    })
    this.review = this.#changes.review
    if (resolved.scripts !== undefined) this.#scripts = this.#createScripts(resolved.scripts, decisions)
    this.#catalogs = new CatalogCache(resolved.catalog)
    this.#host = this.#createHost(resolved.catalog.countTokens ?? approximateTokens, hasher)
    this.#explainer = new SkillExplainer({
      current: () => this.current,
      sources: this.#sources,
      renderCatalog: scope => this.renderCatalog(scope),
      offer: name => this.#scripts?.offer(name) ?? NO_COMMANDS,
    })
  }

  /** Reads every source for the first time; called by `createSkillRuntime`. */
  async start(): Promise<void> {
    await this.#changes.finishSwaps()
    await this.#sources.start()
    // What was there from the beginning is no event to handlers that are added later.
    const begun = Promise.all([this.#registry.delivered(), this.#scripts?.ready()])
    await within(this.#clock, MAX_CODE_WAIT_MS, begun)
    this.#isStarted = true
    assertDemands(this.#demands, this.current, this.#sources.failures())
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
    await this.#sources.add(source).start()
  }

  /**
   * Sweeps every source: what was on disk before the call is visible afterwards, or the report says why not.
   * @throws {SkillError} CLOSED; SOURCE_MISSING, DUPLICATE_SKILL, SKILL_INVALID or HOOK_FAILED where the options ask for it
   */
  async reload(): Promise<ReloadReport> {
    this.#assertOpen()
    const previous = this.current
    await this.#sources.reload()
    await this.#scripts?.ready()
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
    assertDemands(this.#demands, generation, this.#sources.failures())
    return report
  }

  /**
   * Looks at the folders of one name again, and for one that is not known yet.
   * @throws {SkillError} CLOSED
   */
  async reloadSkill(name: string): Promise<SkillReload> {
    this.#assertOpen()
    const previous = this.current
    await this.#sources.lookAgain(name)
    const skill = this.current.find(name)
    if (skill !== undefined) await this.#scripts?.ready(skill)
    return toSkillReload(name, previous, this.current, this.status())
  }

  /**
   * The same barrier at next to no cost while events can be trusted; to be awaited before the skills are used. Folders
   * that do not hold still are read whole or not at all, so it can take two seconds while somebody writes all the time.
   * @throws {SkillError} CLOSED
   */
  async fresh(options: FreshOptions = {}): Promise<Generation> {
    this.#assertOpen()
    await this.#sources.fresh(options.maxWaitMs)
    return this.current
  }

  /** Starts a conversation that follows the skills. */
  session(options: SessionOptions): SkillSession {
    this.#assertOpen()
    const session = new SkillSession(this.#host, options)
    this.#sessions.add(session)
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
    checkOptions('tools()', options, { scope: true, skillToolName: true })
    const access = this.#reader(options.scope)
    return createSkillTools(access, options.skillToolName, this.#host.scriptTools(access))
  }

  /** What to tell a caller of a tool that does not exist; `tools` are the names of those that do. */
  describeUnknownTool(
    name: string,
    tools: readonly string[],
    options: { readonly scope?: Scope; readonly skillToolName?: string } = {},
  ): string {
    return describeUnknownTool(name, tools, this.#reader(options.scope), options.skillToolName ?? 'skill')
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
   * Writes skills into the first source that may be written to.
   * @throws {SkillError} READ_ONLY when no source may be written to
   */
  writer(options: SkillWriterOptions = {}): SkillWriter {
    this.#assertOpen()
    const source = this.#sources.find(({ writable }) => writable !== undefined)
    if (source?.writable === undefined) {
      throw new SkillError(
        'READ_ONLY',
        'no source may be written to; make one writable: directory(path, { writable: true })',
      )
    }
    return this.#changes.createWriter(source, source.writable, options)
  }

  /**
   * What skills were, and the way back.
   * @throws {SkillError} INVALID_OPTION when the runtime was not given a log to write down revisions
   */
  get history(): SkillHistory {
    if (this.#changes.history !== undefined) return this.#changes.history
    throw new SkillError(
      'INVALID_OPTION',
      'no history is kept; give one to createSkillRuntime: state: { history: new MemoryRevisionLog() }',
    )
  }

  /**
   * The commands of skills, and their other scripts.
   * @throws {SkillError} INVALID_OPTION when the runtime was given nothing that runs them
   */
  get scripts(): SkillScripts {
    if (this.#scripts !== undefined) return this.#scripts
    throw new SkillError(
      'INVALID_OPTION',
      'scripts are not run; give createSkillRuntime something that does: scripts: childProcesses()',
    )
  }

  /**
   * Reads a skill again and starts its code anew, whether or not it changed.
   * @throws {SkillError} CLOSED; INVALID_OPTION as `scripts`
   */
  async reloadScripts(name: string): Promise<ScriptReload> {
    return await reloadScripts(name, this.#admin())
  }

  /** Tools that reload and unload code: `skill_reload` and `skill_unload`. @throws {SkillError} INVALID_OPTION as `scripts` */
  adminTools(options: { readonly scope?: Scope } = {}): readonly ToolDefinition[] {
    checkOptions('adminTools()', options, { scope: true })
    return createAdminTools(this.#reader(options.scope), createScriptAdmin(this.#admin()))
  }

  /**
   * A tool for each command there is now, under a name of its own: `skill__command`, or what `toName` makes of it. The list
   * changes with the skills, so it is for agents and clients that expect that. @throws {SkillError} INVALID_OPTION as `scripts`
   */
  commandTools(
    options: { readonly scope?: Scope; readonly toName?: (command: Command) => string } = {},
  ): readonly ToolDefinition[] {
    checkOptions('commandTools()', options, { scope: true, toName: true })
    const toName = options.toName ?? (command => toCommandToolName(command, this.#host.hasher))
    return createCommandTools(this.#reader(options.scope), this.scripts, toName)
  }

  /** Whether there is something that runs scripts. */
  get hasScripts(): boolean {
    return this.#scripts !== undefined
  }

  /** The sessions that are still in use. */
  sessions(): readonly SkillSession[] {
    return this.#sessions.list()
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
    await this.#sources.refresh(name)
    const skill = this.current.get(name)
    return Object.freeze({ ...skill, body: await readBody(skill, this.#stored) })
  }

  /**
   * The instructions of a skill at its revision, without looking at its folder.
   * @throws {SkillError} REVISION_NOT_FOUND
   */
  async readBody(skill: Skill): Promise<string> {
    return await readBody(skill, this.#stored)
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
    const bytes = await this.#stored.get(file.digest)
    if (bytes === undefined)
      throw new SkillError('REVISION_NOT_FOUND', `revision ${skill.revision} is no longer stored`)
    return bytes
  }

  /**
   * Where a skill stopped on its way to a conversation: found, parsed, eligible, scoped, listed, announced, loaded; and its
   * commands. It is asked for by its name, by the name of its folder, or by a path. Nothing is looked at again; `why` does.
   */
  explain(asked: string, options: ExplainWithin = {}): Explanation {
    return this.#explainer.explain(asked, options)
  }

  /** The same, and for what is not a skill the reason, after a look at the sources. */
  async why(asked: string, options: ExplainWithin = {}): Promise<Explanation> {
    return await this.#explainer.why(asked, options)
  }

  /** Finds what lies in the sources and is not a skill, by looking at them now. */
  async findNotSkills(): Promise<NotSkills> {
    return await this.#sources.findNotSkills()
  }

  /** How each source is doing, in order of precedence. */
  status(): readonly SourceStatus[] {
    return this.#sources.status()
  }

  /** Resolves when subscribers and event handlers have been told of everything that is visible now. */
  async delivered(): Promise<void> {
    await this.#registry.delivered()
  }

  /** Stops watching, waits for what is under way, and closes the store. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#changes.stop()
      this.#binder?.close()
      await this.#sources.close()
      await this.#registry.close()
      await this.#scripts?.close()
      await this.#changes.close()
      // A disk that is full or gone keeps nobody from ending.
      await this.#store
        .close()
        .catch((error: unknown) => this.#logger.error('the store could not be flushed', { error }))
    })()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new SkillError('CLOSED', 'the skill runtime is closed')
  }

  #reader(scope: Scope | undefined): SkillAccess {
    return createSkillAccess(this.#host, createScopeTest(scope), new ForgetfulLedger())
  }

  #createScripts(runner: ScriptRunner, decisions: DecisionStore): SkillScripts {
    const scripts = createScripts({
      runner,
      registry: this.#registry,
      sources: this.#sources,
      store: this.#stored,
      review: this.review,
      decisions,
      events: this.events,
      clock: this.#clock,
      logger: this.#logger,
    })
    this.subscribe(
      update => {
        const following = scripts.follow(update)
        // Code that loads for the first time takes the place of nothing, so nobody has to wait for it.
        return this.#isStarted ? following : undefined
      },
      { phase: 'commands' },
    )
    return scripts
  }

  #admin(): ScriptAdminHost {
    return { scripts: this.scripts, reloadSkill: name => this.reloadSkill(name) }
  }

  #createBinder(): AgentBinder {
    const binder = new AgentBinder({
      current: () => this.current,
      load: async skill => Object.freeze({ ...skill, body: await readBody(skill, this.#stored) }),
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
      refresh: name => this.#sources.refresh(name),
      renderCatalog: (generation, scope) => this.#catalogs.render(generation, scope),
      search: (generation, query, limit, isInScope) =>
        this.#search.search(generation.list(), query, { limit, isInScope }),
      retain: (session, revision) => this.#sessions.retain(session, revision),
      ended: session => this.#sessions.end(session),
      scriptTools: access => (this.#scripts === undefined ? [] : createScriptTools(access, this.#scripts)),
      commandsOf: skill => this.#scripts?.offer(skill.name) ?? NO_COMMANDS,
      store: this.#stored,
      hasher,
      countTokens,
    }
  }
}
