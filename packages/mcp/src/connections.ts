import type { McpServer, ServerNotifier } from '@modelcontextprotocol/server'
import { type ChangeNotification, mergeNotifications } from './change-notifications.ts'
import type { RequestTrace } from './request-trace.ts'

/** A server object that lives as long as its connection, because it sends notifications to the client. */
export interface Connection {
  readonly server: McpServer
  /** URIs that the client subscribed to; `'everything'` if they are unknown, or if the SDK filters the updates. */
  readonly subscribed: ReadonlySet<string> | 'everything'
  /** What changed while the client had no stream for notifications; `undefined` while it has one. */
  missed: ChangeNotification | undefined
  wasConnected: boolean
}

type SdkServer = McpServer['server']

export interface ConnectionsOptions {
  /** Notifies the streams of 2026-era clients over HTTP. */
  readonly streams: ServerNotifier
  readonly trace: RequestTrace
  readonly onError: (error: unknown) => void
}

/** The connections of one view, with the changes that each client still has to receive. */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #open = new Set<Connection>()

  constructor(options: ConnectionsOptions) {
    this.#options = options
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
    connection.missed = isListening ? undefined : NOTHING
    if (isListening && missed !== undefined) this.#send(missed, [connection])
  }

  /** Notifies every client. */
  notify(change: ChangeNotification): void {
    const listening: Connection[] = []
    for (const connection of this.#open) {
      const isConnected = connection.server.isConnected()
      if (connection.missed !== undefined)
        connection.missed = limitMissed(mergeNotifications(connection.missed, change))
      else if (isConnected) listening.push(connection)
      // Forgets a closed server object of a host that replaced our `onclose`.
      else if (connection.wasConnected) this.#open.delete(connection)
      connection.wasConnected ||= isConnected
    }
    const { streams } = this.#options
    if (change.isListChanged) streams.resourcesChanged()
    if (change.arePromptsChanged) streams.promptsChanged()
    if (change.areToolsChanged) streams.toolsChanged()
    for (const uri of change.uris) streams.resourceUpdated(uri)
    this.#send(change, listening)
  }

  #send(change: ChangeNotification, targets: readonly Connection[]): void {
    const send = (method: string, work: (server: SdkServer) => Promise<void>, to = targets): void => {
      for (const { server } of to) work(server.server).catch(this.#options.onError)
      this.#options.trace.notified(method, to.length)
    }
    if (change.isListChanged)
      send('notifications/resources/list_changed', server => server.sendResourceListChanged())
    if (change.arePromptsChanged)
      send('notifications/prompts/list_changed', server => server.sendPromptListChanged())
    if (change.areToolsChanged)
      send('notifications/tools/list_changed', server => server.sendToolListChanged())
    for (const uri of change.uris)
      send(
        'notifications/resources/updated',
        server => server.sendResourceUpdated({ uri }),
        targets.filter(({ subscribed }) => subscribed === 'everything' || subscribed.has(uri)),
      )
  }
}

/** What a client has missed when its stream has just ended. */
export const NOTHING: ChangeNotification = Object.freeze({
  isListChanged: false,
  uris: new Set<string>(),
  arePromptsChanged: false,
  areToolsChanged: false,
})

/** Beyond this number, a client is notified only that the lists have changed. */
const MAX_MISSED_URIS = 1_000

/** Limits what is kept for one client until its stream opens. */
export function limitMissed(missed: ChangeNotification): ChangeNotification {
  return missed.uris.size > MAX_MISSED_URIS ? { ...missed, uris: new Set(), isListChanged: true } : missed
}
