import type { Clock } from '../host.ts'
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

export interface SubscriptionsOptions {
  readonly clock: Clock
  /** Maximum time in milliseconds for which the next phase waits for a subscriber. */
  readonly deadlineMs: number
  /** Called if a subscriber throws, rejects or misses its deadline. */
  readonly onError: (error: unknown, phase: Phase) => void
}

/**
 * Notifies subscribers of updates, phase by phase. A subscriber that throws or hangs does not affect others. Errors go to
 * `onError`. The next phase does not wait for a subscriber that missed its deadline. That subscriber later gets one merged
 * update.
 */
export class Subscriptions {
  readonly #options: SubscriptionsOptions
  readonly #lanes = new Map<Phase, Set<Lane<RegistryUpdate>>>(PHASES.map(phase => [phase, new Set()]))
  #pending: RegistryUpdate | undefined
  #delivery: Promise<void> | undefined
  /** Set to false as soon as no update is pending, so that the next `publish` starts a new delivery. */
  #isDelivering = false

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  add(subscriber: UpdateSubscriber, phase: Phase): () => void {
    const { clock, deadlineMs, onError } = this.#options
    const lane = new Lane<RegistryUpdate>({
      ...{ what: 'subscriber', receive: subscriber, clock, deadlineMs },
      enqueue: ([held], update) => [held === undefined ? update : mergeUpdates(held, update)],
      onError: error => onError(error, phase),
    })
    this.#lanes.get(phase)?.add(lane)
    return () => {
      lane.close()
      this.#lanes.get(phase)?.delete(lane)
    }
  }

  publish(update: RegistryUpdate): void {
    this.#pending = this.#pending === undefined ? update : mergeUpdates(this.#pending, update)
    if (!this.#isDelivering) this.#delivery = this.#deliver()
  }

  /** Resolves when every published update was delivered. Does not wait for subscribers that missed their deadline. */
  async delivered(): Promise<void> {
    while (this.#isDelivering) await this.#delivery
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
