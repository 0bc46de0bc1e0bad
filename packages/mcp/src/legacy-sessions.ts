import {
  type AuthInfo,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { defined, showValue } from '@skillstoke/core/internal'
import { toErrorResponse } from './error-response.ts'
import { BOTH_TYPES, type IncomingRequest, requestIdsOf } from './incoming-request.ts'
import type { ResolvedMcpOptions } from './mcp-options.ts'
import { observeBody } from './observe-body.ts'
import { readHandshake, type SealedSession, SessionSeal } from './session-seal.ts'

type LegacyOptions = Pick<ResolvedMcpOptions, 'clock' | 'maxSessions' | 'sessionIdleMs' | 'sessionKey'>

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
  readonly id: string
  readonly owner: string
  readonly transport: WebStandardStreamableHTTPServerTransport
  /** Resolves when the transport can handle requests. */
  readonly ready: Promise<void>
  /** Ids of the running requests. */
  readonly running: Set<unknown>
  /** Number of open requests and open streams of the session. */
  open: number
  lastUsed: number
}

/** How long a session is safe from eviction after its last request, in milliseconds. */
const GRACE_MS = 30_000
/** Limits the memory for sessions that clients have ended. */
const MAX_ENDED = 1_000

/**
 * Serves Streamable HTTP to 2025-era clients. Each client has a session, because notifications need a session. The id of
 * a session is sealed, and contains what a server needs to continue the session. So a client notices neither that an
 * idle session was closed, nor that another server with the same key answers. A session that is in use is never closed
 * to make room for another client. If all sessions are in use, a new client gets 503 with `Retry-After`.
 */
export class LegacySessions {
  readonly #options: LegacyOptions
  readonly #seal: SessionSeal
  readonly #currentDigest: () => string
  readonly #sessions = new Map<string, LegacySession>()
  /** Ids of the sessions that their clients ended. */
  readonly #ended = new Set<string>()
  /** Sessions that are being closed. */
  readonly #ending = new Set<Promise<void>>()
  #cancelSweep: (() => void) | undefined
  #isClosed = false

  /** @param currentDigest returns the digest of the newest generation */
  constructor(options: LegacyOptions, currentDigest: () => string) {
    this.#options = options
    this.#seal = new SessionSeal(options.sessionKey)
    this.#currentDigest = currentDigest
  }

  async handle(incoming: IncomingRequest, caller: LegacyCaller): Promise<Response> {
    const id = incoming.request.headers.get('mcp-session-id')
    const session = id === null ? await this.#begin(incoming, caller) : await this.#find(id, caller)
    if (session === 'full') return this.#refuse()
    if (id === null && session === undefined)
      return toErrorResponse(400, -32_000, 'there is no session; begin one with "initialize"')
    // For another client, the session does not exist.
    if (session === undefined || session.owner !== caller.owner)
      return toErrorResponse(404, -32_001, 'there is no such session; begin a new one')
    return await this.#use(session, incoming, caller)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelSweep?.()
    for (const session of this.#sessions.values()) this.#end(session)
    await Promise.all(this.#ending)
  }

  /** Begins a session. Returns `undefined` if the request is not a handshake. */
  async #begin({ body }: IncomingRequest, caller: LegacyCaller): Promise<LegacySession | 'full' | undefined> {
    const handshake = readHandshake(body)
    if (handshake === undefined) return undefined
    const conversation = createConversationIdentity()
    const sealed = { handshake, conversation, generation: this.#currentDigest() }
    const id = await this.#seal.seal(sealed, caller.owner)
    return this.#open(id, caller, conversation)
  }

  /** Returns the session with an id. Continues a session that this server does not have yet, or does not have any more. */
  async #find(id: string, caller: LegacyCaller): Promise<LegacySession | 'full' | undefined> {
    const known = this.#sessions.get(id)
    if (known !== undefined || this.#ended.has(id)) return known
    const sealed = await this.#seal.open(id, caller.owner)
    // Another request may have continued the session while the id was being opened.
    const continued = this.#sessions.get(id)
    if (continued !== undefined || sealed === undefined) return continued
    return this.#open(id, caller, sealed.conversation, sealed)
  }

  /** Creates the server object and the transport of a session. The session starts with the first request. */
  #open(
    id: string,
    { owner, createServer }: LegacyCaller,
    conversation: string,
    continued?: SealedSession,
  ): LegacySession | 'full' {
    if (!this.#hasRoom()) return 'full'
    const created = createServer(conversation, continued)
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => this.#forget(id),
    })
    const ready = created.server.connect(transport).then(async () => {
      if (continued !== undefined) await repeatHandshake(transport, id, continued)
    })
    ready.catch(() => undefined) // the request that waits for it fails
    const session = {
      ...created,
      id,
      owner,
      transport,
      ready,
      running: new Set(),
      open: 0,
      lastUsed: this.#now,
    }
    this.#sessions.set(id, session)
    this.#sweepLater()
    return session
  }

  /** Remembers that the client ended a session, so that its id does not continue it. */
  #forget(id: string): void {
    this.#sessions.delete(id)
    this.#ended.add(id)
    const [oldest] = this.#ended
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest)
  }

  #refuse(): Response {
    const { maxSessions } = this.#options
    const idleAt = [...this.#sessions.values()].filter(isUnused).map(({ lastUsed }) => lastUsed + GRACE_MS)
    const waitMs = Math.min(GRACE_MS, ...idleAt.map(time => time - this.#now))
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
      await session.ready
      const response = await session.transport.handleRequest(request, {
        ...defined({ parsedBody: body, authInfo }),
      })
      if (session.transport.sessionId === undefined) this.#end(session) // its handshake was refused
      isStream = request.method === 'GET' && response.ok
      if (isStream) session.setListening(true)
      return observeBody(response, done)
    } catch (thrown) {
      done()
      if (session.transport.sessionId === undefined) this.#end(session)
      throw thrown
    }
  }

  /** Whether another session may begin. If the limit is reached, evicts a session that is idle for long enough. */
  #hasRoom(): boolean {
    return !this.#isClosed && (this.#sessions.size < this.#options.maxSessions || this.#makeRoom())
  }

  /** Evicts the session that has been idle for longest. Returns `false` if no session is idle. */
  #makeRoom(): boolean {
    const limit = this.#now - GRACE_MS
    const idle = [...this.#sessions.values()].filter(each => isUnused(each) && each.lastUsed <= limit)
    const oldest = idle.sort((a, b) => a.lastUsed - b.lastUsed)[0]
    if (oldest === undefined) return false
    this.#end(oldest)
    return true
  }

  #sweepLater(): void {
    const { clock, sessionIdleMs } = this.#options
    this.#cancelSweep ??= clock.after(sessionIdleMs / 2, () => this.#sweep(), { background: true })
  }

  #sweep(): void {
    this.#cancelSweep = undefined
    const limit = this.#now - this.#options.sessionIdleMs
    for (const session of this.#sessions.values())
      if (isUnused(session) && session.lastUsed <= limit) this.#end(session)
    if (this.#sessions.size > 0) this.#sweepLater()
  }

  #end({ id, server }: LegacySession): void {
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
  transport: WebStandardStreamableHTTPServerTransport,
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
