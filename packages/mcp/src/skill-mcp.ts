import {
  createMcpHandler,
  isLegacyRequest,
  type McpHttpHandler,
  type McpServer,
} from '@modelcontextprotocol/server'
import { SkillsExtension } from '@modelcontextprotocol/server/ext/skills'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import {
  type Logger,
  SkillError,
  type SkillReader,
  type SkillRuntime,
  type SkillScope,
} from '@skillstoke/core'
import {
  checkNumber,
  checkOptions,
  checkWholeNumber,
  type KnownOptions,
  LONGEST_TIMER_MS,
  silentLogger,
  toMessage,
} from '@skillstoke/core/internal'
import { type Clock, systemClock } from '@skillstoke/core/source'
import { type ChangeNotification, ChangeNotifications } from './change-notifications.ts'
import { LegacySessions } from './legacy-sessions.ts'
import { RuntimeSkillSource } from './runtime-skill-source.ts'
import { type ConstantTools, ServedTools } from './served-tools.ts'
import { createSkillServer, type SkillServerParts } from './skill-server.ts'

export interface SkillMcpOptions {
  /** The skills that clients may see. @default all */
  readonly scope?: SkillScope
  /** Name of the server in the protocol. @default 'skillstoke' */
  readonly name?: string
  /** @default '0.0.0' */
  readonly version?: string
  /** How long a 2026-era client may cache an answer, in whole milliseconds. @default 0 */
  readonly ttlMs?: number
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
  ttlMs: true,
  pageSize: true,
  notificationIntervalMs: true,
  maxSessions: true,
  sessionGraceMs: true,
  sessionIdleMs: true,
  maxRequestBytes: true,
  commandTools: true,
  adminTools: true,
  onSessionChange: true,
  logger: true,
  clock: true,
}

type Defaults = Required<Omit<SkillMcpOptions, 'scope' | 'onSessionChange' | 'logger' | 'clock'>>

export const DEFAULT_MCP_OPTIONS: Readonly<Defaults> = Object.freeze({
  name: 'skillstoke',
  version: '0.0.0',
  ttlMs: 0,
  pageSize: 100,
  notificationIntervalMs: 250,
  maxSessions: 256,
  sessionGraceMs: 30_000,
  sessionIdleMs: 1_800_000,
  maxRequestBytes: 1_048_576,
  commandTools: false,
  adminTools: false,
})

export interface ServeStdioOptions {
  /** Ends the connection. */
  readonly signal?: AbortSignal
}

/**
 * A server object for one connection. The object exists as long as the connection, because the object sends
 * notifications to the client.
 */
interface Connection {
  readonly server: McpServer
  /**
   * URIs that a 2025-era client subscribed to. For a 2026-era client, `'everything'`, because the SDK filters the
   * updates for the stream of the client.
   */
  readonly subscribed: Set<string> | 'everything'
}

const INTRODUCTION =
  'This server provides skills: instructions, references and scripts for particular tasks. Before a task that one of ' +
  'them describes, load it with the tool "skill" and its name. Skills may change while you work; answers are always ' +
  'the newest revision.'

/**
 * Serves the skills of a runtime to MCP clients: two tools, files as `skill://` resources, the Skills extension
 * (SEP-2640) and notifications. Supports stdio and Streamable HTTP, and the protocol versions 2025-11-25 and
 * 2026-07-28. Server objects are temporary, because the runtime keeps all state that must last. The host must check the
 * headers `Host` and `Origin`.
 *
 * @example
 * ```ts
 * import { createSkillRuntime } from '@skillstoke/core'
 * import { directory } from '@skillstoke/core/node'
 * import { SkillMcp } from '@skillstoke/mcp'
 *
 * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
 * await using mcp = new SkillMcp(skills, { name: 'support-skills', version: '1.0.0' })
 * const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
 * const clientInfo = { name: 'client', version: '1.0.0' }
 * const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
 * const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
 * const response = await mcp.fetch(new Request('http://localhost/mcp', { method: 'POST', headers, body }))
 * console.log(response.status) // prints 200
 * ```
 */
export class SkillMcp implements AsyncDisposable {
  readonly #skills: SkillRuntime
  /** Reads the skills that clients may see, and no other skills. */
  readonly #reader: SkillReader
  readonly #options: SkillMcpOptions & Readonly<Defaults>
  readonly #logger: Logger
  readonly #source: RuntimeSkillSource
  readonly #extension: SkillsExtension
  readonly #notifications: ChangeNotifications
  readonly #unsubscribe: () => void
  readonly #connections = new Set<Connection>()
  readonly #modern: McpHttpHandler
  readonly #legacy: LegacySessions
  readonly #stdio = new Set<{ close(): Promise<void> }>()
  readonly #warned = new Set<string>()
  #sessionCount = 0
  #closing: Promise<void> | undefined

  /** @throws {SkillError} INVALID_OPTION */
  constructor(skills: SkillRuntime, options: SkillMcpOptions = {}) {
    checkOptions('SkillMcp', options, KNOWN_OPTIONS)
    this.#skills = skills
    this.#options = { ...DEFAULT_MCP_OPTIONS, ...options }
    this.#logger = options.logger ?? silentLogger
    checkNumbers(this.#options)
    const { scope, pageSize, ttlMs, maxSessions, sessionGraceMs, sessionIdleMs, maxRequestBytes } =
      this.#options
    const clock = options.clock ?? systemClock
    this.#reader = skills.forConversation(scope === undefined ? {} : { scope })
    this.#source = new RuntimeSkillSource(this.#reader, { pageSize, logger: this.#logger })
    this.#extension = new SkillsExtension({
      source: this.#source,
      cacheHint: { ttlMs, cacheScope: 'private' },
      onWarning: ({ path, message }) => this.#warnOnce(`${path}: ${message}`),
    })
    this.#modern = createMcpHandler(() => this.#createShortLived(), {
      legacy: 'reject',
      maxRequestBodySize: maxRequestBytes,
      onerror: error => this.#onError(error),
    })
    this.#legacy = new LegacySessions({
      createServer: () => this.#createLasting('legacy'),
      clock,
      maxSessions,
      graceMs: sessionGraceMs,
      idleMs: sessionIdleMs,
      maxRequestBytes,
    })
    this.#notifications = new ChangeNotifications({
      clock,
      intervalMs: this.#options.notificationIntervalMs,
      isInScope: this.#reader.isInScope,
      send: notification => this.#notify(notification),
    })
    const unsubscribe = skills.subscribe(update => this.#notifications.add(update), { phase: 'mcp' })
    const unfollow = this.#followCommands()
    this.#unsubscribe = () => {
      unsubscribe()
      unfollow()
    }
  }

  /** Answers one HTTP request of a 2025-era or 2026-era client. */
  async fetch(request: Request): Promise<Response> {
    if (this.#closing !== undefined) return new Response('the server is closing', { status: 503 })
    const { maxRequestBytes } = this.#options
    const isLegacy = await isLegacyRequest(request, undefined, { maxRequestBodySize: maxRequestBytes })
    return isLegacy ? await this.#legacy.handle(request) : await this.#modern.fetch(request)
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
   * import { SkillMcp } from '@skillstoke/mcp'
   *
   * await using skills = await createSkillRuntime({ sources: [directory('./skills')] })
   * await using mcp = new SkillMcp(skills, { name: 'support-skills', version: '1.0.0' })
   * await mcp.serveStdio()
   * ```
   */
  async serveStdio(options: ServeStdioOptions = {}): Promise<void> {
    checkOptions('serveStdio()', options, KNOWN_STDIO)
    const { signal } = options
    if (this.#closing !== undefined) throw new SkillError('CLOSED', 'the MCP server is closed')
    const transport = new ObservedStdioTransport()
    const handle = serveStdio(({ era }) => this.#createLasting(era), {
      transport,
      onerror: error => this.#onError(error),
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
      this.#notifications.close()
      await Promise.all([
        this.#modern.close(),
        this.#legacy.close(),
        ...[...this.#stdio].map(handle => handle.close()),
      ])
    })()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Creates a server object for one request. It has no conversation. */
  #createShortLived(): McpServer {
    const skills = this.#skills
    const { scope } = this.#options
    const scoped = scope === undefined ? {} : { scope }
    const constant = {
      tools: skills.tools(scoped),
      describeUnknownTool: (name: string, tools: readonly string[]) =>
        skills.describeUnknownTool(name, tools, scoped),
    }
    const catalog = this.#reader.catalog().text
    return this.#createServer({ constant, instructions: toInstructions(catalog) }, new Set())
  }

  /** Creates a server object for a connection, with a session for the conversation of the client. */
  #createLasting(era: 'legacy' | 'modern'): McpServer {
    const { scope } = this.#options
    const session = this.#skills.session({
      id: this.#nextSessionId(),
      ...(scope === undefined ? {} : { scope }),
    })
    const subscribed = new Set<string>()
    const own = { constant: session, session, instructions: toInstructions(session.catalog) }
    const server = this.#createServer(own, subscribed)
    const connection: Connection = { server, subscribed: era === 'legacy' ? subscribed : 'everything' }
    this.#connections.add(connection)
    this.#options.onSessionChange?.()
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a hook of the SDK, which is not an event target
    server.server.onclose = () => {
      this.#connections.delete(connection)
      session.close()
      this.#options.onSessionChange?.()
    }
    return server
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

  #createServer(
    {
      constant,
      ...own
    }: Pick<SkillServerParts, 'instructions' | 'session'> & { readonly constant: ConstantTools },
    subscribed: Set<string>,
  ): McpServer {
    const { name, version, ttlMs, onSessionChange } = this.#options
    const parts = {
      ...{ name, version, ttlMs, ...own },
      source: this.#source,
      extension: this.#extension,
      tools: new ServedTools(this.#skills, constant, this.#options),
      ...(onSessionChange === undefined ? {} : { onCall: onSessionChange }),
    }
    return createSkillServer(parts, subscribed)
  }

  /** Notifies clients of changed tools, within the same rate limit as other notifications. */
  #followCommands(): () => void {
    const { commandTools, adminTools } = this.#options
    if (!(commandTools || adminTools) || !this.#skills.scripts.canRun) return () => undefined
    return this.#skills.scripts.subscribe(({ skill }) => {
      if (this.#reader.isInScope(skill)) this.#notifications.addToolChange()
    })
  }

  #notify({ isListChanged, uris, areToolsChanged }: ChangeNotification): void {
    if (isListChanged) this.#modern.notify.resourcesChanged()
    if (areToolsChanged) this.#modern.notify.toolsChanged()
    for (const uri of uris) this.#modern.notify.resourceUpdated(uri)
    for (const { server, subscribed } of this.#connections) {
      if (!server.isConnected()) continue
      const sent = isListChanged ? [server.server.sendResourceListChanged()] : []
      if (areToolsChanged) sent.push(server.server.sendToolListChanged())
      for (const uri of uris) {
        if (subscribed === 'everything' || subscribed.has(uri))
          sent.push(server.server.sendResourceUpdated({ uri }))
      }
      for (const each of sent) each.catch((error: unknown) => this.#onError(error))
    }
  }

  #onError(error: unknown): void {
    this.#logger.debug(`mcp: ${toMessage(error)}`, { error })
  }

  #warnOnce(message: string): void {
    if (this.#warned.has(message)) return
    if (this.#warned.size >= MAX_REMEMBERED_WARNINGS) this.#warned.clear()
    this.#warned.add(message)
    this.#logger.warn(`mcp: ${message}`)
  }
}

/** @throws {SkillError} INVALID_OPTION */
function checkNumbers(options: Readonly<Defaults>): void {
  checkWholeNumber('ttlMs', options.ttlMs, 0)
  checkWholeNumber('pageSize', options.pageSize, 1)
  checkNumber('notificationIntervalMs', options.notificationIntervalMs, 0, LONGEST_TIMER_MS)
  checkWholeNumber('maxSessions', options.maxSessions, 1)
  checkNumber('sessionGraceMs', options.sessionGraceMs, 0, LONGEST_TIMER_MS)
  checkNumber('sessionIdleMs', options.sessionIdleMs, 1)
  checkWholeNumber('maxRequestBytes', options.maxRequestBytes, 1)
}

const MAX_REMEMBERED_WARNINGS = 1_000

function toInstructions(catalog: string): string {
  return catalog === '' ? INTRODUCTION : `${INTRODUCTION}\n\n${catalog}`
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
