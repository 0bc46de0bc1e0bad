import {
  type AuthInfo,
  bearerAuthChallengeResponse,
  isLegacyRequest,
  type McpRequestContext,
  type McpServer,
  type ServerEventBus,
  verifyBearerToken,
} from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { type Logger, SkillError, type SkillRuntime, type SkillScope } from '@skillstoke/core'
import {
  checkChoice,
  checkNumber,
  checkOptions,
  checkWholeNumber,
  type KnownOptions,
  LONGEST_TIMER_MS,
  silentLogger,
  toMessage,
} from '@skillstoke/core/internal'
import { type Clock, systemClock } from '@skillstoke/core/source'
import type { ClientAccess } from './client-access.ts'
import { followStream } from './follow-stream.ts'
import { LegacySessions } from './legacy-sessions.ts'
import { RateLimit } from './rate-limit.ts'
import { RecentGenerations } from './recent-generations.ts'
import { type AuditEntry, RequestTrace } from './request-trace.ts'
import { type SharedParts, SkillsView } from './skills-view.ts'

export interface SkillMcpOptions {
  /** The skills that clients may see. @default all */
  readonly scope?: SkillScope
  /**
   * Creates the server object of a host, to which the skills are added. Called for each connection of a 2025-era client
   * or over stdio, and for each request of a 2026-era client over HTTP. @default a server object that offers only skills
   */
  readonly createServer?: (context: McpRequestContext) => McpServer
  /** Name of the server in the protocol. @default 'skillstoke' */
  readonly name?: string
  /** @default '0.0.0' */
  readonly version?: string
  /** Text at the start of the server's instructions, before the list of skills. @default '' */
  readonly instructions?: string
  /**
   * Who may use the server over HTTP, and which skills each client sees. A server without access control must be
   * protected by its host.
   * @default every caller sees every skill in the scope
   */
  readonly access?: ClientAccess
  /**
   * Maximum number of HTTP requests of one client in a minute. Without `access`, all callers together count as one client.
   * `Infinity` means no limit.
   * @default Infinity
   */
  readonly requestsPerMinute?: number
  /** Called after each request that used a skill or was refused. @default nothing */
  readonly audit?: (entry: AuditEntry) => void
  /** How long a 2026-era client may cache an answer, in whole milliseconds. @default 0 */
  readonly ttlMs?: number
  /**
   * Who may share a cached answer: the clients of one user (`'private'`), or all clients (`'public'`).
   * @default 'private'
   */
  readonly cacheScope?: 'private' | 'public'
  /** Maximum number of entries in one page of a list. @default 100 */
  readonly pageSize?: number
  /** Minimum time between two notifications of changes, in milliseconds. @default 250 */
  readonly notificationIntervalMs?: number
  /**
   * Maximum number of open 2025-era HTTP sessions. If all sessions are in use, a new client gets 503 with
   * `Retry-After`. @default 256
   */
  readonly maxSessions?: number
  /**
   * How long a 2025-era HTTP session is safe from eviction after its last request, in milliseconds. A session with an
   * open stream is never evicted. @default 30,000
   */
  readonly sessionGraceMs?: number
  /**
   * How long an unused 2025-era HTTP session stays open, in milliseconds. `Infinity` means forever. @default 1,800,000
   */
  readonly sessionIdleMs?: number
  /** Maximum size of a request body over HTTP, in bytes. @default 1,048,576 */
  readonly maxRequestBytes?: number
  /**
   * Whether the server also offers each command as a tool named `skill.command`, besides `run_skill_command`. If true,
   * the list of tools changes with the skills, and clients are notified of each change. @default false
   */
  readonly commandTools?: boolean
  /**
   * Whether clients may reload and unload the code of skills, with the tools `skill.reload` and `skill.unload`.
   * @default false
   */
  readonly adminTools?: boolean
  /**
   * Whether clients may write skills, with the tools `write_skill_file` and `reload_skills`. Needs a writable source.
   * What a client writes is live in its own connection, and waits for approval everywhere else. @default false
   */
  readonly authorTools?: boolean
  /** Called when a client's conversation starts or ends, and after each tool call in the conversation. */
  readonly onSessionChange?: () => void
  readonly logger?: Logger
  readonly clock?: Clock
}

const KNOWN_STDIO: KnownOptions<ServeStdioOptions> = { signal: true }

const KNOWN_OPTIONS: KnownOptions<SkillMcpOptions> = {
  scope: true,
  name: true,
  version: true,
  instructions: true,
  createServer: true,
  access: true,
  requestsPerMinute: true,
  audit: true,
  ttlMs: true,
  cacheScope: true,
  pageSize: true,
  notificationIntervalMs: true,
  maxSessions: true,
  sessionGraceMs: true,
  sessionIdleMs: true,
  maxRequestBytes: true,
  commandTools: true,
  adminTools: true,
  authorTools: true,
  onSessionChange: true,
  logger: true,
  clock: true,
}

type Defaults = Required<
  Omit<
    SkillMcpOptions,
    'scope' | 'createServer' | 'access' | 'audit' | 'onSessionChange' | 'logger' | 'clock'
  >
>

export const DEFAULT_MCP_OPTIONS: Readonly<Defaults> = Object.freeze({
  name: 'skillstoke',
  version: '0.0.0',
  instructions: '',
  requestsPerMinute: Infinity,
  ttlMs: 0,
  cacheScope: 'private',
  pageSize: 100,
  notificationIntervalMs: 250,
  maxSessions: 256,
  sessionGraceMs: 30_000,
  sessionIdleMs: 1_800_000,
  maxRequestBytes: 1_048_576,
  commandTools: false,
  adminTools: false,
  authorTools: false,
})

const CACHE_SCOPES = ['private', 'public'] as const

export interface ServeStdioOptions {
  /** Ends the connection. */
  readonly signal?: AbortSignal
}

/** Limits the memory of a server whose clients have many different scopes. */
const MAX_VIEWS = 256
const MAX_REMEMBERED_WARNINGS = 1_000

/**
 * Creates a server that offers the skills of a runtime to MCP clients: constant tools, prompts, files as `skill://`
 * resources, the Skills extension (SEP-2640) and notifications. Supports stdio and Streamable HTTP, and the protocol
 * versions 2025-11-25 and 2026-07-28.
 * @throws {SkillError} INVALID_OPTION; READ_ONLY when `authorTools` is true and no source is writable
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { createSkillsServer } from '@skillstoke/mcp'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * await using server = createSkillsServer(skills, { name: 'support-skills', version: '1.0.0' })
 * const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
 * const clientInfo = { name: 'client', version: '1.0.0' }
 * const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
 * const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
 * const response = await server.fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body }))
 * console.log(response.status) // prints 200
 * ```
 */
export function createSkillsServer(skills: SkillRuntime, options: SkillMcpOptions = {}): SkillMcp {
  return new SkillMcp(skills, options)
}

/**
 * Serves the skills of a runtime to MCP clients. Server objects are temporary, because
 * the runtime keeps all state that must last. Without the option `access`, the host must check the headers `Host` and
 * `Origin`, and who the caller is.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { SkillMcp } from '@skillstoke/mcp'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * await using mcp = new SkillMcp(skills, { scope: { include: ['support-*'] } })
 * console.log((await mcp.fetch(new Request('http://localhost/mcp'))).status) // prints 406
 * ```
 */
export class SkillMcp implements AsyncDisposable {
  readonly #skills: SkillRuntime
  readonly #options: SkillMcpOptions & Readonly<Defaults>
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #parts: SharedParts
  /** The views that are in use, by the scope of their clients. The view that was used last is the last one. */
  readonly #views = new Map<string, SkillsView>()
  readonly #ownView: SkillsView
  readonly #legacy: LegacySessions
  readonly #limit: RateLimit
  readonly #stdio = new Set<{ close(): Promise<void> }>()
  readonly #warned = new Set<string>()
  readonly #unsubscribe: () => void
  #sessionCount = 0
  #closing: Promise<void> | undefined

  /** Does the same as `createSkillsServer`. */
  constructor(skills: SkillRuntime, options: SkillMcpOptions = {}) {
    checkOptions('SkillMcp', options, KNOWN_OPTIONS)
    this.#skills = skills
    this.#options = { ...DEFAULT_MCP_OPTIONS, ...options }
    this.#logger = options.logger ?? silentLogger
    checkValues(this.#options)
    if (this.#options.authorTools) skills.writer() // throws if no source is writable
    const { name, audit, requestsPerMinute, ...rest } = this.#options
    const clock = options.clock ?? systemClock
    this.#clock = clock
    const recent = new RecentGenerations(skills.current)
    this.#parts = {
      skills,
      options: this.#options,
      logger: this.#logger,
      clock,
      recent,
      trace: new RequestTrace({
        server: name,
        clock,
        ...(audit === undefined ? {} : { audit: entry => this.#tellAudit(audit, entry) }),
      }),
      nextSessionId: () => this.#nextSessionId(),
      warnOnce: message => this.#warnOnce(message),
    }
    this.#ownView = new SkillsView(this.#parts, options.scope)
    this.#unsubscribe = skills.subscribe(({ generation }) => recent.add(generation), { phase: 'mcp' })
    this.#limit = new RateLimit(requestsPerMinute, clock)
    this.#legacy = new LegacySessions({
      clock,
      maxSessions: rest.maxSessions,
      graceMs: rest.sessionGraceMs,
      idleMs: rest.sessionIdleMs,
      maxRequestBytes: rest.maxRequestBytes,
    })
  }

  /**
   * The events of this server for the streams of 2026-era clients. Pass the bus to the `createMcpHandler` of a host
   * whose server objects have the skills attached.
   */
  get bus(): ServerEventBus {
    return this.#ownView.modern.bus
  }

  /**
   * Adds the skills to an MCP server of the host: tools, prompts, resources, the Skills extension and notifications. Call
   * `attach()` before the server is connected. Use the option `createServer` instead if this server answers the requests.
   * @throws {SkillError} CLOSED; INVALID_OPTION when the server is connected, or has request handlers that are not known
   *
   * @example
   * ```ts
   * import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server'
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   * import { createSkillsServer } from '@skillstoke/mcp'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * await using server = createSkillsServer(skills)
   * const mcp = new McpServer({ name: 'shop', version: '1.0.0' })
   * mcp.registerTool('stock', { description: 'Counts the stock.' }, () => ({ content: [] }))
   * server.attach(mcp)
   * await mcp.connect(InMemoryTransport.createLinkedPair()[0])
   * ```
   */
  attach(mcp: McpServer): void {
    this.#assertOpen()
    this.#ownView.attach(mcp)
  }

  /** Answers one HTTP request of a 2025-era or 2026-era client. */
  async fetch(request: Request): Promise<Response> {
    if (this.#closing !== undefined) return new Response('the server is closing', { status: 503 })
    const caller = await this.#identify(request)
    if (caller instanceof Response) return caller
    const { auth, view, owner } = caller
    const { maxRequestBytes } = this.#options
    const isLegacy = await isLegacyRequest(request, undefined, { maxRequestBodySize: maxRequestBytes })
    const authInfo = auth === undefined ? {} : { authInfo: auth }
    const createServer = (): McpServer =>
      view.createLasting({ era: 'legacy', requestInfo: request, ...authInfo })
    // A view stays open while it answers, and while its answer is an open stream.
    const release = view.use()
    try {
      const response = isLegacy
        ? await this.#legacy.handle(request, { ...authInfo, owner, createServer })
        : await view.modern.fetch(request, authInfo)
      if (response.status === 503)
        this.#parts.trace.refused(request, 'too many sessions are in use', auth?.clientId)
      return followStream(response, { access: this.#options.access, auth, clock: this.#clock, done: release })
    } catch (thrown) {
      release()
      throw thrown
    }
  }

  /**
   * Serves one client over standard input and output. Resolves when the client has disconnected or the signal has
   * aborted.
   * @throws {SkillError} CLOSED, INVALID_OPTION
   *
   * @example
   * ```ts no-run
   * import { createSkillRuntime } from '@skillstoke/core'
   * import { directory } from '@skillstoke/core/node'
   * import { createSkillsServer } from '@skillstoke/mcp'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * await using server = createSkillsServer(skills, { name: 'support-skills', version: '1.0.0' })
   * await server.serveStdio()
   * ```
   */
  async serveStdio(options: ServeStdioOptions = {}): Promise<void> {
    checkOptions('serveStdio()', options, KNOWN_STDIO)
    this.#assertOpen()
    const { signal } = options
    const transport = new ObservedStdioTransport()
    const handle = serveStdio(context => this.#ownView.createLasting(context), {
      transport,
      onerror: error => this.#logger.debug(`mcp: ${toMessage(error)}`, { error }),
    })
    const end = (): void => void handle.close()
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted) end()
    this.#stdio.add(handle)
    await transport.closed
    this.#stdio.delete(handle)
    signal?.removeEventListener('abort', end)
  }

  /** Ends every connection. Stops listening for updates of the runtime. The runtime stays open. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#unsubscribe()
      await Promise.all([
        ...[this.#ownView, ...this.#views.values()].map(view => view.close()),
        this.#legacy.close(),
        ...[...this.#stdio].map(handle => handle.close()),
      ])
    })()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Finds out who sent a request and what this client sees, or returns the answer that refuses the request. */
  async #identify(
    request: Request,
  ): Promise<
    { readonly auth: AuthInfo | undefined; readonly view: SkillsView; readonly owner: string } | Response
  > {
    const { access } = this.#options
    if (access === undefined) {
      const refusal = this.#refuseExcess(request, '')
      return refusal ?? { auth: undefined, view: this.#ownView, owner: '' }
    }
    const document = access.respond?.(request)
    if (document !== undefined) return document
    try {
      const auth = await verifyBearerToken(request.headers.get('authorization'), access)
      const refusal = this.#refuseExcess(request, auth.clientId)
      if (refusal !== undefined) return refusal
      const { view, key } = this.#viewOf(access.scopeOf?.(auth))
      return { auth, view, owner: JSON.stringify([auth.clientId, key]) }
    } catch (thrown) {
      this.#parts.trace.refused(request, toMessage(thrown))
      return bearerAuthChallengeResponse(thrown, access)
    }
  }

  #refuseExcess(request: Request, client: string): Response | undefined {
    const waitMs = this.#limit.take(client)
    if (waitMs === 0) return undefined
    const seconds = Math.ceil(waitMs / 1_000)
    const message = `more than ${this.#options.requestsPerMinute} requests in a minute; try again in ${seconds} s`
    this.#parts.trace.refused(request, message, client)
    return Response.json(
      { jsonrpc: '2.0', error: { code: -32_000, message }, id: null },
      { status: 429, headers: { 'Retry-After': String(seconds) } },
    )
  }

  /** Returns the view of the clients with one scope. The scope of the server limits the scope of each client. */
  #viewOf(scope: SkillScope | undefined): { readonly view: SkillsView; readonly key: string } {
    if (scope === undefined) return { view: this.#ownView, key: '' }
    const outer = this.#options.scope
    const key = JSON.stringify(scope)
    const known = this.#views.get(key)
    this.#views.delete(key)
    const view = known ?? new SkillsView(this.#parts, outer === undefined ? scope : withOuter(scope, outer))
    this.#views.set(key, view)
    if (this.#views.size > MAX_VIEWS) this.#closeUnusedView(key)
    return { view, key }
  }

  /** Closes the view that was not used for the longest time, unless its clients expect notifications. */
  #closeUnusedView(kept: string): void {
    for (const [key, view] of this.#views) {
      if (key === kept || view.isInUse) continue
      this.#views.delete(key)
      void view.close()
      return
    }
  }

  /**
   * Returns an unused session id. Skips ids in use, because another server on the same runtime creates ids of the same
   * form.
   */
  #nextSessionId(): string {
    const taken = new Set(this.#skills.sessions().map(({ id }) => id))
    do this.#sessionCount++
    while (taken.has(`mcp-${this.#sessionCount}`))
    return `mcp-${this.#sessionCount}`
  }

  /** Logs the failure of an audit function, because it must not fail the request. */
  #tellAudit(audit: (entry: AuditEntry) => void, entry: AuditEntry): void {
    try {
      audit(entry)
    } catch (error) {
      this.#logger.error(`mcp: the audit function failed: ${toMessage(error)}`, { error })
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new SkillError('CLOSED', 'the MCP server is closed')
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return
    if (this.#warned.size >= MAX_REMEMBERED_WARNINGS) this.#warned.clear()
    this.#warned.add(message)
    this.#logger.warn(`mcp: ${message}`)
  }
}

function withOuter(scope: SkillScope, outer: SkillScope): SkillScope {
  return { ...scope, outer: scope.outer === undefined ? outer : withOuter(scope.outer, outer) }
}

/** @throws {SkillError} INVALID_OPTION */
function checkValues(options: Readonly<Defaults>): void {
  checkWholeNumber('ttlMs', options.ttlMs, 0)
  checkChoice('cacheScope', options.cacheScope, CACHE_SCOPES)
  checkWholeNumber('pageSize', options.pageSize, 1)
  checkNumber('requestsPerMinute', options.requestsPerMinute, 1)
  checkNumber('notificationIntervalMs', options.notificationIntervalMs, 0, LONGEST_TIMER_MS)
  checkWholeNumber('maxSessions', options.maxSessions, 1)
  checkNumber('sessionGraceMs', options.sessionGraceMs, 0, LONGEST_TIMER_MS)
  checkNumber('sessionIdleMs', options.sessionIdleMs, 1)
  checkWholeNumber('maxRequestBytes', options.maxRequestBytes, 1)
}

/** A transport that reports when the connection has ended, no matter which side ended it. */
class ObservedStdioTransport extends StdioServerTransport {
  readonly closed: Promise<void>
  readonly #onClosed: () => void

  constructor() {
    super()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    this.#onClosed = resolve
  }

  override async close(): Promise<void> {
    await super.close()
    this.#onClosed()
  }
}
