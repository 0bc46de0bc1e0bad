import { checkOptions, type KnownOptions } from '@skillstoke/core/internal'
/**
 * A handler of an Exo event. If a skill was modified, the payload contains the skill before and after the change. For
 * example, the skill before the change is in the fields `old_skill` and `oldSkill`.
 */
export type EventHandler = (payload: Readonly<Record<string, unknown>>) => void | Promise<void>

export interface EventBusOptions {
  /** Receives each error that a handler throws. After an error, the bus still calls the next handler. @default none */
  readonly onHandlerError?: (error: unknown, name: string) => void
}

const KNOWN: KnownOptions<EventBusOptions> = { onHandlerError: true }

/**
 * Calls handlers one after the other, in the order in which they were added, and waits for asynchronous handlers.
 *
 * @example
 * ```ts
 * import { EventBus } from '@skillstoke/compat'
 *
 * const bus = new EventBus({ onHandlerError: error => console.error(error) })
 * const stop = bus.on('skill:added', ({ skill }) => console.log(skill)) // prints maps
 * await bus.emit('skill:added', { skill: 'maps' })
 * stop()
 * ```
 */
export class EventBus {
  readonly #handlers = new Map<string, Set<EventHandler>>()
  readonly #onHandlerError: (error: unknown, name: string) => void

  constructor(options: EventBusOptions = {}) {
    checkOptions('EventBus', options, KNOWN)
    this.#onHandlerError = options.onHandlerError ?? ((): void => undefined)
  }

  /** Adds a handler. Returns a function that removes the handler. */
  on(name: string, handler: EventHandler): () => void {
    const handlers = this.#handlers.get(name) ?? new Set()
    this.#handlers.set(name, handlers)
    handlers.add(handler)
    return () => handlers.delete(handler)
  }

  /** Calls the handlers of an event. Resolves when every handler has finished, and never rejects. */
  async emit(name: string, payload: Readonly<Record<string, unknown>>): Promise<void> {
    for (const handler of [...(this.#handlers.get(name) ?? [])]) {
      try {
        await handler(payload)
      } catch (thrown) {
        this.#onHandlerError(thrown, name)
      }
    }
  }
}
