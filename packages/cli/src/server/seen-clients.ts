import type { SkillMcpOptions } from '@skillstoke/mcp'
import type { ClientInfo } from '../client/api-types.ts'

/** What an MCP server knows of the sender of a request. */
export type SeenClient = Parameters<NonNullable<SkillMcpOptions['onSessionChange']>>[0]

const MAX_CLIENTS = 200

/** When each MCP client was seen last. Forgets the client that was not seen for the longest time. */
export class SeenClients {
  /** By session, or by name and version for a client without one. Ordered by time. */
  readonly #clients = new Map<string, ClientInfo & { readonly session: string | undefined }>()

  note({ session, client, loaded }: SeenClient): void {
    const key = session ?? JSON.stringify([client?.name, client?.version])
    const known = this.#clients.get(key)
    const { name, version } = client ?? known ?? {}
    if (name === undefined || version === undefined) return
    this.#clients.delete(key)
    const loads = new Set(known?.loaded)
    if (loaded !== undefined) loads.add(loaded)
    this.#clients.set(key, { name, version, session, loaded: [...loads], lastAt: new Date().toISOString() })
    const [oldest] = this.#clients.keys()
    if (this.#clients.size > MAX_CLIENTS && oldest !== undefined) this.#clients.delete(oldest)
  }

  /** Returns the client of a session. */
  of(session: string): ClientInfo | undefined {
    return this.#clients.get(session)
  }

  /** Lists the clients without a session, the last one first. */
  list(): readonly ClientInfo[] {
    return [...this.#clients.values()].filter(({ session }) => session === undefined).toReversed()
  }
}
