import {
  type AgentBinding,
  type BindableAgent,
  type Clock,
  type Logger,
  type RegistryUpdate,
  SkillError,
  type SkillRuntime,
  silentLogger,
  systemClock,
  type ToolMap,
} from '../index.ts'
import type { ExoSkill } from './exo-skill.ts'
import { fromLoadedSkill } from './exo-skill.ts'
import type { FoldingSource } from './folding-source.ts'
import { followWatcher } from './follow-watcher.ts'
import type { SkillRegistry } from './skill-registry.ts'
import type { SkillWatcherLike } from './skill-watcher.ts'
import { DictToolResolver, type ToolResolver } from './tool-resolver.ts'

/** Where events go: `EventBus`, or anything that can emit. */
export interface EventSink {
  emit(name: string, payload: Readonly<Record<string, unknown>>): void | Promise<void>
}

export interface SkillSyncManagerOptions {
  readonly eventBus?: EventSink
  /** Writes the part of the agents' instructions that is about skills, from the active ones. */
  readonly instructionsBuilder?: (skills: readonly ExoSkill[]) => string | Promise<string>
  /** Whether an agent that is unbound loses what it was given. @default 'remove' */
  readonly unbind?: 'remove' | 'keep'
  readonly logger?: Logger
  readonly clock?: Clock
}

interface Task {
  readonly watcher: SkillWatcherLike
  readonly done: Promise<void>
  readonly begun: Promise<void>
}

/**
 * Keeps a registry, and the agents bound to it, up to date with what watchers find. To be disposed of or stopped; it can
 * be started again.
 */
export class SkillSyncManager implements AsyncDisposable {
  readonly #registry: SkillRegistry
  readonly #resolver: ToolResolver
  readonly #options: SkillSyncManagerOptions
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #watchers: SkillWatcherLike[] = []
  readonly #places = new Map<SkillWatcherLike, FoldingSource>()
  readonly #bindings = new Map<BindableAgent, AgentBinding>()
  #tasks: Task[] = []
  #turn: Promise<void> = Promise.resolve()
  #stopping: AbortController | undefined
  #unsubscribe: (() => void) | undefined

  /** `tools`: a resolver, or a map from the names of skills to tools. */
  constructor(registry: SkillRegistry, tools: ToolResolver | ToolMap, options: SkillSyncManagerOptions = {}) {
    this.#registry = registry
    this.#resolver = isExoResolver(tools) ? tools : new DictToolResolver(tools)
    this.#options = options
    this.#logger = options.logger ?? silentLogger
    this.#clock = options.clock ?? systemClock
  }

  /** @throws {SkillError} INVALID_OPTION once it is started, or when this is no watcher */
  addWatcher(watcher: SkillWatcherLike): void {
    const { watch, stop } = (watcher ?? {}) as Partial<Record<'watch' | 'stop', unknown>>
    if (typeof watch !== 'function' || typeof stop !== 'function')
      throw new SkillError('INVALID_OPTION', 'a watcher needs the methods watch() and stop()')
    if (this.#stopping !== undefined)
      throw new SkillError('INVALID_OPTION', 'the manager is running; add watchers before start()')
    this.#watchers.push(watcher)
  }

  /** Gives an agent the tools and instructions of the skills that there are, and keeps them up to date. */
  async bindAgent(agent: BindableAgent): Promise<void> {
    const runtime = await this.#registry.open()
    this.#bindings.set(agent, await this.#bind(runtime, agent))
  }

  /** Stops that; nothing happens when the agent is not bound. */
  async unbindAgent(agent: BindableAgent): Promise<void> {
    await this.#bindings.get(agent)?.unbind()
    this.#bindings.delete(agent)
  }

  /**
   * Starts watching, each watcher by itself; resolves when they know what exists, or have failed once. Does nothing when
   * it is running.
   */
  async start(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#stopping === undefined) await this.#begin()
    })
  }

  /** Stops all watchers and waits for them. Agents keep what they have. Idempotent. */
  async stop(): Promise<void> {
    await this.#inTurn(async () => {
      this.#stopping?.abort()
      const tasks = this.#tasks
      this.#tasks = []
      for (const { watcher } of tasks) {
        try {
          await watcher.stop()
        } catch (thrown) {
          this.#logger.warn('a watcher could not be stopped', { error: thrown })
        }
      }
      await Promise.all(tasks.map(({ done }) => done))
      this.#unsubscribe?.()
      this.#unsubscribe = undefined
      this.#stopping = undefined
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** Starting and stopping one after the other. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => undefined)
    await turn
  }

  async #begin(): Promise<void> {
    const runtime = await this.#registry.open()
    for (const watcher of this.#watchers)
      if (!this.#places.has(watcher)) this.#places.set(watcher, await this.#registry.addPlace())
    const stopping = new AbortController()
    this.#stopping = stopping
    this.#unsubscribe = runtime.subscribe(update => this.#emit(update), { phase: 'events' })
    this.#tasks = [...this.#places].map(([watcher, place]) => this.#follow(watcher, place, stopping.signal))
    await Promise.all(this.#tasks.map(({ begun }) => begun))
  }

  #follow(watcher: SkillWatcherLike, place: FoldingSource, signal: AbortSignal): Task {
    const attempt = Promise.withResolvers<void>()
    const done = followWatcher(watcher, {
      onBatch: batch => this.#registry.apply(batch, place),
      onFailure: attempt.resolve,
      clock: this.#clock,
      logger: this.#logger,
      signal,
    })
    return { watcher, done, begun: Promise.race([watcher.ready, attempt.promise, done]) }
  }

  async #bind(runtime: SkillRuntime, agent: BindableAgent): Promise<AgentBinding> {
    const { instructionsBuilder, unbind } = this.#options
    return await runtime.bind(agent, {
      tools: { resolve: skill => this.#resolver.resolve(this.#registry.view(skill)) },
      ...(unbind === undefined ? {} : { unbind }),
      ...(instructionsBuilder === undefined
        ? {}
        : { instructions: skills => instructionsBuilder(skills.map(fromLoadedSkill).filter(isActive)) }),
    })
  }

  async #emit(update: RegistryUpdate): Promise<void> {
    const { eventBus } = this.#options
    if (eventBus === undefined) return
    for (const change of update.changes) {
      try {
        if (change.kind === 'modified') {
          const [old, now] = [this.#registry.view(change.oldSkill), this.#registry.view(change.newSkill)]
          await eventBus.emit('skill:modified', {
            old_skill: old,
            new_skill: now,
            oldSkill: old,
            newSkill: now,
          })
        } else await eventBus.emit(`skill:${change.kind}`, { skill: this.#registry.view(change.skill) })
      } catch (thrown) {
        this.#logger.warn('an event bus failed', { error: thrown })
      }
    }
  }
}

/** Whether it is a resolver and not a map, in which `resolve` could be the name of a skill. */
function isExoResolver(tools: ToolResolver | ToolMap): tools is ToolResolver {
  return typeof (tools as ToolResolver).resolve === 'function'
}

function isActive({ active }: ExoSkill): boolean {
  return active
}
