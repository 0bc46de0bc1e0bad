import { checkOptions, type KnownOptions } from '@skillstoke/core/internal'
/** What Exo tells of a change of its skills. Both spellings of the two skills of a modification are there. */
export type EventHandler = (payload: Readonly<Record<string, unknown>>) => void | Promise<void>

export interface EventBusOptions {
  /** Told what a handler threw; the next one is called all the same. @default nobody */
  readonly onHandlerError?: (error: unknown, name: string) => void
}

const KNOWN: KnownOptions<EventBusOptions> = { onHandlerError: true }

/** Calls handlers one after the other, in the order in which they were added, and waits for asynchronous ones. */
export class EventBus {
  readonly #handlers = new Map<string, Set<EventHandler>>()
  readonly #onHandlerError: (error: unknown, name: string) => void

  constructor(options: EventBusOptions = {}) {
    checkOptions('EventBus', options, KNOWN)
    this.#onHandlerError = options.onHandlerError ?? ((): void => undefined)
  }

  /** Returns a function that takes the handler off again. */
  on(name: string, handler: EventHandler): () => void {
    const handlers = this.#handlers.get(name) ?? new Set()
    this.#handlers.set(name, handlers)
    handlers.add(handler)
    return () => handlers.delete(handler)
  }

  /** Resolves when every handler is done; never rejects. */
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
