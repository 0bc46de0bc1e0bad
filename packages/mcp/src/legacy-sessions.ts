import {
  type AuthInfo,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { Clock } from '@skillstoke/core/source'
import { observeBody } from './observe-body.ts'

export interface LegacySessionsOptions {
  readonly clock: Clock
  readonly maxSessions: number
  /** How long a session is safe from eviction after its last request, in milliseconds. */
  readonly graceMs: number
  /** How long an unused session stays open after its last request, in milliseconds. */
  readonly idleMs: number
  readonly maxRequestBytes: number
}

/** Who sent a request, and what begins if the request begins a session. */
export interface LegacyCaller {
  /** Identifies the client and what it may see. Only this owner may use the session. */
  readonly owner: string
  readonly authInfo?: AuthInfo
  readonly createServer: () => McpServer
}

interface LegacySession {
  readonly owner: string
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly server: McpServer
  /** Number of open requests and open streams of the session. */
  open: number
  lastUsed: number
}

/**
 * Serves Streamable HTTP to 2025-era clients. Each client has a session, because notifications need a session. Idle
 * sessions are closed. The client of a closed session gets 404 and starts a new session, as the specification requires.
 * A session that is in use is never closed to make room for another client. If all sessions are in use, a new client
 * gets 503 with `Retry-After`.
 */
export class LegacySessions {
  readonly #options: LegacySessionsOptions
  readonly #sessions = new Map<string, LegacySession>()
  /** Number of running handshakes whose sessions do not exist yet. */
  #beginning = 0
  /** Sessions that are being closed. */
  readonly #ending = new Set<Promise<void>>()
  #cancelSweep: (() => void) | undefined
  #isClosed = false

  constructor(options: LegacySessionsOptions) {
    this.#options = options
  }

  async handle(request: Request, caller: LegacyCaller): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id === null) return await this.#begin(request, caller)
    const session = this.#sessions.get(id)
    // For another client, the session does not exist.
    if (session === undefined || session.owner !== caller.owner)
      return toErrorResponse(404, -32_001, 'there is no such session; begin a new one')
    return await this.#use(session, request, caller)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelSweep?.()
    for (const [id, session] of this.#sessions) this.#end(id, session)
    await Promise.all(this.#ending)
  }

  async #begin(request: Request, caller: LegacyCaller): Promise<Response> {
    const { maxSessions, maxRequestBytes } = this.#options
    if (this.#sessions.size + this.#beginning >= maxSessions && !this.#makeRoom()) return this.#refuse()
    let isBeginning = true
    const hasBegun = (): void => {
      if (isBeginning) this.#beginning--
      isBeginning = false
    }
    // Creates the server before counting the handshake. If the creation fails, no handshake is counted.
    const server = caller.createServer()
    this.#beginning++
    try {
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        maxRequestBodySize: maxRequestBytes,
        onsessioninitialized: id => {
          this.#sessions.set(id, session)
          hasBegun()
          this.#sweepLater()
        },
        onsessionclosed: id => void this.#sessions.delete(id),
      })
      const { owner } = caller
      const session: LegacySession = { owner, transport, server, open: 0, lastUsed: this.#now }
      await server.connect(transport)
      const response = await this.#use(session, request, caller)
      const id = transport.sessionId
      // If the request was not a handshake, the response is an error. No session starts, so the new server is closed.
      if (id === undefined) await server.close()
      else if (this.#isClosed) this.#end(id, session)
      return response
    } catch (thrown) {
      await server.close()
      throw thrown
    } finally {
      hasBegun()
    }
  }

  #refuse(): Response {
    const { maxSessions, graceMs } = this.#options
    const idleAt = [...this.#sessions.values()].filter(isUnused).map(({ lastUsed }) => lastUsed + graceMs)
    const waitMs = Math.min(graceMs, ...idleAt.map(time => time - this.#now))
    const seconds = Math.max(1, Math.ceil(waitMs / 1_000))
    const reason = `${maxSessions} sessions are in use, which is the limit; try again in ${seconds} s`
    return toErrorResponse(503, -32_000, reason, { 'Retry-After': String(seconds) })
  }

  /** Handles a request. The session counts as in use until the client has read or cancelled the answer. */
  async #use(session: LegacySession, request: Request, { authInfo }: LegacyCaller): Promise<Response> {
    session.open++
    const done = (): void => {
      session.open--
      session.lastUsed = this.#now
    }
    try {
      const response = await session.transport.handleRequest(
        request,
        authInfo === undefined ? {} : { authInfo },
      )
      return observeBody(response, done)
    } catch (thrown) {
      done()
      throw thrown
    }
  }

  /** Evicts the session that has been idle for longest. Returns `false` if no session is idle. */
  #makeRoom(): boolean {
    const limit = this.#now - this.#options.graceMs
    const idle = [...this.#sessions].filter(([, session]) => isUnused(session) && session.lastUsed <= limit)
    const oldest = idle.sort(([, a], [, b]) => a.lastUsed - b.lastUsed)[0]
    if (oldest === undefined) return false
    this.#end(...oldest)
    return true
  }

  #sweepLater(): void {
    const { clock, idleMs } = this.#options
    this.#cancelSweep ??= clock.after(idleMs / 2, () => this.#sweep(), { background: true })
  }

  #sweep(): void {
    this.#cancelSweep = undefined
    const limit = this.#now - this.#options.idleMs
    for (const [id, session] of this.#sessions)
      if (isUnused(session) && session.lastUsed <= limit) this.#end(id, session)
    if (this.#sessions.size > 0) this.#sweepLater()
  }

  #end(id: string, { server }: LegacySession): void {
    this.#sessions.delete(id)
    const ending = server.close().finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }

  get #now(): number {
    return this.#options.clock.monotonic()
  }
}

/** Whether the session has no running request and no open stream. */
function isUnused({ open }: LegacySession): boolean {
  return open === 0
}

function toErrorResponse(
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers })
}
