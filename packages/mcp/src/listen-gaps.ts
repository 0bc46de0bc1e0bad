import { SUBSCRIPTION_ID_META_KEY, type SubscriptionFilter } from '@modelcontextprotocol/server'
import { decodeUnmarkedText } from '@skillstoke/core/internal'
import { type ChangeSet, LISTS } from './change-set.ts'
import { toNotification } from './connections.ts'
import type { Sender } from './incoming-request.ts'

const MAX_KEYS = 2_000
/** Limits what is remembered of equal clients and of equal streams. */
const MAX_ENTRIES = 16

/**
 * Remembers which generation 2026-era clients know, because these clients have no session: the newest one when a client
 * began, or when a stream ended. A client that began with another server, or before a restart, is unknown.
 */
export class ListenGaps {
  /** For each client and each stream, the digests of the generations, oldest first. */
  readonly #known = new Map<string, string[]>()

  began({ client }: Sender, digest: string): void {
    this.#remember(client, digest)
  }

  /**
   * Returns the digest since which a stream has to hear of changes; `undefined` if it is unknown. If several equal
   * streams have ended, each of them hears of the changes since the first end.
   */
  opened({ client, stream }: Sender): string | undefined {
    return this.#take(stream) ?? this.#take(client)
  }

  ended({ stream }: Sender, digest: string): void {
    this.#remember(stream, digest)
  }

  #remember(key: string, digest: string): void {
    const known = this.#known.get(key) ?? []
    this.#known.delete(key)
    this.#known.set(key, known)
    if (known.length < MAX_ENTRIES) known.push(digest)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MAX_KEYS && oldest !== undefined) this.#known.delete(oldest)
  }

  #take(key: string): string | undefined {
    const known = this.#known.get(key)
    const since = known?.[0]
    known?.pop()
    if (known?.length === 0) this.#known.delete(key)
    return since
  }
}

interface Acknowledgement {
  readonly params?: {
    readonly notifications?: SubscriptionFilter
    readonly _meta?: Readonly<Record<string, unknown>>
  }
}

/** Returns the stream of a client, with the changes that the client missed right after the acknowledgement. */
export function withMissed(response: Response, missed: Pick<ChangeSet, 'has'>): Response {
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
function renderMissed(acknowledgement: Uint8Array, missed: Pick<ChangeSet, 'has'>): string {
  const data = /^data: (.*)$/m.exec(decodeUnmarkedText(acknowledgement))?.[1] ?? '{}'
  const { notifications: accepted = {}, _meta = {} } = (JSON.parse(data) as Acknowledgement).params ?? {}
  const stamp = { [SUBSCRIPTION_ID_META_KEY]: _meta[SUBSCRIPTION_ID_META_KEY] }
  const lists = LISTS.filter(list => accepted[FILTERS[list]] === true)
  return [...lists, ...(accepted.resourceSubscriptions ?? [])]
    .filter(change => missed.has(change))
    .map(change => {
      const { method, params } = toNotification(change)
      const message = { jsonrpc: '2.0', method, params: { ...params, _meta: stamp } }
      return `event: message\ndata: ${JSON.stringify(message)}\n\n`
    })
    .join('')
}

/** The fields with which a client accepts the notifications about a list. */
const FILTERS = {
  'resources/list_changed': 'resourcesListChanged',
  'prompts/list_changed': 'promptsListChanged',
  'tools/list_changed': 'toolsListChanged',
} as const
