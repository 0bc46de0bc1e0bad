import {
  type AuthInfo,
  isLegacyRequest,
  type McpServer,
  type ServerEventBus,
  verifyBearerToken,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { SkillError, type SkillRuntime, type SkillScope } from '@skillstoke/core'
import { checkOptions, type KnownOptions, toMessage } from '@skillstoke/core/internal'
import { toAccepted } from './accepted-types.ts'
import type { SharedParts } from './attach-skills.ts'
import { logError } from './connections.ts'
import { toErrorResponse } from './error-response.ts'
import { followStream } from './follow-stream.ts'
import { type IncomingRequest, readIncoming } from './incoming-request.ts'
import { LegacySessions } from './legacy-sessions.ts'
import { limitRefusal } from './limit-errors.ts'
import { type ResolvedMcpOptions, resolveOptions, type SkillMcpOptions } from './mcp-options.ts'
import { RateLimit } from './rate-limit.ts'
import { RecentGenerations } from './recent-generations.ts'
import { ownerOf, toChallenge } from './request-owner.ts'
import { RequestTrace } from './request-trace.ts'
import { SkillsView } from './skills-view.ts'
import { StdioTransport } from './stdio-transport.ts'

const KNOWN_STDIO: KnownOptions<ServeStdioOptions> = { signal: true }

export interface ServeStdioOptions {
  /** Ends the connection. */
  readonly signal?: AbortSignal
}

/** Who sent a request, and what this client sees. */
interface Caller {
  readonly auth: AuthInfo | undefined
  readonly view: SkillsView
  readonly owner: string
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
 * console.log((await mcp.fetch(new Request('http://localhost/mcp'))).status) // prints 400
 * ```
 */
export class SkillMcp implements AsyncDisposable {
  readonly #options: ResolvedMcpOptions
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
    this.#options = resolveOptions(options)
    if (this.#options.authorTools) skills.writer() // throws if no source is writable
    const recent = new RecentGenerations(skills.current)
    this.#parts = {
      skills,
      options: this.#options,
      recent,
      trace: new RequestTrace(this.#options),
      nextSessionId: () => this.#nextSessionId(),
      warnOnce: message => this.#warnOnce(message),
    }
    this.#ownView = new SkillsView(this.#parts, options.scope)
    this.#unsubscribe = skills.subscribe(({ generation }) => recent.add(generation), { phase: 'mcp' })
    this.#limit = new RateLimit(this.#options)
    this.#legacy = new LegacySessions(this.#options, () => skills.current.digest)
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
    const { access, maxRequestBytes } = this.#options
    const document = access?.respond?.(request)
    if (document !== undefined) return document
    // Clients look for an authorization server here. Any other answer than 404 would start a sign-in that cannot end.
    if (new URL(request.url).pathname.startsWith('/.well-known/'))
      return new Response('not found', { status: 404 })
    const caller = await this.#identify(request)
    if (caller instanceof Response) return caller
    const incoming = await readIncoming(request, maxRequestBytes)
    if (incoming instanceof Response) return incoming
    const { auth, view } = caller
    // A view stays open while it answers, and while its answer is an open stream.
    const release = view.use()
    try {
      const answer = await limitRefusal(await this.#answer(incoming, caller))
      const response = await toAccepted(answer, incoming.accepted, request.signal)
      if (response.status === 503)
        this.#parts.trace.refused(request, 'too many sessions are in use', auth?.clientId)
      return followStream(response, this.#options, { auth, done: release })
    } catch (thrown) {
      release()
      throw thrown
    }
  }

  async #answer(
    { request, body, accepted }: IncomingRequest,
    { auth, view, owner }: Caller,
  ): Promise<Response> {
    const authInfo = auth === undefined ? {} : { authInfo: auth }
    const parsed = body === undefined ? {} : { parsedBody: body }
    if (this.#options.stateless || !(await isLegacyRequest(request, body)))
      return await view.fetch(request, { ...authInfo, ...parsed }, owner)
    return await this.#legacy.handle(
      { request, body, accepted },
      {
        ...{ ...authInfo, owner },
        createServer: (conversation, continued) =>
          view.createSession({ era: 'legacy', requestInfo: request, ...authInfo }, conversation, continued),
      },
    )
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
    const transport = new StdioTransport()
    const handle = serveStdio(context => this.#ownView.createLasting(context), {
      transport,
      onerror: error => logError(this.#options, error),
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
  async #identify(request: Request): Promise<Caller | Response> {
    const { access } = this.#options
    if (access === undefined) {
      const refusal = this.#refuseExcess(request, '')
      return refusal ?? { auth: undefined, view: this.#ownView, owner: ownerOf(request) }
    }
    try {
      const auth = await verifyBearerToken(request.headers.get('authorization'), access)
      const refusal = this.#refuseExcess(request, auth.clientId)
      if (refusal !== undefined) return refusal
      const { view, key } = this.#viewOf(access.scopeOf?.(auth))
      return { auth, view, owner: ownerOf(request, auth, key) }
    } catch (thrown) {
      this.#parts.trace.refused(request, toMessage(thrown))
      return toChallenge(thrown, access, request)
    }
  }

  #refuseExcess(request: Request, client: string): Response | undefined {
    const waitMs = this.#limit.take(client)
    if (waitMs === 0) return undefined
    const seconds = Math.ceil(waitMs / 1_000)
    const message = `more than ${this.#options.requestsPerMinute} requests in a minute; try again in ${seconds} s`
    this.#parts.trace.refused(request, message, client)
    return toErrorResponse(429, -32_000, message, { 'Retry-After': String(seconds) })
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
    const taken = new Set(this.#parts.skills.sessions().map(({ id }) => id))
    do this.#sessionCount++
    while (taken.has(`mcp-${this.#sessionCount}`))
    return `mcp-${this.#sessionCount}`
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new SkillError('CLOSED', 'the MCP server is closed')
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return
    if (this.#warned.size >= MAX_REMEMBERED_WARNINGS) this.#warned.clear()
    this.#warned.add(message)
    this.#options.logger.warn(`mcp: ${message}`)
  }
}

function withOuter(scope: SkillScope, outer: SkillScope): SkillScope {
  return { ...scope, outer: scope.outer === undefined ? outer : withOuter(scope.outer, outer) }
}
