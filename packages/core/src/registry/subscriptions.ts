import type { Clock } from '../host.ts'
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
  readonly #subscriptions = new Set<Subscription>()
  #pending: RegistryUpdate | undefined
  #delivery: Promise<void> | undefined
  /** Set to false as soon as no update is pending, so that the next `publish` starts a new delivery. */
  #isDelivering = false

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  add(subscriber: UpdateSubscriber, phase: Phase): () => void {
    const subscription = new Subscription(subscriber, phase, this.#options)
    this.#subscriptions.add(subscription)
    return () => {
      subscription.cancel()
      this.#subscriptions.delete(subscription)
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
        for (const phase of PHASES) {
          const current = update
          const inPhase = [...this.#subscriptions].filter(subscription => subscription.phase === phase)
          if (inPhase.length > 0)
            await Promise.all(inPhase.map(subscription => subscription.deliver(current)))
        }
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

class Subscription {
  readonly phase: Phase
  readonly #subscriber: UpdateSubscriber
  readonly #options: SubscriptionsOptions
  #isLate = false
  #isCancelled = false
  #held: RegistryUpdate | undefined

  constructor(subscriber: UpdateSubscriber, phase: Phase, options: SubscriptionsOptions) {
    this.#subscriber = subscriber
    this.phase = phase
    this.#options = options
  }

  cancel(): void {
    this.#isCancelled = true
    this.#held = undefined
  }

  /** Delivers an update. Resolves when the subscriber has finished or missed its deadline. Never rejects. */
  async deliver(update: RegistryUpdate): Promise<void> {
    if (this.#isCancelled) return
    if (this.#isLate) {
      this.#held = this.#held === undefined ? update : mergeUpdates(this.#held, update)
      return
    }
    const call = this.#call(update)
    if (call === undefined) return
    const { clock, deadlineMs, onError } = this.#options
    let cancelTimer = (): void => undefined
    const deadline = new Promise<'late'>(resolve => {
      cancelTimer = clock.after(deadlineMs, () => resolve('late'))
    })
    const outcome = await Promise.race([call, deadline])
    cancelTimer()
    if (outcome !== 'late') return
    this.#isLate = true
    onError(
      new Error(`a subscriber took longer than ${deadlineMs} ms; the others continue without it`),
      this.phase,
    )
    void call.then(() => this.#catchUp())
  }

  async #catchUp(): Promise<void> {
    while (this.#held !== undefined && !this.#isCancelled) {
      const held = this.#held
      this.#held = undefined
      await this.#call(held)
    }
    this.#isLate = false
  }

  /** Calls the subscriber. Returns `undefined` if the subscriber returned synchronously or threw. */
  #call(update: RegistryUpdate): Promise<void> | undefined {
    const onError = (error: unknown): void => this.#options.onError(error, this.phase)
    try {
      return this.#subscriber(update)?.catch(onError)
    } catch (thrown) {
      onError(thrown)
      return undefined
    }
  }
}
