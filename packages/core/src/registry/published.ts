import { type Clock, LONGEST_TIMER_MS, type Logger } from '../host.ts'
import type { Generation } from './generation.ts'
import type { RegistryUpdate } from './registry-update.ts'
import { type Phase, Subscriptions, type UpdateSubscriber } from './subscriptions.ts'

export interface PublishedOptions {
  readonly first: Generation
  readonly clock: Clock
  readonly logger: Logger
  readonly subscriberDeadlineMs: number
}

/** The newest generation, and those who wait for newer ones. */
export class Published {
  readonly #clock: Clock
  readonly #subscriptions: Subscriptions
  readonly #watchers = new Set<() => void>()
  #current: Generation
  #isClosed = false

  constructor({ first, clock, logger, subscriberDeadlineMs: deadlineMs }: PublishedOptions) {
    this.#current = first
    this.#clock = clock
    const onError = (error: unknown, phase: Phase): void =>
      logger.error('a subscriber failed', { phase, error })
    this.#subscriptions = new Subscriptions({ clock, deadlineMs, onError })
  }

  get current(): Generation {
    return this.#current
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Replaces the current generation, and notifies watchers and subscribers. */
  publish(update: RegistryUpdate): void {
    this.#current = update.generation
    for (const wake of this.#watchers) wake()
    this.#subscriptions.publish(update)
  }

  subscribe(subscriber: UpdateSubscriber, phase: Phase): () => void {
    return this.#subscriptions.add(subscriber, phase)
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

  /** Resolves when every published update has reached all subscribers. */
  async delivered(): Promise<void> {
    await this.#subscriptions.delivered()
  }

  /** Ends the `watch` iterators. */
  close(): void {
    this.#isClosed = true
    for (const wake of this.#watchers) wake()
  }
}
