import {
  type AuthInfo,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { defined, showValue } from '@skillstoke/core/internal'
import type { Clock } from '@skillstoke/core/source'
import { toErrorResponse } from './error-response.ts'
import { BOTH_TYPES, type IncomingRequest, requestIdsOf } from './incoming-request.ts'
import { observeBody } from './observe-body.ts'
import { readHandshake, type SealedSession, type SessionSeal } from './session-seal.ts'

export interface LegacySessionsOptions {
  readonly clock: Clock
  readonly seal: SessionSeal
  /** Returns the digest of the newest generation. */
  readonly currentDigest: () => string
  readonly maxSessions: number
  /** How long a session is safe from eviction after its last request, in milliseconds. */
  readonly graceMs: number
  /** How long an unused session stays open after its last request, in milliseconds. */
  readonly idleMs: number
}

/** The server object of one session. */
export interface SessionServer {
  readonly server: McpServer
  /** Called when the stream for notifications has opened or ended. */
  readonly setListening: (isListening: boolean) => void
}

/** Who sent a request, and what begins if the request begins a session. */
export interface LegacyCaller {
  /** Identifies the client and what it may see. Only this owner may use the session. */
  readonly owner: string
  readonly authInfo?: AuthInfo
  /**
   * @param conversation identity of the conversation of the session
   * @param continued the session that the new server object continues; absent for a new session
   */
  readonly createServer: (conversation: string, continued?: SealedSession) => SessionServer
}

interface LegacySession extends SessionServer {
  readonly owner: string
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** Ids of the running requests. */
  readonly running: Set<unknown>
  /** Number of open requests and open streams of the session. */
  open: number
  lastUsed: number
}

/** Limits the memory for sessions that clients have ended. */
const MAX_ENDED = 1_000

/**
 * Serves Streamable HTTP to 2025-era clients. Each client has a session, because notifications need a session. The id of
 * a session is sealed, and contains what a server needs to continue the session. So a client notices neither that an
 * idle session was closed, nor that another server with the same key answers. A session that is in use is never closed
 * to make room for another client. If all sessions are in use, a new client gets 503 with `Retry-After`.
 */
export class LegacySessions {
  readonly #options: LegacySessionsOptions
  readonly #sessions = new Map<string, LegacySession>()
  /** Sessions that are being continued, by their id. */
  readonly #continuing = new Map<string, Promise<LegacySession | undefined>>()
  /** Ids of the sessions that their clients ended. */
  readonly #ended = new Set<string>()
  /** Number of running handshakes whose sessions do not exist yet. */
  #beginning = 0
  /** Sessions that are being closed. */
  readonly #ending = new Set<Promise<void>>()
  #cancelSweep: (() => void) | undefined
  #isClosed = false

  constructor(options: LegacySessionsOptions) {
    this.#options = options
  }

  async handle(incoming: IncomingRequest, caller: LegacyCaller): Promise<Response> {
    const id = incoming.request.headers.get('mcp-session-id')
    if (id === null) return await this.#begin(incoming, caller)
    const session = await this.#find(id, caller)
    if (session === 'full') return this.#refuse()
    // For another client, the session does not exist.
    if (session === undefined || session.owner !== caller.owner)
      return toErrorResponse(404, -32_001, 'there is no such session; begin a new one')
    return await this.#use(session, incoming, caller)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelSweep?.()
    for (const [id, session] of this.#sessions) this.#end(id, session)
    await Promise.all(this.#ending)
  }

  async #begin(incoming: IncomingRequest, caller: LegacyCaller): Promise<Response> {
    const { seal, currentDigest } = this.#options
    const handshake = readHandshake(incoming.body)
    const conversation = createConversationIdentity()
    const session = { conversation, generation: currentDigest() }
    const id = handshake === undefined ? '' : await seal.seal({ handshake, ...session }, caller.owner)
    // No `await` between this line and the start of the session. Otherwise more sessions than allowed could begin.
    if (!this.#hasRoom()) return this.#refuse()
    return await this.#open(id, caller, { conversation }, async session => {
      const response = await this.#use(session, incoming, caller)
      // If the request was not a handshake, the response is an error. No session starts, so the new server is closed.
      if (session.transport.sessionId === undefined) await session.server.close()
      return response
    })
  }

  /** Returns the session with an id. Continues a session that this server does not have yet, or does not have any more. */
  async #find(id: string, caller: LegacyCaller): Promise<LegacySession | 'full' | undefined> {
    const known = this.#sessions.get(id)
    if (known !== undefined || this.#ended.has(id)) return known
    const sealed = await this.#options.seal.open(id, caller.owner)
    if (sealed === undefined) return undefined
    // Another request may have continued the session while the id was being opened.
    const running = this.#sessions.get(id) ?? this.#continuing.get(id)
    if (running !== undefined) return await running
    if (!this.#hasRoom()) return 'full'
    const parts = { conversation: sealed.conversation, continued: sealed }
    const continued = this.#open(id, caller, parts, async session => {
      await repeatHandshake(session, id, sealed)
      return this.#sessions.get(id)
    }).finally(() => this.#continuing.delete(id))
    this.#continuing.set(id, continued)
    return await continued
  }

  /** Creates the server object and the transport of a session. The session starts when `work` sends a handshake. */
  async #open<T>(
    id: string,
    { owner, createServer }: LegacyCaller,
    { conversation, continued }: { readonly conversation: string; readonly continued?: SealedSession },
    work: (session: LegacySession) => Promise<T>,
  ): Promise<T> {
    let isBeginning = true
    const hasBegun = (): void => {
      if (isBeginning) this.#beginning--
      isBeginning = false
    }
    // Creates the server before counting the handshake. If the creation fails, no handshake is counted.
    const created = createServer(conversation, continued)
    this.#beginning++
    try {
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => id,
        onsessioninitialized: () => {
          this.#sessions.set(id, session)
          hasBegun()
          this.#sweepLater()
        },
        onsessionclosed: () => this.#forget(id),
      })
      const session: LegacySession = {
        ...{ ...created, owner, transport, running: new Set<unknown>() },
        ...{ open: 0, lastUsed: this.#now },
      }
      await created.server.connect(transport)
      const result = await work(session)
      if (this.#isClosed && this.#sessions.has(id)) this.#end(id, session)
      return result
    } catch (thrown) {
      await created.server.close()
      throw thrown
    } finally {
      hasBegun()
    }
  }

  /** Remembers that the client ended a session, so that its id does not continue it. */
  #forget(id: string): void {
    this.#sessions.delete(id)
    this.#ended.add(id)
    const [oldest] = this.#ended
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest)
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
  async #use(
    session: LegacySession,
    { request, body }: IncomingRequest,
    { authInfo }: LegacyCaller,
  ): Promise<Response> {
    const ids = requestIdsOf(body)
    // The transport finds the stream of an answer by the id of its request, so two running requests with one id would
    // leave one of them without an answer.
    const taken = ids.find(id => session.running.has(id))
    if (taken !== undefined)
      return toErrorResponse(
        400,
        -32_600,
        `a request with the id ${showValue(taken)} is running; use a new id`,
      )
    session.open++
    for (const id of ids) session.running.add(id)
    let isStream = false
    const done = (): void => {
      session.open--
      session.lastUsed = this.#now
      for (const id of ids) session.running.delete(id)
      if (isStream) session.setListening(false)
    }
    try {
      const response = await session.transport.handleRequest(request, {
        ...defined({ parsedBody: body, authInfo }),
      })
      isStream = request.method === 'GET' && response.ok
      if (isStream) session.setListening(true)
      return observeBody(response, done)
    } catch (thrown) {
      done()
      throw thrown
    }
  }

  /** Whether another session may begin. If the limit is reached, evicts a session that is idle for long enough. */
  #hasRoom(): boolean {
    return this.#sessions.size + this.#beginning < this.#options.maxSessions || this.#makeRoom()
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

/** Creates an identity in the form of the property `conversation` of a session. */
function createConversationIdentity(): string {
  return crypto.randomUUID().replaceAll('-', '')
}

/** Sends the handshake of a session to its new server object, which so learns the client and the protocol version. */
async function repeatHandshake(
  { transport }: LegacySession,
  id: string,
  { handshake }: SealedSession,
): Promise<void> {
  const send = async (message: object): Promise<void> => {
    const headers = { accept: BOTH_TYPES, 'content-type': 'application/json', 'mcp-session-id': id }
    const request = new Request('http://localhost/', { method: 'POST', headers })
    const answer = await transport.handleRequest(request, { parsedBody: { jsonrpc: '2.0', ...message } })
    await answer.text()
  }
  await send({ id: 'handshake', method: 'initialize', params: handshake })
  await send({ method: 'notifications/initialized' })
}
