import type { SkillScope } from '../catalog/scope.ts'
import { defined } from '../defined.ts'
import { SkillError, toMessage } from '../errors.ts'
import { type Clock, LATE, type Logger, waitAtMost } from '../host.ts'
import { checkOptions, type KnownOptions, number, oneOf } from '../options.ts'
import { quote } from '../quote.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { Generation } from '../registry/generation.ts'
import type { LoadedSkill, Skill } from '../skill/skill.ts'
import { type NamedTool, type ToolMap, type ToolResolver, toToolResolver } from '../tool/tool-resolver.ts'
import { type BindableAgent, OwnedTools } from './owned-tools.ts'

/** Builds the text about skills in an agent's instructions. Receives the skills sorted by name, with their bodies. */
export type InstructionsBuilder = (skills: readonly LoadedSkill[]) => string | Promise<string>

/** The values of `UnbindMode`. */
export const UNBIND_MODES = ['remove', 'keep'] as const

/** Whether unbinding removes or keeps the tools and instructions that the binding added. */
export type UnbindMode = (typeof UNBIND_MODES)[number]

export interface BindOptions<Tool extends NamedTool = NamedTool> {
  /** The tools that belong to each skill, as a resolver or a map. @default none */
  readonly tools?: ToolResolver<Tool> | ToolMap<Tool>
  /**
   * Builds the text that the binding appends to the agent's own instructions. The text is built again after each change
   * of a skill.
   * @default none
   */
  readonly instructions?: InstructionsBuilder
  /** The skills that the agent may see. @default all */
  readonly scope?: SkillScope
  /** Whether unbinding removes or keeps the tools and instructions that the binding added. @default 'remove' */
  readonly unbind?: UnbindMode
  /**
   * Time limit in milliseconds for one call to the agent, the resolver or the builder. `Infinity` means no limit.
   * @default 30,000
   */
  readonly timeoutMs?: number
}

const KNOWN_OPTIONS: KnownOptions<BindOptions> = {
  tools: true,
  instructions: true,
  scope: true,
  unbind: oneOf(UNBIND_MODES),
  timeoutMs: number(1),
}

export const DEFAULT_BINDING_TIMEOUT_MS = 30_000

export interface AgentBinderOptions {
  readonly reader: SkillReader
  readonly clock: Clock
  readonly logger: Logger
}

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000
const INSTRUCTIONS = Symbol('instructions')

/**
 * Keeps the tools and instructions of an agent up to date with the skills that the agent may see. A failed call to the
 * agent, the resolver or the builder is retried and delays no other agent.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 *
 * const agent = { instructions: 'You are a helpful assistant.', addTool() {}, removeTool() {} }
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * const binding = await skills.bind(agent, { instructions: known => known.map(skill => skill.name).join() })
 * console.log(agent.instructions.endsWith('support-pdf'), binding.problems()) // prints true []
 * await binding.unbind()
 * console.log(agent.instructions) // prints You are a helpful assistant.
 * ```
 */
export class AgentBinding implements AsyncDisposable {
  readonly #agent: BindableAgent
  readonly #host: AgentBinderOptions
  readonly #reader: SkillReader
  readonly #onEnd: (binding: AgentBinding) => void
  readonly #options: BindOptions
  readonly #resolver: ToolResolver | undefined
  readonly #tools: OwnedTools<NamedTool>
  /** The skills whose tools the agent has, each at the revision for which the tools were resolved. */
  readonly #applied = new Map<string, Skill>()
  /** Failures to retry. The key is the name of a skill, or `INSTRUCTIONS`. */
  readonly #owed = new Map<string | typeof INSTRUCTIONS, unknown>()
  readonly #hadInstructions: boolean
  /** The text that was last written into the agent's instructions. */
  #block = ''
  #hasWritten = false
  /** Names of the skills whose tools the next turn updates. `all` means all skills that exist when the turn starts. */
  #due: Set<string> | 'all' | undefined
  /** Whether the next turn builds the instructions. */
  #isBuildDue = false
  /** Updates the agent until nothing is due. */
  #running: Promise<void> | undefined
  #retries = 0
  #cancelRetry: (() => void) | undefined
  #unbinding: Promise<void> | undefined
  #isStopped = false

  /** Used by `SkillRuntime.bind`. */
  constructor(
    agent: BindableAgent,
    host: AgentBinderOptions,
    options: BindOptions,
    onEnd: (binding: AgentBinding) => void,
  ) {
    checkBinding(agent, options)
    this.#agent = agent
    this.#host = host
    this.#options = options
    this.#resolver = options.tools === undefined ? undefined : toToolResolver(options.tools)
    this.#reader = host.reader.forConversation(defined({ scope: options.scope }))
    this.#onEnd = onEnd
    this.#hadInstructions = agent.instructions !== undefined
    this.#tools = new OwnedTools(agent, (what, call) => this.#guard(what, call))
  }

  /** Returns the tools that the binding added to the agent, each with the skills that provide it. */
  tools(): readonly { readonly name: string; readonly skills: readonly string[] }[] {
    return this.#tools.list()
  }

  /** Returns the messages of the failures that will be retried. */
  problems(): readonly string[] {
    return [...this.#owed.values()].map(toMessage)
  }

  /** Updates the tools of the named skills; of all skills if `names` is absent. Never rejects. */
  async syncTools(names?: readonly string[]): Promise<void> {
    this.#due = names === undefined || this.#due === 'all' ? 'all' : new Set([...(this.#due ?? []), ...names])
    await this.#sync()
  }

  /** Rebuilds the instructions. Never rejects. */
  async syncInstructions(): Promise<void> {
    this.#isBuildDue = true
    await this.#sync()
  }

  /** Resolves when all updates that were requested earlier have succeeded or failed. */
  async settled(): Promise<void> {
    await this.#running
  }

  /** True if an update of the agent is running. */
  get isBusy(): boolean {
    return this.#running !== undefined
  }

  /** True if the binding no longer updates the agent. */
  get isUnbound(): boolean {
    return this.#isStopped
  }

  /** Stops updating the agent. The agent keeps its tools and instructions. */
  stop(): void {
    this.#isStopped = true
    this.#cancelRetry?.()
  }

  /**
   * Stops updating the agent. Removes the added tools and instructions, unless the option `unbind` is `keep`.
   * Idempotent.
   * @throws {SkillError} HOOK_FAILED when the agent does not remove a tool; call `unbind()` again to retry
   */
  unbind(): Promise<void> {
    this.#unbinding ??= this.#takeOff().catch((thrown: unknown) => {
      this.#unbinding = undefined
      throw thrown
    })
    return this.#unbinding
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.unbind()
  }

  async #takeOff(): Promise<void> {
    this.stop()
    await this.#running
    if ((this.#options.unbind ?? 'remove') === 'remove') {
      const [failure] = await this.#tools.clear()
      if (failure !== undefined) {
        const message = `the agent did not remove a tool: ${toMessage(failure)}; call unbind() again`
        throw new SkillError('HOOK_FAILED', message, { cause: failure })
      }
      this.#restore()
    }
    this.#onEnd(this)
  }

  async #syncDue(due: Set<string> | 'all'): Promise<void> {
    this.#due = undefined
    if (this.#resolver === undefined) return
    const generation = this.#reader.current
    const owed = [...this.#owed.keys()].filter(key => typeof key === 'string')
    const wanted =
      due === 'all' ? [...generation.list().map(skill => skill.name), ...this.#applied.keys()] : due
    for (const name of new Set([...owed, ...wanted])) {
      // Stop if the agent was unbound during the last call to the agent.
      if (this.#isStopped) return
      await this.#syncSkill(name, generation)
    }
  }

  async #build(): Promise<void> {
    this.#isBuildDue = false
    const build = this.#options.instructions
    if (build === undefined) return
    try {
      const skills = this.#reader.current.list().filter(skill => this.#reader.isInScope(skill.name))
      const loaded = await Promise.all(
        skills.map(async skill => Object.freeze({ ...skill, body: await this.#reader.readBody(skill) })),
      )
      this.#write(await this.#guard('the instructions builder', () => build(Object.freeze(loaded))))
      this.#owed.delete(INSTRUCTIONS)
    } catch (thrown) {
      this.#owe(INSTRUCTIONS, new Error(`instructions: ${toMessage(thrown)}`, { cause: thrown }))
    }
  }

  async #syncSkill(name: string, generation: Generation): Promise<void> {
    const skill = this.#reader.isInScope(name) ? generation.find(name) : undefined
    if (skill === this.#applied.get(name) && !this.#owed.has(name)) return
    try {
      const tools = skill === undefined ? [] : await this.#resolve(skill)
      const [failure] = await this.#tools.replace(name, tools)
      if (skill === undefined) this.#applied.delete(name)
      else this.#applied.set(name, skill)
      if (failure !== undefined) throw failure
      this.#owed.delete(name)
    } catch (thrown) {
      this.#owe(name, new Error(`tools of ${quote(name)}: ${toMessage(thrown)}`, { cause: thrown }))
    }
  }

  async #resolve(skill: Skill): Promise<readonly NamedTool[]> {
    const tools = await this.#guard(`resolve(${quote(skill.name)})`, () => this.#resolver?.resolve(skill))
    const isTool = (tool: unknown): boolean =>
      typeof tool === 'object' &&
      tool !== null &&
      typeof (tool as NamedTool).name === 'string' &&
      (tool as NamedTool).name !== ''
    if (Array.isArray(tools) && tools.every(isTool)) return tools
    throw new SkillError(
      'INVALID_OPTION',
      `the resolver returned something other than a list of tools with names for ${quote(skill.name)}`,
    )
  }

  /** Removes the old block and appends the new block, even if the owner changed the text around the old block. */
  #write(block: string): void {
    const own = this.#ownText()
    this.#block = own === '' || block === '' ? block : `\n\n${block}`
    this.#agent.instructions = `${own}${this.#block}`
    this.#hasWritten = true
  }

  #ownText(): string {
    const text = this.#agent.instructions ?? ''
    return this.#block === '' ? text : text.replace(this.#block, () => '')
  }

  #restore(): void {
    if (!this.#hasWritten) return
    const own = this.#ownText()
    if (own === '' && !this.#hadInstructions) delete this.#agent.instructions
    else this.#agent.instructions = own
    this.#block = ''
    this.#hasWritten = false
  }

  async #guard<T>(what: string, call: () => T | Promise<T>): Promise<T> {
    const timeoutMs = this.#options.timeoutMs ?? DEFAULT_BINDING_TIMEOUT_MS
    const result = await waitAtMost(this.#host.clock, timeoutMs, (async () => await call())())
    if (result === LATE) throw new SkillError('HOOK_FAILED', `${what} took longer than ${timeoutMs} ms`)
    return result
  }

  /** Runs turns until nothing is due, so that nothing piles up while an agent hangs. */
  async #sync(): Promise<void> {
    do {
      this.#running ??= this.#run().finally(() => (this.#running = undefined))
      await this.#running
    } while (this.#isDue)
  }

  get #isDue(): boolean {
    return !this.#isStopped && (this.#due !== undefined || this.#isBuildDue)
  }

  async #run(): Promise<void> {
    while (this.#isDue) {
      if (this.#due !== undefined) await this.#syncDue(this.#due)
      else await this.#build()
    }
    if (this.#owed.size === 0) this.#retries = 0
    else this.#retryLater()
  }

  /** Starts a timer for the next retry, unless a timer is running. The delay doubles after each failed retry. */
  #retryLater(): void {
    if (this.#cancelRetry !== undefined || this.#isStopped) return
    const delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#retries)
    const retry = async (): Promise<void> => {
      this.#cancelRetry = undefined
      this.#retries++
      if (this.#owed.has(INSTRUCTIONS)) this.#isBuildDue = true
      await this.syncTools([])
    }
    this.#cancelRetry = this.#host.clock.after(delayMs, () => void retry(), { background: true })
  }

  #owe(key: string | typeof INSTRUCTIONS, failure: unknown): void {
    const isNews = toMessage(this.#owed.get(key)) !== toMessage(failure)
    this.#owed.set(key, failure)
    if (isNews)
      this.#host.logger.warn('an agent could not be updated; the update is retried', { error: failure })
  }
}

/** @throws {SkillError} INVALID_OPTION with the fault and a valid value */
function checkBinding(agent: BindableAgent, options: BindOptions): void {
  checkOptions('bind()', options, KNOWN_OPTIONS)
  const { addTool, removeTool } = (agent ?? {}) as Partial<Record<'addTool' | 'removeTool', unknown>>
  if (typeof addTool !== 'function' || typeof removeTool !== 'function')
    throw new SkillError('INVALID_OPTION', 'an agent needs the methods addTool() and removeTool()')
  if (options.tools !== undefined && (typeof options.tools !== 'object' || options.tools === null))
    throw new SkillError('INVALID_OPTION', `tools is ${typeof options.tools}; use a map, or { resolve }`)
}
