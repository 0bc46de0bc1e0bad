import { withoutMemory } from '../activation/conversation.ts'
import { invokeSkill, type SlashExpansion } from '../activation/invoke-skill.ts'
import { type LoadOutcome, loadSkill } from '../activation/load-skill.ts'
import { expandSlash, KNOWN_SLASH, type SlashOptions } from '../activation/slash.ts'
import type { SkillWriterOptions } from '../authoring/skill-write.ts'
import type { SkillWriter } from '../authoring/skill-writer.ts'
import type { AgentBinding, BindOptions } from '../binding/agent-binding.ts'
import type { BindableAgent } from '../binding/owned-tools.ts'
import type { SkillScope } from '../catalog/scope.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { SkillHistory } from '../history/skill-history.ts'
import type { SkillReview } from '../history/skill-review.ts'
import { closeInTurn } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import { type ConversationView, SkillReader } from '../reader/skill-reader.ts'
import type { Generation } from '../registry/generation.ts'
import type { SubscribeOptions, UpdateSubscriber } from '../registry/subscriptions.ts'
import type { SkillCommand } from '../script/command.ts'
import { createCommandTools, createScriptTools } from '../script/script-tools.ts'
import type { SkillScripts } from '../script/skill-scripts.ts'
import type { SessionOptions } from '../session/session-options.ts'
import type { SkillSession } from '../session/skill-session.ts'
import type { Skill } from '../skill/skill.ts'
import { toToolName } from '../skill/tool-name.ts'
import type { NotSkills } from '../source/not-skill.ts'
import type { SkillSource } from '../source/skill-source.ts'
import type { SourceStatus } from '../sync/source-sync.ts'
import { createSkillTools } from '../tool/skill-tools.ts'
import { withUses } from '../tool/skill-use.ts'
import type { ToolDefinition } from '../tool/tool-definition.ts'
import { checkSkillToolName, TOOL_NAMES } from '../tool/tool-names.ts'
import type { NamedTool } from '../tool/tool-resolver.ts'
import { describeUnknownTool } from '../tool/unknown-tool.ts'
import { createAdminTools } from './admin-tools.ts'
import type { RuntimeParts } from './assemble-runtime.ts'
import type { ReloadReport, SkillReload } from './reload-report.ts'
import type { ScriptReload } from './skill-reloads.ts'
import type { SkillUsage } from './skill-uses.ts'

/** The skills to which a call applies. */
export interface ScopeOptions {
  /** @default all skills */
  readonly scope?: SkillScope
}

export interface ToolsOptions extends ScopeOptions {
  /** Name of the tool that loads skills. @default 'skill' */
  readonly skillToolName?: string
}

const KNOWN_SCOPE: KnownOptions<ScopeOptions> = { scope: true }
const KNOWN_TOOLS: KnownOptions<ToolsOptions> = { ...KNOWN_SCOPE, skillToolName: true }
const KNOWN_COMMAND_TOOLS = { ...KNOWN_SCOPE, toName: true } as const
const KNOWN_SCOPED_SLASH = { ...KNOWN_SLASH, ...KNOWN_SCOPE }

/**
 * Serves live skills. All readers get the same generation, and each visible change of a source creates a new
 * generation. Created by `createSkillRuntime`.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const { body } = await skills.load('support-pdf')
 * console.log(body) // prints Instructions of support-pdf.
 * const session = skills.session({ id: 'chat-1' })
 * console.log(session.tools.map(tool => tool.name)) // prints [ 'skill', 'read_skill_file' ]
 * ```
 */
export class SkillRuntime extends SkillReader implements AsyncDisposable {
  /** Emits an event for each change, each reload, each decision and each call of a script. */
  readonly events: EventBus
  /** Lists revisions that wait for approval, and records decisions. */
  readonly review: SkillReview
  /** Lists and restores earlier revisions of skills. Needs `state.history`. */
  readonly history: SkillHistory
  /** Runs the commands and other scripts of skills. Needs the option `scripts`. */
  readonly scripts: SkillScripts
  readonly #parts: RuntimeParts
  #closing: Promise<void> | undefined

  constructor(parts: RuntimeParts) {
    super(parts.reader)
    this.#parts = parts
    this.events = parts.events
    this.review = parts.review
    this.history = parts.changes.history
    this.scripts = parts.scripts
  }

  /**
   * Adds a function that is called after each visible change. Returns a function that removes the subscriber.
   * Subscribers are called phase by phase. A subscriber that throws or hangs does not affect other subscribers.
   * @throws {SkillError} INVALID_OPTION
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const source = new MemorySource({ label: 'mine' })
   * await using skills = await createSkillRuntime({ sources: [source] })
   * skills.subscribe(({ changes }) => {
   *   for (const { kind, name } of changes) console.log(kind, name) // prints added greet
   * })
   * source.put({ name: 'greet', description: 'Use when greeting.' })
   * await skills.fresh()
   * await skills.delivered()
   * ```
   */
  subscribe(subscriber: UpdateSubscriber, options?: SubscribeOptions): () => void {
    return this.#parts.registry.subscribe(subscriber, options)
  }

  /**
   * Yields the current generation, then each newer generation. Ends when the runtime is closed or the signal aborts.
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   *
   * const source = new MemorySource({ label: 'mine' })
   * await using skills = await createSkillRuntime({ sources: [source] })
   * for await (const generation of skills.watch()) {
   *   const names = generation.list().map(skill => skill.name)
   *   console.log(names)
   *   // prints []
   *   // prints [ 'greet' ]
   *   if (names.length > 0) break
   *   source.put({ name: 'greet', description: 'Use when greeting.' })
   * }
   * ```
   */
  watch(signal?: AbortSignal): AsyncGenerator<Generation, void, undefined> {
    return this.#parts.registry.watch(signal)
  }

  /**
   * Adds a source with the lowest precedence. Resolves when the skills of the source are visible, or when `status()`
   * reports why the source cannot be read.
   * @throws {SkillError} CLOSED; DUPLICATE_SOURCE when another source has the same label
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const greet = { name: 'greet', description: 'Use when greeting.' }
   * await skills.addSource(new MemorySource({ label: 'plugin' }, [greet]))
   * console.log(skills.current.list().map(skill => skill.name)) // prints [ 'greet', 'support-pdf' ]
   * ```
   */
  async addSource(source: SkillSource): Promise<void> {
    await this.#parts.sources.add(source).start()
  }

  /**
   * Sweeps every source. When the call resolves, all earlier changes on disk are visible, or the report contains their
   * errors.
   * @throws {SkillError} CLOSED; SOURCE_MISSING, DUPLICATE_SKILL, SKILL_INVALID or HOOK_FAILED if the options turn
   * these faults into errors
   *
   * @example
   * ```ts
   * import { writeFile } from 'node:fs/promises'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * await writeFile('skills/support-pdf/SKILL.md', '---\nname: support-pdf\ndescription: Fills in forms.\n---\nDo it.\n')
   * const { count, modified, errors } = await skills.reload()
   * console.log(count, modified, errors) // prints 1 [ 'support-pdf' ] []
   * ```
   */
  async reload(): Promise<ReloadReport> {
    return await this.#parts.reloads.reload()
  }

  /**
   * Reads again the folders that may contain one skill, including a new folder with its name.
   * @throws {SkillError} CLOSED
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * console.log((await skills.reloadSkill('support-pdf')).status) // prints reloaded
   * console.log((await skills.reloadSkill('support-doc')).status) // prints not-found
   * ```
   */
  async reloadSkill(name: string): Promise<SkillReload> {
    return await this.#parts.reloads.reloadSkill(name)
  }

  /**
   * Reads a skill again and restarts its code. @throws {SkillError} CLOSED; INVALID_OPTION when the runtime has no
   * runner
   */
  async reloadScripts(name: string): Promise<ScriptReload> {
    return await this.#parts.reloads.reloadScripts(name)
  }

  /**
   * Opens the session of a new or a stored conversation.
   * @throws {SkillError} CLOSED, INVALID_OPTION; DUPLICATE_SESSION when an open session has the same id and no state is
   * resumed
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * using session = skills.session({ id: 'chat-1', scope: { include: ['support-*'] } })
   * const system = `You are a helpful assistant.\n\n${session.catalog}`
   * console.log(system.includes('support-pdf'), session.catalogDetails.listed) // prints true [ 'support-pdf' ]
   * ```
   */
  session(options: SessionOptions): SkillSession {
    this.#parts.sources.assertOpen()
    return this.#parts.sessions.create(options)
  }

  /** Returns the open sessions. */
  sessions(): readonly SkillSession[] {
    return this.#parts.sessions.list()
  }

  /**
   * Returns how often a skill was used since the runtime started, and its last use; `undefined` if it was not used. The
   * event `skill:used` reports each use.
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const [skill] = skills.session({ id: 'chat-1' }).tools
   * await skill?.execute({ name: 'support-pdf' }, { callId: 'call-1' })
   * const { count, conversation } = skills.usageOf('support-pdf') ?? {}
   * console.log(count, conversation) // prints 1 chat-1
   * ```
   */
  usageOf(name: string): SkillUsage | undefined {
    return this.#parts.uses.find(name)
  }

  /**
   * Creates the tools for a host that keeps no conversation, for example a stateless server. The tools answer from the
   * newest generation and keep no state between calls.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const [skill] = skills.tools({ scope: { exclude: ['internal-*'] } })
   * const answer = await skill?.execute({ name: 'support-pdf' })
   * console.log(answer?.isError, answer?.text.includes('Instructions of support-pdf.')) // prints false true
   * ```
   */
  tools(options: ToolsOptions = {}): readonly ToolDefinition[] {
    this.#parts.sources.assertOpen()
    checkOptions('tools()', options, KNOWN_TOOLS)
    checkSkillToolName(options.skillToolName)
    const conversation = withoutMemory(this.#readerOf(options))
    const scriptTools = this.scripts.canRun ? createScriptTools(conversation, this.scripts) : []
    const tools = createSkillTools(conversation, options.skillToolName, scriptTools)
    return tools.map(tool => withUses(tool, this.#parts.uses))
  }

  /**
   * Creates the tools that reload and unload code: `skill_reload` and `skill_unload`.
   * @throws {SkillError} INVALID_OPTION when the runtime has no runner
   */
  adminTools(options: ScopeOptions = {}): readonly ToolDefinition[] {
    checkOptions('adminTools()', options, KNOWN_SCOPE)
    this.#parts.programs.requireRunner()
    return createAdminTools(this.#readerOf(options), this.#parts.reloads, this.scripts)
  }

  /**
   * Creates one tool for each current command, with the name `skill__command` or the result of `toName`. The list
   * changes when skills change, so the agent or client must support a changing list of tools.
   * @throws {SkillError} INVALID_OPTION when the runtime has no runner
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   * import { childProcesses } from '@skillstoke/scripts'
   *
   * const script = `import { defineCommand } from 'skillstoke/command'
   * export const day = defineCommand({ name: 'day', description: 'Names the day.', run: () => 'Monday' })`
   * const source = new MemorySource({ label: 'mine' }, [
   *   { name: 'calendar', description: 'Use for dates.', files: { 'scripts/day.ts': script } },
   * ])
   * await using skills = await createSkillRuntime({ sources: [source], scripts: childProcesses() })
   * await skills.scripts.execute('calendar.day') // the commands exist once the code is loaded
   * console.log(skills.commandTools().map(tool => tool.name)) // prints [ 'calendar__day' ]
   * ```
   */
  commandTools(
    options: ScopeOptions & { readonly toName?: (command: SkillCommand) => string } = {},
  ): readonly ToolDefinition[] {
    checkOptions('commandTools()', options, KNOWN_COMMAND_TOOLS)
    this.#parts.programs.requireRunner()
    const toName = options.toName ?? (({ skill, name }) => toToolName(skill, name, this.#parts.hasher))
    const tools = createCommandTools(withoutMemory(this.#readerOf(options)), this.scripts, toName)
    return tools.map(({ tool }) => withUses(tool, this.#parts.uses))
  }

  /**
   * Returns the answer to a model that called an unknown tool. `tools` lists the names of the existing tools.
   * @throws {SkillError} INVALID_OPTION
   */
  describeUnknownTool(name: string, tools: readonly string[], options: ToolsOptions = {}): string {
    checkOptions('describeUnknownTool()', options, KNOWN_TOOLS)
    return describeUnknownTool(
      name,
      tools,
      this.#readerOf(options),
      options.skillToolName ?? TOOL_NAMES.loadSkill,
    )
  }

  /**
   * Finds a skill by its name or by words, in the same way as the skill tool. Reads the folder of the skill again, and
   * returns the skill, similar skills, or no skill. Records nothing.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * const found = await skills.lookup('suport-pdf')
   * if (found.kind === 'loaded') console.log(found.body)
   * if (found.kind === 'not-found') console.log(found.suggestions) // prints [ 'support-pdf' ]
   * ```
   */
  async lookup(name: string, options: ScopeOptions = {}): Promise<LoadOutcome> {
    checkOptions('lookup()', options, KNOWN_SCOPE)
    return await loadSkill(name, withoutMemory(this.#readerOf(options)))
  }

  /**
   * Does the same as `SkillSession.expandSlash`, for a host that keeps no conversations.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   */
  async expandSlash(message: string, options: SlashOptions & ScopeOptions = {}): Promise<SlashExpansion> {
    checkOptions('expandSlash()', options, KNOWN_SCOPED_SLASH)
    const expansion = await expandSlash(message, withoutMemory(this.#readerOf(options)), options)
    if (expansion.skill !== undefined) this.#recordUse(expansion.skill)
    return expansion
  }

  /**
   * Does the same as `SkillSession.invoke`, for a host that keeps no conversations.
   * @throws {SkillError} CLOSED, REVISION_NOT_FOUND
   */
  async invoke(skill: Skill, values: Readonly<Record<string, string>>): Promise<Required<SlashExpansion>> {
    const asked = { generation: this.current, skill, name: skill.name }
    const invocation = await invokeSkill(asked, values, withoutMemory(this))
    this.#recordUse(skill)
    return invocation
  }

  /**
   * Adds the tools and instructions of the current skills to an agent. Updates both after each change of a skill, even
   * while the agent runs. An agent that is already bound keeps its binding.
   * @throws {SkillError} CLOSED
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * const tools = new Set<string>()
   * const agent = {
   *   addTool: ({ name }: { name: string }) => tools.add(name),
   *   removeTool: (name: string) => tools.delete(name),
   * }
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * await skills.bind(agent, { tools: { 'support-pdf': { name: 'read_pdf' } } })
   * console.log(tools) // prints Set(1) { 'read_pdf' }
   * ```
   */
  async bind<Tool extends NamedTool>(
    agent: BindableAgent<Tool>,
    options: BindOptions<Tool> = {},
  ): Promise<AgentBinding> {
    this.#parts.sources.assertOpen()
    return await this.#parts.binder.bind(agent, options)
  }

  /** Ends the binding of an agent. Does nothing if the agent is not bound. */
  async unbind(agent: BindableAgent): Promise<void> {
    await this.#parts.binder.unbind(agent)
  }

  /**
   * Returns a writer for the first writable source.
   * @throws {SkillError} CLOSED; READ_ONLY when no source is writable
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills', { writable: true })] })
   * const content = '---\nname: release-notes\ndescription: Use when release notes are written.\n---\nOne line each.\n'
   * const { isNew } = await skills.writer().write({ skill: 'release-notes', path: 'SKILL.md', content })
   * console.log(isNew, skills.current.find('release-notes')?.description)
   * // prints true Use when release notes are written.
   * ```
   */
  writer(options: SkillWriterOptions = {}): SkillWriter {
    this.#parts.sources.assertOpen()
    return this.#parts.changes.createWriter(options)
  }

  /** Scans the sources for files and folders that are not skills. */
  async findNotSkills(): Promise<NotSkills> {
    return await this.#parts.sources.findNotSkills()
  }

  /**
   * Returns the state of each source, in order of precedence.
   *
   * @example
   * ```ts
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills', { watching: 'off' })] })
   * for (const { label, mode, lastError } of skills.status()) console.log(label, mode, lastError ?? 'no error')
   * // prints skills manual no error
   * ```
   */
  status(): readonly SourceStatus[] {
    return this.#parts.sources.status()
  }

  /** Resolves when all subscribers and event handlers were called for the current generation. */
  async delivered(): Promise<void> {
    await this.#parts.registry.delivered()
  }

  /** Stops watching, waits for work in progress, and closes the stores. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    const { changes, binder, sources, registry, programs, store, logger } = this.#parts
    changes.stop()
    binder.close()
    // If one part fails to close, still close the others, which may have open processes, locks or files.
    await closeInTurn(
      [
        () => sources.close(),
        () => registry.close(),
        () => programs.close(),
        () => changes.close(),
        // Only log the error, so that the process can end although its disk is full or missing.
        () =>
          store.close().catch((error: unknown) => logger.error('the store could not be flushed', { error })),
      ],
      logger,
    )
  }

  #recordUse({ name: skill, revision }: Skill): void {
    this.#parts.uses.used({ skill, revision, by: 'user' })
  }

  #readerOf({ scope }: ConversationView): SkillReader {
    return scope === undefined ? this : this.forConversation({ scope })
  }
}
