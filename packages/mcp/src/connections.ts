import type { McpServer, ServerEvent, ServerEventBus } from '@modelcontextprotocol/server'
import { toMessage } from '@skillstoke/core/internal'
import type { SharedParts } from './attach-skills.ts'
import { type ChangeSet, LISTS } from './change-set.ts'
import type { ResolvedMcpOptions } from './mcp-options.ts'

/** A server object that lives as long as its connection, because it sends notifications to the client. */
export interface Connection {
  readonly server: McpServer
  /** URIs that the client subscribed to; `EVERYTHING` if they are unknown, or if the SDK filters the updates. */
  readonly subscribed: Pick<ChangeSet, 'has'>
  /** What changed while the client had no stream for notifications; `undefined` while it has one. */
  missed: ChangeSet | undefined
  wasConnected: boolean
}

/**
 * The connections of one view, with the changes that each client still has to receive. Combines changes into few
 * notifications. The first change is sent immediately. Each notification starts an interval. All changes during the
 * interval are sent in one notification at the end of the interval, so the last change of a burst is always sent.
 */
export class Connections {
  readonly #parts: SharedParts
  readonly #streams: ServerEventBus
  readonly #open = new Set<Connection>()
  /** The changes since the last notification. */
  #held: ChangeSet = new Set()
  #cancelTimer: (() => void) | undefined

  /** @param streams notifies the streams of 2026-era clients over HTTP */
  constructor(parts: SharedParts, streams: ServerEventBus) {
    this.#parts = parts
    this.#streams = streams
  }

  get size(): number {
    return this.#open.size
  }

  /** @param missed what to report when the stream of the client opens; `undefined` if it has a stream from the start */
  add(server: McpServer, { subscribed, missed }: Pick<Connection, 'subscribed' | 'missed'>): Connection {
    const connection: Connection = { server, subscribed, missed, wasConnected: false }
    this.#open.add(connection)
    return connection
  }

  delete(connection: Connection): void {
    this.#open.delete(connection)
  }

  /** Sends what a client missed when its stream opens. Collects what it misses when its stream ends. */
  setListening(connection: Connection, isListening: boolean): void {
    const { missed } = connection
    connection.missed = isListening ? undefined : new Set()
    if (isListening && missed !== undefined) this.#send(missed, [connection])
  }

  /** Notifies every client, at the latest at the end of the interval. */
  notify(changes: ChangeSet): void {
    this.#held = this.#held.union(changes)
    if (this.#cancelTimer === undefined) this.#flush()
  }

  close(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#held = new Set()
  }

  #flush(): void {
    const changes = this.#held
    this.#cancelTimer = undefined
    if (changes.size === 0) return
    const { clock, notificationIntervalMs } = this.#parts.options
    this.#held = new Set()
    this.#cancelTimer = clock.after(notificationIntervalMs, () => this.#flush(), { background: true })
    this.#notifyAll(changes)
  }

  #notifyAll(changes: ChangeSet): void {
    const listening: Connection[] = []
    for (const connection of this.#open) {
      const isConnected = connection.server.isConnected()
      if (connection.missed !== undefined) connection.missed = limitMissed(connection.missed.union(changes))
      else if (isConnected) listening.push(connection)
      // Forgets a closed server object of a host that replaced our `onclose`.
      else if (connection.wasConnected) this.#open.delete(connection)
      connection.wasConnected ||= isConnected
    }
    for (const change of inOrder(changes)) this.#streams.publish(toServerEvent(change))
    this.#send(changes, listening)
  }

  #send(changes: ChangeSet, targets: readonly Connection[]): void {
    const { options, trace } = this.#parts
    for (const change of inOrder(changes)) {
      const message = toNotification(change)
      const to = isList(change) ? targets : targets.filter(({ subscribed }) => subscribed.has(change))
      for (const { server } of to)
        server.server.notification(message).catch((error: unknown) => logError(options, error))
      trace.notified(message.method, to.length)
    }
  }
}

/** Contains every list and every URI. */
export const EVERYTHING: Pick<ChangeSet, 'has'> = { has: () => true }

function inOrder(changes: ChangeSet): readonly string[] {
  return [...LISTS.filter(list => changes.has(list)), ...[...changes].filter(change => !isList(change))]
}

function isList(change: string): change is (typeof LISTS)[number] {
  return (LISTS as readonly string[]).includes(change)
}

/** Returns the notification about a change. */
export function toNotification(change: string): { method: string; params?: { uri: string } } {
  return isList(change)
    ? { method: `notifications/${change}` }
    : { method: 'notifications/resources/updated', params: { uri: change } }
}

function toServerEvent(change: string): ServerEvent {
  return isList(change)
    ? { kind: change.replace('/', '_') as Exclude<ServerEvent['kind'], 'resource_updated'> }
    : { kind: 'resource_updated', uri: change }
}

/** Beyond this number, a client is notified only that the lists have changed. */
const MAX_MISSED_URIS = 1_000

/** Limits what is kept for one client until its stream opens. */
export function limitMissed(missed: ChangeSet): ChangeSet {
  const lists = LISTS.filter(list => missed.has(list))
  return missed.size - lists.length > MAX_MISSED_URIS ? new Set(['resources/list_changed', ...lists]) : missed
}

/** Logs an error that no client hears of. */
export function logError({ logger }: ResolvedMcpOptions, error: unknown): void {
  logger.debug(`mcp: ${toMessage(error)}`, { error })
}
