import type { SkillScope } from '../catalog/scope.ts'
import { checkChoice, checkNumber, SkillError, toMessage } from '../errors.ts'
import { type Clock, LATE, type Logger, waitAtMost } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import type { Generation } from '../registry/generation.ts'
import type { LoadedSkill, Skill } from '../skill/skill.ts'
import { type NamedTool, type ToolMap, type ToolResolver, toToolResolver } from '../tool/tool-resolver.ts'
import { type BindableAgent, OwnedTools } from './owned-tools.ts'

/** Writes the part of an agent's instructions that is about its skills; gets them sorted by name, with their bodies. */
export type InstructionsBuilder = (skills: readonly LoadedSkill[]) => string | Promise<string>

/** The values of `UnbindMode`. */
export const UNBIND_MODES = ['remove', 'keep'] as const

/** Whether an agent that is unbound loses what it was given. */
export type UnbindMode = (typeof UNBIND_MODES)[number]

export interface BindOptions<Tool extends NamedTool = NamedTool> {
  /** Which tools belong to which skill. @default none */
  readonly tools?: ToolResolver<Tool> | ToolMap<Tool>
  /** Appended to the instructions that the agent has of its own, and kept up to date there. @default none */
  readonly instructions?: InstructionsBuilder
  /** Which skills the agent may see. @default all */
  readonly scope?: SkillScope
  /** Whether unbinding takes off what the binding had added. @default 'remove' */
  readonly unbind?: UnbindMode
  /** How long a call of the agent, the resolver or the builder may take, in milliseconds; `Infinity` is no limit. @default 30,000 */
  readonly timeoutMs?: number
}

const KNOWN_OPTIONS: KnownOptions<BindOptions> = {
  tools: true,
  instructions: true,
  scope: true,
  unbind: true,
  timeoutMs: true,
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
 * An agent that follows the skills: it has the tools of those it may see, and instructions built from them. What its
 * agent, resolver or builder fail with is retried, so nothing is lost and no other agent waits for it.
 */
export class AgentBinding implements AsyncDisposable {
  readonly #agent: BindableAgent
  readonly #host: AgentBinderOptions
  readonly #reader: SkillReader
  readonly #onEnd: (binding: AgentBinding) => void
  readonly #options: BindOptions
  readonly #resolver: ToolResolver | undefined
  readonly #tools: OwnedTools<NamedTool>
  /** The skills whose tools the agent has, as they were resolved. */
  readonly #applied = new Map<string, Skill>()
  /** What went wrong and is to be done again: names of skills, or the instructions. */
  readonly #owed = new Map<string | typeof INSTRUCTIONS, unknown>()
  readonly #hadInstructions: boolean
  /** What was written last behind, or in, the agent's own instructions. */
  #block = ''
  #hasWritten = false
  #queue: Promise<void> = Promise.resolve()
  /** How many turns are in the queue, the running one included. */
  #turns = 0
  /** Names whose tools the next turn brings up to date; `all` is every name there is when it begins. */
  #due: Set<string> | 'all' | undefined
  /** The turns that wait in the queue: later changes join them, so a hanging agent collects no backlog. */
  #nextTools: Promise<void> | undefined
  #nextInstructions: Promise<void> | undefined
  #retries = 0
  #cancelRetry: (() => void) | undefined
  #unbinding: Promise<void> | undefined
  #isStopped = false

  /** Made by `SkillRuntime.bind`. */
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
    this.#reader = host.reader.forConversation(options.scope === undefined ? {} : { scope: options.scope })
    this.#onEnd = onEnd
    this.#hadInstructions = agent.instructions !== undefined
    this.#tools = new OwnedTools(agent, (what, call) => this.#guard(what, call))
  }

  /** The tools that it has put on the agent, with the skills that have each. */
  tools(): readonly { readonly name: string; readonly skills: readonly string[] }[] {
    return this.#tools.list()
  }

  /** What could not be done yet, as sentences; it is retried. */
  problems(): readonly string[] {
    return [...this.#owed.values()].map(toMessage)
  }

  /** Brings the tools of these skills up to date, of all skills when none are named; never rejects. */
  async syncTools(names?: readonly string[]): Promise<void> {
    this.#due = names === undefined || this.#due === 'all' ? 'all' : new Set([...(this.#due ?? []), ...names])
    this.#nextTools ??= this.#enqueue(async () => {
      this.#nextTools = undefined
      await this.#syncDue()
    })
    await this.#nextTools
  }

  /** Writes the instructions anew; never rejects. */
  async syncInstructions(): Promise<void> {
    this.#nextInstructions ??= this.#enqueue(async () => {
      this.#nextInstructions = undefined
      await this.#build()
    })
    await this.#nextInstructions
  }

  /** Resolves when everything asked for so far is done or has failed. */
  async settled(): Promise<void> {
    await this.#queue
  }

  /** Whether work for its agent is under way or waits for its turn. */
  get isBusy(): boolean {
    return this.#turns > 0
  }

  /** Whether it no longer follows. */
  get isUnbound(): boolean {
    return this.#isStopped
  }

  /** Stops following, and leaves everything as it is. */
  stop(): void {
    this.#isStopped = true
    this.#cancelRetry?.()
  }

  /**
   * Stops following, and takes off what was added unless the options say otherwise. Idempotent.
   * @throws {SkillError} HOOK_FAILED when the agent would not let go of something; calling it again tries again
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
    await this.#queue
    if ((this.#options.unbind ?? 'remove') === 'remove') {
      const [failure] = await this.#tools.clear()
      if (failure !== undefined) {
        throw new SkillError(
          'HOOK_FAILED',
          `the agent keeps a tool: ${toMessage(failure)}; unbind it again`,
          {
            cause: failure,
          },
        )
      }
      this.#restore()
    }
    this.#onEnd(this)
  }

  async #syncDue(): Promise<void> {
    const due = this.#due ?? []
    this.#due = undefined
    if (this.#resolver === undefined) return
    const generation = this.#reader.current
    const owed = [...this.#owed.keys()].filter(key => typeof key === 'string')
    const wanted =
      due === 'all' ? [...generation.list().map(skill => skill.name), ...this.#applied.keys()] : due
    for (const name of new Set([...owed, ...wanted])) {
      // An agent that hangs and is unbound is not asked for the rest.
      if (this.#isStopped) return
      await this.#syncSkill(name, generation)
    }
  }

  async #build(): Promise<void> {
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
      this.#owe(name, new Error(`tools of ${JSON.stringify(name)}: ${toMessage(thrown)}`, { cause: thrown }))
    }
  }

  async #resolve(skill: Skill): Promise<readonly NamedTool[]> {
    const tools = await this.#guard(`resolve(${JSON.stringify(skill.name)})`, () =>
      this.#resolver?.resolve(skill),
    )
    const isTool = (tool: unknown): boolean =>
      typeof tool === 'object' &&
      tool !== null &&
      typeof (tool as NamedTool).name === 'string' &&
      (tool as NamedTool).name !== ''
    if (Array.isArray(tools) && tools.every(isTool)) return tools
    throw new SkillError(
      'INVALID_OPTION',
      `the resolver gave something else than a list of tools with names for ${JSON.stringify(skill.name)}`,
    )
  }

  /** The agent's own text stays in front, also when its owner has changed it around the block that was there. */
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

  /** One thing after the other, and nothing once it is unbound. */
  async #enqueue(work: () => Promise<void>): Promise<void> {
    this.#turns++
    const turn = this.#queue
      .then(async () => {
        if (this.#isStopped) return
        await work()
        if (this.#owed.size === 0) this.#retries = 0
        else this.#retryLater()
      })
      .finally(() => this.#turns--)
    this.#queue = turn
    await turn
  }

  /** One timer at a time; the wait doubles only when a retry has failed again. */
  #retryLater(): void {
    if (this.#cancelRetry !== undefined || this.#isStopped) return
    const delayMs = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#retries)
    const retry = async (): Promise<void> => {
      this.#cancelRetry = undefined
      this.#retries++
      const owesInstructions = this.#owed.has(INSTRUCTIONS)
      await this.syncTools([])
      if (owesInstructions) await this.syncInstructions()
    }
    this.#cancelRetry = this.#host.clock.after(delayMs, () => void retry(), { background: true })
  }

  #owe(key: string | typeof INSTRUCTIONS, failure: unknown): void {
    const isNews = toMessage(this.#owed.get(key)) !== toMessage(failure)
    this.#owed.set(key, failure)
    if (isNews) this.#tell(failure)
  }

  #tell(failure: unknown): void {
    this.#host.logger.warn('an agent could not be brought up to date; it is retried', { error: failure })
  }
}

/** @throws {SkillError} INVALID_OPTION with what is wrong and what would be right */
function checkBinding(agent: BindableAgent, options: BindOptions): void {
  checkOptions('bind()', options, KNOWN_OPTIONS)
  const { addTool, removeTool } = (agent ?? {}) as Partial<Record<'addTool' | 'removeTool', unknown>>
  if (typeof addTool !== 'function' || typeof removeTool !== 'function')
    throw new SkillError('INVALID_OPTION', 'an agent needs the methods addTool() and removeTool()')
  if (options.tools !== undefined && (typeof options.tools !== 'object' || options.tools === null))
    throw new SkillError('INVALID_OPTION', `tools is ${typeof options.tools}; use a map, or { resolve }`)
  checkChoice('unbind', options.unbind, UNBIND_MODES)
  checkNumber('timeoutMs', options.timeoutMs, 1)
}
