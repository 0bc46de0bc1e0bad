import { SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import type { ChangeNotification } from './change-notifications.ts'

const MAX_CLIENTS = 1_000
const MAX_STREAMS = 16

/**
 * Remembers when the streams of 2026-era clients ended, because these clients have no session. A client is recognised by
 * its token, its name and the notifications that it asks for.
 */
export class ListenGaps {
  /** For each client, the digests of the generations at which its streams ended, oldest first. */
  readonly #ended = new Map<string, string[]>()

  /**
   * Returns the digest since which changes must be reported to the stream of a client; `undefined` if none of its streams
   * has ended. If several streams have ended, each of them gets the changes since the first end.
   */
  opened(client: string): string | undefined {
    const ended = this.#ended.get(client)
    const since = ended?.[0]
    ended?.pop()
    if (ended?.length === 0) this.#ended.delete(client)
    return since
  }

  ended(client: string, digest: string): void {
    const ended = this.#ended.get(client) ?? []
    this.#ended.delete(client)
    this.#ended.set(client, ended)
    if (ended.length < MAX_STREAMS) ended.push(digest)
    const [oldest] = this.#ended.keys()
    if (this.#ended.size > MAX_CLIENTS && oldest !== undefined) this.#ended.delete(oldest)
  }
}

interface Acknowledgement {
  readonly params?: {
    readonly notifications?: {
      readonly resourcesListChanged?: boolean
      readonly promptsListChanged?: boolean
      readonly toolsListChanged?: boolean
      readonly resourceSubscriptions?: readonly string[]
    }
    readonly _meta?: Readonly<Record<string, unknown>>
  }
}

/** Returns the stream of a client, with the changes that the client missed right after the acknowledgement. */
export function withMissed(response: Response, missed: ChangeNotification): Response {
  const { body, status, headers } = response
  if (body === null) return response
  let isFirst = true
  const inserted = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk)
        if (isFirst) controller.enqueue(new TextEncoder().encode(renderMissed(chunk, missed)))
        isFirst = false
      },
    }),
  )
  return new Response(inserted, { status, headers })
}

/** Renders the notifications that the acknowledged filter accepts. */
function renderMissed(acknowledgement: Uint8Array, missed: ChangeNotification): string {
  const data = /^data: (.*)$/m.exec(Buffer.from(acknowledgement).toString())?.[1] ?? '{}'
  const { notifications: accepted = {}, _meta = {} } = (JSON.parse(data) as Acknowledgement).params ?? {}
  const render = (method: string, params: object = {}): string => {
    const stamp = { [SUBSCRIPTION_ID_META_KEY]: _meta[SUBSCRIPTION_ID_META_KEY] }
    const message = { jsonrpc: '2.0', method: `notifications/${method}`, params: { ...params, _meta: stamp } }
    return `event: message\ndata: ${JSON.stringify(message)}\n\n`
  }
  const subscribed = accepted.resourceSubscriptions ?? []
  return [
    missed.isListChanged && accepted.resourcesListChanged === true ? render('resources/list_changed') : '',
    missed.arePromptsChanged && accepted.promptsListChanged === true ? render('prompts/list_changed') : '',
    missed.areToolsChanged && accepted.toolsListChanged === true ? render('tools/list_changed') : '',
    ...subscribed.filter(uri => missed.uris.has(uri)).map(uri => render('resources/updated', { uri })),
  ].join('')
}
