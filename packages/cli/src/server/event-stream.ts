import type { StateEvent } from '../client/api-types.ts'
import type { EventLog } from './event-log.ts'

export interface EventStreamOptions {
  readonly log: EventLog
  readonly startId: string
  /** The `Last-Event-ID` of a reader that reconnects. */
  readonly lastEventId: string | undefined
  readonly createState: () => StateEvent
  readonly keepAliveMs: number
  readonly signal: AbortSignal
}

/**
 * Yields server-sent events as text. A new reader first gets the present state. A reader that reconnects first gets the
 * events that it missed. After that, every reader gets each new event. Events are formatted when a reader pulls them,
 * so a stalled reader uses no memory.
 */
export async function* streamEvents(options: EventStreamOptions): AsyncGenerator<string, void, undefined> {
  const { log, startId, createState, keepAliveMs, signal } = options
  let place = toPlace(options.lastEventId, startId)
  while (!signal.aborted) {
    const event = place === undefined ? 'lost' : log.after(place)
    if (event === 'lost') {
      place = log.last
      yield format(startId, place, JSON.stringify(createState()))
    } else if (event !== undefined) {
      place = event.number
      yield format(startId, place, event.json)
    } else {
      await log.next(keepAliveMs, signal)
      if (log.last === place && !signal.aborted) yield ': still here\n\n'
    }
  }
}

/**
 * Returns the event number in an event id. Returns `undefined` if the id was created before the last start of the
 * server.
 */
function toPlace(id: string | undefined, startId: string): number | undefined {
  const digits = id?.startsWith(`${startId}-`) === true ? id.slice(startId.length + 1) : ''
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
}

function format(startId: string, number: number, json: string): string {
  return `id: ${startId}-${number}\ndata: ${json}\n\n`
}
