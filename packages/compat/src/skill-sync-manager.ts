import {
  type BindableAgent,
  type BindOptions,
  type LoadedSkill,
  type Logger,
  type MemorySource,
  type RegistryUpdate,
  SkillError,
  type ToolMap,
} from '@skillstoke/core'
import {
  checkOptions,
  defined,
  type KnownOptions,
  LATE,
  silentLogger,
  Turns,
  waitAtMost,
} from '@skillstoke/core/internal'
import { type Clock, systemClock } from '@skillstoke/core/source'
import { type ExoSkill, toExoSkill } from './exo-skill.ts'
import { END_MS, followWatcher } from './follow-watcher.ts'
import type { SkillRegistry } from './skill-registry.ts'
import type { SkillWatcherLike } from './skill-watcher.ts'
import { DictToolResolver, isToolResolver, type ToolResolver } from './tool-resolver.ts'

/** Object that gets the events: an `EventBus`, or any object with the method `emit`. */
export interface EventSink {
  emit(name: string, payload: Readonly<Record<string, unknown>>): void | Promise<void>
}

export interface SkillSyncManagerOptions {
  readonly eventBus?: EventSink
  /** Returns the text that an agent's instructions contain about the given active skills. */
  readonly instructionsBuilder?: (skills: readonly ExoSkill[]) => string | Promise<string>
  /**
   * Whether unbinding an agent removes the tools and instructions that the manager gave to the agent. @default 'remove'
   */
  readonly unbind?: NonNullable<BindOptions['unbind']>
  readonly logger?: Logger
  readonly clock?: Clock
}

const KNOWN: KnownOptions<SkillSyncManagerOptions> = {
  eventBus: true,
  instructionsBuilder: true,
  unbind: true,
  logger: true,
  clock: true,
}

// How long bindAgent() waits for an agent. After this time, an agent that hangs no longer delays other agents.
const BIND_PATIENCE_MS = 1_000

interface Task {
  readonly watcher: SkillWatcherLike
  readonly done: Promise<void>
  readonly begun: Promise<void>
}

/**
 * Applies the events of watchers to a registry, and updates the agents that are bound to the manager. Stop or dispose of the manager after use. A stopped manager can be started again.
 *
 * @example
 * ```ts
 * import { LocalFileWatcher, SkillRegistry, SkillSyncManager } from '@skillstoke/compat'
 * import type { NamedTool } from '@skillstoke/core'
 *
 * const tools = new Set<string>()
 * const agent = { addTool: ({ name }: NamedTool) => tools.add(name), removeTool: (name: string) => tools.delete(name) }
 * await using registry = new SkillRegistry().registerSource('./skills')
 * await registry.loadAll()
 * await using manager = new SkillSyncManager(registry, { 'support-pdf': { name: 'read_pdf' } })
 * manager.addWatcher(new LocalFileWatcher('./skills'))
 * await manager.bindAgent(agent)
 * await manager.start()
 * console.log([...tools]) // prints [ 'read_pdf' ]
 * ```
 */
export class SkillSyncManager implements AsyncDisposable {
  readonly #registry: SkillRegistry
  readonly #resolver: ToolResolver
  readonly #options: SkillSyncManagerOptions & { readonly logger: Logger; readonly clock: Clock }
  readonly #watchers: SkillWatcherLike[] = []
  readonly #places = new Map<SkillWatcherLike, MemorySource>()
  #tasks: Task[] = []
  readonly #turns = new Turns(1)
  /** Aborts the watchers that start() started; absent after stop(). */
  #stopping: AbortController | undefined
  #unsubscribe: (() => void) | undefined

  /** @param tools a resolver, or a map from skill names to tools */
  constructor(registry: SkillRegistry, tools: ToolResolver | ToolMap, options: SkillSyncManagerOptions = {}) {
    checkOptions('SkillSyncManager', options, KNOWN)
    this.#registry = registry
    this.#resolver = isToolResolver(tools) ? tools : new DictToolResolver(tools)
    this.#options = { logger: silentLogger, clock: systemClock, ...defined(options) }
  }

  /** @throws {SkillError} INVALID_OPTION after start(), or when the value is not a watcher */
  addWatcher(watcher: SkillWatcherLike): void {
    const { watch, stop } = (watcher ?? {}) as Partial<Record<'watch' | 'stop', unknown>>
    if (typeof watch !== 'function' || typeof stop !== 'function')
      throw new SkillError('INVALID_OPTION', 'a watcher needs the methods watch() and stop()')
    if (this.#stopping !== undefined)
      throw new SkillError('INVALID_OPTION', 'the manager is running; add watchers before start()')
    this.#watchers.push(watcher)
  }

  /**
   * Gives an agent the tools and instructions of the current skills, and keeps these tools and instructions up to date.
   * If the agent takes longer than one second, returns after one second and continues in the background. A call of
   * `unbindAgent()` during this time cancels the binding.
   */
  async bindAgent(agent: BindableAgent): Promise<void> {
    const { instructionsBuilder, unbind } = this.#options
    const runtime = await this.#registry.open()
    const binding = runtime.bind(agent, {
      tools: { resolve: async skill => await this.#resolver.resolve(await this.#registry.view(skill)) },
      ...defined({
        unbind,
        instructions:
          instructionsBuilder &&
          ((skills: readonly LoadedSkill[]) =>
            instructionsBuilder(
              skills.map(skill => toExoSkill(skill, skill.body)).filter(({ active }) => active),
            )),
      }),
    })
    await waitAtMost(this.#options.clock, BIND_PATIENCE_MS, binding)
  }

  /**
   * Unbinds an agent. Does nothing if the agent is not bound.
   * @throws {SkillError} HOOK_FAILED when the agent could not remove a tool or the instructions; a second call tries
   * again
   */
  async unbindAgent(agent: BindableAgent): Promise<void> {
    const runtime = await this.#registry.open()
    await runtime.unbind(agent)
  }

  /**
   * Starts all watchers, independently of each other. Resolves when each watcher is ready or has failed once, and the
   * registry contains all changes since the load of the registry. Does nothing if the manager already runs.
   */
  async start(): Promise<void> {
    this.#stopping ??= new AbortController()
    const stopping = this.#stopping
    await this.#turns.run(async () => {
      if (this.#unsubscribe !== undefined) return
      try {
        await this.#begin(stopping.signal)
      } catch (thrown) {
        if (this.#stopping === stopping) this.#stopping = undefined
        throw thrown
      }
    })
  }

  /**
   * Stops all watchers, and waits at most five seconds until they have ended. Bound agents keep their tools and instructions. Idempotent.
   */
  async stop(): Promise<void> {
    // Abort before waiting for the lock, because a pending `start()` holds the lock.
    this.#stopping?.abort()
    this.#stopping = undefined
    await this.#turns.run(async () => {
      const tasks = this.#tasks
      this.#tasks = []
      await Promise.all(tasks.map(task => this.#end(task)))
      this.#unsubscribe?.()
      this.#unsubscribe = undefined
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #begin(signal: AbortSignal): Promise<void> {
    const runtime = await this.#registry.open()
    for (const watcher of this.#watchers)
      if (!this.#places.has(watcher)) this.#places.set(watcher, await this.#registry.addPlace())
    this.#unsubscribe = runtime.subscribe(update => this.#emit(update), { phase: 'events' })
    this.#tasks = [...this.#places].map(([watcher, place]) => this.#follow(watcher, place, signal))
    await Promise.all(this.#tasks.map(({ begun }) => begun))
  }

  #follow(watcher: SkillWatcherLike, place: MemorySource, signal: AbortSignal): Task {
    const attempt = Promise.withResolvers<void>()
    const done = followWatcher(watcher, {
      onBatch: batch => this.#registry.apply(batch, place),
      onFailure: attempt.resolve,
      ...this.#options,
      signal,
    })
    const ready = this.#catchUp(watcher, signal)
    return { watcher, done, begun: Promise.race([ready, attempt.promise, done]) }
  }

  /**
   * Finds changes that no batch contains, because they came after the load of the registry and before the watcher
   * started.
   */
  async #catchUp({ ready, origin }: SkillWatcherLike, signal: AbortSignal): Promise<void> {
    try {
      await ready
      if (origin !== undefined && !signal.aborted) await this.#registry.catchUp(origin)
    } catch (thrown) {
      if (!signal.aborted)
        this.#options.logger.warn('the initial state of a watcher could not be read', { error: thrown })
    }
  }

  /** Ends a watcher. Waits only for a limited time, because a watcher that hangs must not delay other watchers or the caller. */
  async #end({ watcher, done }: Task): Promise<void> {
    const stopped = (async () => await watcher.stop())().catch((thrown: unknown) => {
      this.#options.logger.warn('a watcher could not be stopped', { error: thrown })
    })
    const outcome = await waitAtMost(this.#options.clock, END_MS, Promise.all([stopped, done]))
    if (outcome === LATE) this.#options.logger.warn('a watcher did not stop in time', { timeoutMs: END_MS })
  }

  async #emit(update: RegistryUpdate): Promise<void> {
    const { eventBus } = this.#options
    if (eventBus === undefined) return
    for (const change of update.changes) {
      try {
        if (change.kind === 'modified') {
          const old = await this.#registry.view(change.oldSkill)
          const now = await this.#registry.view(change.newSkill)
          await eventBus.emit('skill:modified', {
            old_skill: old,
            new_skill: now,
            oldSkill: old,
            newSkill: now,
          })
        } else await eventBus.emit(`skill:${change.kind}`, { skill: await this.#registry.view(change.skill) })
      } catch (thrown) {
        this.#options.logger.warn('an event bus failed', { error: thrown })
      }
    }
  }
}
