import type { ServerEvent } from '../client/api-types.ts'

export interface LoggedEvent {
  readonly number: number
  /** The event as JSON, serialized once for all readers. */
  readonly json: string
}

export interface EventLogOptions {
  /** Maximum number of events that are kept for readers that reconnect or fall behind. */
  readonly maxEvents: number
  /** Maximum total size of the kept events, in UTF-16 code units. */
  readonly maxLength: number
}

export const DEFAULT_EVENT_LOG_OPTIONS: EventLogOptions = { maxEvents: 500, maxLength: 8_000_000 }

/**
 * Keeps the last events of a process, numbered from 1. Readers pull events, so the log stores no copies for slow
 * readers. A reader whose next event was dropped gets `'lost'`, and must continue from the present state.
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

  /** Number of the newest event. 0 before the first event. */
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

  /**
   * Returns the event after event number `number`. Returns `undefined` if that event does not exist yet, and `'lost'`
   * if it was dropped.
   */
  after(number: number): LoggedEvent | 'lost' | undefined {
    if (number >= this.#last) return number === this.#last ? undefined : 'lost'
    const first = this.#events[0]?.number ?? this.#last + 1
    return this.#events[number + 1 - first] ?? 'lost'
  }

  /** Resolves when the next event is logged, after the timeout, or when the signal aborts. */
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
