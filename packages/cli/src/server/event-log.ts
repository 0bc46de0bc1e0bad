import type { ServerEvent } from '../client/api-types.ts'

export interface LoggedEvent {
  readonly number: number
  /** The event as JSON, made once for all readers. */
  readonly json: string
}

export interface EventLogOptions {
  /** Events that are kept for readers that come back or fall behind. */
  readonly maxEvents: number
  /** Their size together, in UTF-16 code units. */
  readonly maxLength: number
}

export const DEFAULT_EVENT_LOG_OPTIONS: EventLogOptions = { maxEvents: 500, maxLength: 8_000_000 }

/**
 * The last events of a process, numbered from 1. Readers pull: one that is slow costs nothing but its own place, and one
 * that has fallen out of what is kept is told so and starts over from the present state.
 */
export class EventLog {
  readonly #options: EventLogOptions
  readonly #events: LoggedEvent[] = []
  readonly #waiting = new Set<() => void>()
  #length = 0
  #last = 0

  constructor(options: EventLogOptions = DEFAULT_EVENT_LOG_OPTIONS) {
    this.#options = options
  }

  /** Number of the newest event; 0 before the first. */
  get last(): number {
    return this.#last
  }

  append(event: ServerEvent): void {
    const json = JSON.stringify(event)
    this.#events.push({ number: ++this.#last, json })
    this.#length += json.length
    const { maxEvents, maxLength } = this.#options
    while (this.#events.length > maxEvents || (this.#length > maxLength && this.#events.length > 0))
      this.#length -= this.#events.shift()?.json.length ?? 0
    for (const done of [...this.#waiting]) done()
  }

  /** The event after a number, `undefined` when there is none yet, `'lost'` when it is no longer kept. */
  after(number: number): LoggedEvent | 'lost' | undefined {
    if (number >= this.#last) return number === this.#last ? undefined : 'lost'
    const first = this.#events[0]?.number ?? this.#last + 1
    return this.#events[number + 1 - first] ?? 'lost'
  }

  /** Resolves at the next event, at the end of the time, or when the signal aborts. */
  async next(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>(resolve => {
      const done = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, timeoutMs)
      this.#waiting.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }
}
