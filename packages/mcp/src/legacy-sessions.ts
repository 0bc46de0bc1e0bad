import { randomUUID } from 'node:crypto'
import { type McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import type { Clock } from '@skillstoke/core'

export interface LegacySessionsOptions {
  readonly createServer: () => McpServer
  readonly clock: Clock
  readonly maxSessions: number
  readonly idleMs: number
  readonly maxRequestBytes: number
}

interface LegacySession {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly server: McpServer
  /** Requests and streams that are open now. */
  open: number
  lastUsed: number
}

/**
 * Streamable HTTP as 2025-era clients speak it: a session each, because only on one can they be sent notifications.
 * Sessions nobody uses are closed; a client then gets 404 and begins a new one, as the specification says.
 */
export class LegacySessions {
  readonly #options: LegacySessionsOptions
  readonly #sessions = new Map<string, LegacySession>()
  /** Handshakes that are under way. */
  #beginning = 0
  #cancelSweep: (() => void) | undefined

  constructor(options: LegacySessionsOptions) {
    this.#options = options
  }

  async handle(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id === null) return await this.#begin(request)
    const session = this.#sessions.get(id)
    if (session === undefined)
      return toErrorResponse(404, -32_001, 'there is no such session; begin a new one')
    return await this.#use(session, request)
  }

  async close(): Promise<void> {
    this.#cancelSweep?.()
    await Promise.all([...this.#sessions.values()].map(session => session.server.close()))
  }

  async #begin(request: Request): Promise<Response> {
    const { createServer, maxSessions, maxRequestBytes } = this.#options
    if (this.#sessions.size + this.#beginning >= maxSessions && !(await this.#makeRoom()))
      return toErrorResponse(503, -32_000, `${maxSessions} sessions are open; close one, or try again later`)
    this.#beginning++
    try {
      const server = createServer()
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        maxRequestBodySize: maxRequestBytes,
        onsessioninitialized: id => {
          this.#sessions.set(id, session)
          this.#sweepLater()
        },
        onsessionclosed: id => void this.#sessions.delete(id),
      })
      const session: LegacySession = { transport, server, open: 0, lastUsed: this.#now }
      await server.connect(transport)
      const response = await this.#use(session, request)
      // Anything but a handshake gets its error and leaves nothing behind.
      if (transport.sessionId === undefined) await server.close()
      return response
    } finally {
      this.#beginning--
    }
  }

  /** A session is in use until the last byte of its answer has been taken, or nobody wants it any more. */
  async #use(session: LegacySession, request: Request): Promise<Response> {
    session.open++
    const done = (): void => {
      session.open--
      session.lastUsed = this.#now
    }
    try {
      const response = await session.transport.handleRequest(request)
      return onceTaken(response, done)
    } catch (thrown) {
      done()
      throw thrown
    }
  }

  /** Closes the session that has been unused for longest; `false` when all are in use. */
  async #makeRoom(): Promise<boolean> {
    const unused = [...this.#sessions].filter(([, session]) => session.open === 0)
    const oldest = unused.sort(([, a], [, b]) => a.lastUsed - b.lastUsed)[0]
    if (oldest === undefined) return false
    await this.#end(...oldest)
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
      if (session.open === 0 && session.lastUsed <= limit) void this.#end(id, session)
    if (this.#sessions.size > 0) this.#sweepLater()
  }

  async #end(id: string, session: LegacySession): Promise<void> {
    this.#sessions.delete(id)
    await session.server.close()
  }

  get #now(): number {
    return this.#options.clock.monotonic()
  }
}

/** The same answer, telling when its body has come to an end, whichever. */
function onceTaken(response: Response, done: () => void): Response {
  const { body, status, statusText, headers } = response
  if (body === null) {
    done()
    return response
  }
  const reader = body.getReader()
  const observed = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const part = await reader.read()
        if (!part.done) return controller.enqueue(part.value)
        controller.close()
      } catch (thrown) {
        controller.error(thrown)
      }
      done()
    },
    async cancel(reason) {
      done()
      await reader.cancel(reason)
    },
  })
  return new Response(observed, { status, statusText, headers })
}

function toErrorResponse(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}
