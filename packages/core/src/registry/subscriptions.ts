import { type Clock, LONGEST_TIMER_MS, type Logger } from '../host.ts'
import type { Generation } from './generation.ts'
import { Lane } from './lane.ts'
import { mergeUpdates, type RegistryUpdate } from './registry-update.ts'

/** The phases in which subscribers learn of a new generation, in order. Subscribers of one phase do not wait for each other. */
export const PHASES = ['tools', 'commands', 'instructions', 'events', 'mcp'] as const
export type Phase = (typeof PHASES)[number]

export type UpdateSubscriber = (update: RegistryUpdate) => void | Promise<void>

export interface SubscribeOptions {
  /** The phase of the subscriber. Subscribers of earlier phases are called first. @default 'events' */
  readonly phase?: Phase
}

/** Maximum time in milliseconds for which the next phase waits for a subscriber. */
const DEADLINE_MS = 5_000

/**
 * The newest generation, and those who wait for newer ones. Subscribers learn of updates phase by phase. A subscriber that
 * throws or hangs does not affect others. The next phase does not wait for a subscriber that missed its deadline. That
 * subscriber later gets one merged update.
 */
export class Subscriptions {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #lanes = new Map<Phase, Set<Lane<RegistryUpdate>>>(PHASES.map(phase => [phase, new Set()]))
  readonly #watchers = new Set<() => void>()
  #current: Generation
  #pending: RegistryUpdate | undefined
  #delivery: Promise<void> | undefined
  /** Set to false as soon as no update is pending, so that the next `publish` starts a new delivery. */
  #isDelivering = false
  #isClosed = false

  constructor(first: Generation, clock: Clock, logger: Logger) {
    this.#current = first
    this.#clock = clock
    this.#logger = logger
  }

  get current(): Generation {
    return this.#current
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  add(subscriber: UpdateSubscriber, phase: Phase): () => void {
    const lane = new Lane<RegistryUpdate>({
      ...{ what: 'subscriber', receive: subscriber, clock: this.#clock, deadlineMs: DEADLINE_MS },
      enqueue: ([held], update) => [held === undefined ? update : mergeUpdates(held, update)],
      onError: error => this.#logger.error('a subscriber failed', { phase, error }),
    })
    this.#lanes.get(phase)?.add(lane)
    return () => {
      lane.close()
      this.#lanes.get(phase)?.delete(lane)
    }
  }

  /** Replaces the current generation, and notifies watchers and subscribers. */
  publish(update: RegistryUpdate): void {
    this.#current = update.generation
    for (const wake of this.#watchers) wake()
    this.#pending = this.#pending === undefined ? update : mergeUpdates(this.#pending, update)
    if (!this.#isDelivering) this.#delivery = this.#deliver()
  }

  /**
   * Yields the current generation, then each newer one. A slow reader skips intermediate generations. Waiting for the
   * next generation keeps the process alive.
   */
  async *watch(signal?: AbortSignal): AsyncGenerator<Generation, void, undefined> {
    let wake = (): void => undefined
    const onChange = (): void => wake()
    this.#watchers.add(onChange)
    signal?.addEventListener('abort', onChange, { once: true })
    try {
      let shown: Generation | undefined
      while (!this.#isClosed && signal?.aborted !== true) {
        if (shown !== this.#current) {
          shown = this.#current
          yield shown
          continue
        }
        // Disk watchers do not keep the process alive, so this timer keeps the process alive while a reader waits.
        const release = this.#clock.after(LONGEST_TIMER_MS, () => undefined)
        await new Promise<void>(resolve => {
          wake = resolve
        })
        release()
      }
    } finally {
      this.#watchers.delete(onChange)
      signal?.removeEventListener('abort', onChange)
    }
  }

  /** Resolves when every published update was delivered. Does not wait for subscribers that missed their deadline. */
  async delivered(): Promise<void> {
    while (this.#isDelivering) await this.#delivery
  }

  /** Ends the `watch` iterators. */
  close(): void {
    this.#isClosed = true
    for (const wake of this.#watchers) wake()
  }

  async #deliver(): Promise<void> {
    this.#isDelivering = true
    try {
      for (let update = this.#take(); update !== undefined; update = this.#take()) {
        const current = update
        for (const lanes of this.#lanes.values())
          await Promise.all([...lanes].map(lane => lane.push(current)))
      }
    } finally {
      this.#isDelivering = false
    }
  }

  #take(): RegistryUpdate | undefined {
    const update = this.#pending
    this.#pending = undefined
    return update
  }
}
