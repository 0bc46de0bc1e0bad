import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createAdaptorServer } from '@hono/node-server'
import type { SkillRuntime, TokenCounter } from '@skillstoke/core'
import type { SkillMcp } from '@skillstoke/mcp'
import { Hono } from 'hono'
import type { Turn } from '../client/api-types.ts'
import { type Config, pathsOf } from '../config/config.ts'
import { DEFAULT_MAX_SESSIONS } from '../config/defaults.ts'
import { UsageError } from '../exit-code.ts'
import { readVersion } from '../version.ts'
import { createApi } from './api.ts'
import { fail, onApiError } from './api-failure.ts'
import { LiveState } from './live-state.ts'
import { renderMetrics } from './metrics.ts'
import { addSecurityHeaders, PAGE_DIRECTORY, servePage } from './page-files.ts'
import type { Playground } from './playground.ts'
import { RequestGuard } from './request-guard.ts'

export interface DevServerOptions {
  readonly config: Config
  readonly skills: SkillRuntime
  readonly mcp: SkillMcp
  readonly countTokens: TokenCounter
  readonly playground: Playground
  /** Returns the recorded turns of a conversation. */
  readonly turnsOf: (sessionId: string) => readonly Turn[]
}

const LAST_WORDS_MS = 250
const KEEP_ALIVE_MS = 15_000
const MAX_EVENT_STREAMS = 256
const MAX_CONNECTIONS = 1_024
/** An MCP session uses one connection for its stream and further connections for its calls. */
const CONNECTIONS_PER_SESSION = 3
const HEADERS_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 30_000
/** Interval at which Node checks for connections that exceed one of the two timeouts above. */
const CHECK_INTERVAL_MS = 2_500
/** Time after which a connection is closed if its client reads no data. Event streams send data every 15 s. */
const STALLED_MS = 60_000

/** Serves the page, the API and the MCP endpoint of `stoke dev` on one port. */
export class DevServer implements AsyncDisposable {
  readonly startId: string = randomBytes(6).toString('hex')
  readonly token: string
  readonly state: LiveState
  readonly #config: Config
  readonly #guard: RequestGuard
  readonly #server: Server
  readonly #end = new AbortController()
  #port = 0
  #closing: Promise<void> | undefined

  /** Starts listening. @throws {UsageError} when the named port is in use, or the address cannot be used */
  static async start(options: DevServerOptions): Promise<DevServer> {
    const server = new DevServer(options)
    try {
      await server.#listen()
      return server
    } catch (thrown) {
      await server.close()
      throw thrown
    }
  }

  private constructor({ config, skills, mcp, playground, countTokens, turnsOf }: DevServerOptions) {
    this.#config = config
    this.token = config.server.token ?? randomBytes(32).toString('base64url')
    this.state = new LiveState({
      skills,
      countTokens,
      startId: this.startId,
      version: readVersion(),
      stateDirectory: config.stateDirectory,
      model: playground.model,
      rootPaths: pathsOf(config),
      turnsOf,
    })
    const { host, allowedHosts } = config.server
    this.#guard = new RequestGuard({ token: this.token, allowedHosts: [toHostName(host), ...allowedHosts] })
    const app = new Hono()
    app.use(addSecurityHeaders)
    app.use(this.#guard.checkAddress)
    app.all('/mcp', this.#guard.checkToken, context => mcp.fetch(context.req.raw))
    app.get('/metrics', this.#guard.checkToken, async context =>
      context.text(await renderMetrics(skills), 200, {
        'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
        'Cache-Control': 'no-store',
      }),
    )
    app.route(
      '/api',
      createApi({
        skills,
        state: this.state,
        playground,
        guard: this.#guard,
        view: config.scope === undefined ? {} : { scope: config.scope },
        startId: this.startId,
        keepAliveMs: KEEP_ALIVE_MS,
        maxEventStreams: MAX_EVENT_STREAMS,
        signal: this.#end.signal,
      }),
    )
    app.get('*', servePage(PAGE_DIRECTORY))
    app.notFound(context => fail(context, 404, 'NOT_FOUND', `there is nothing at ${context.req.path}`))
    app.onError(onApiError)
    const serverOptions = { connectionsCheckingInterval: CHECK_INTERVAL_MS }
    this.#server = createAdaptorServer({ fetch: app.fetch, serverOptions }) as Server
    const { maxSessions = DEFAULT_MAX_SESSIONS } = config.server
    this.#server.maxConnections = Math.max(MAX_CONNECTIONS, CONNECTIONS_PER_SESSION * maxSessions)
    this.#server.headersTimeout = HEADERS_TIMEOUT_MS
    this.#server.requestTimeout = REQUEST_TIMEOUT_MS
    this.#server.setTimeout(STALLED_MS)
  }

  /** Address of the server, without the token. */
  get url(): string {
    return `http://${toHostName(this.#config.server.host)}:${this.#port}`
  }

  /** Address of the page. The token is in the fragment, which browsers never send to a server. */
  get pageUrl(): string {
    return `${this.url}/#token=${encodeURIComponent(this.token)}`
  }

  get mcpUrl(): string {
    return `${this.url}/mcp`
  }

  /** Ends every stream and stops listening. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#end.abort()
      await this.state.close()
      const closed = new Promise<void>(resolve => this.#server.close(() => resolve())) // resolves at once if the server never listened
      // Gives streams time to send their last events.
      await Promise.race([closed, delay(LAST_WORDS_MS)])
      this.#server.closeAllConnections()
      await closed
    })()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #listen(): Promise<void> {
    const { host, port, isPortNamed } = this.#config.server
    try {
      await listen(this.#server, port, host)
    } catch (thrown) {
      const { code, message } = thrown as NodeJS.ErrnoException
      if (code === 'EADDRINUSE' && !isPortNamed) await listen(this.#server, 0, host)
      else if (code === 'EADDRINUSE')
        throw new UsageError(`port ${port} is in use; name another port with --port, or 0 for any free port`)
      else throw new UsageError(`cannot listen on ${host}:${port}: ${message}`, { cause: thrown })
    }
    this.#port = (this.#server.address() as AddressInfo).port
    this.#guard.listening(this.#port)
  }
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

/** Returns the host name for URLs. If the address means all interfaces, returns the loopback address instead. */
function toHostName(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
