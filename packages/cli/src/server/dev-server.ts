import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import type { SkillRuntime, TokenCounter } from '@skillstoke/core'
import type { SkillMcp } from '@skillstoke/mcp'
import { Hono } from 'hono'
import { type Config, pathsOf } from '../config/config.ts'
import { DEFAULT_MAX_SESSIONS } from '../config/defaults.ts'
import { readVersion } from '../config/version.ts'
import { toAnswering } from '../skills/answering.ts'
import { createApi } from './api.ts'
import { fail, onApiError } from './api-failure.ts'
import { type DevIdentityFile, findIdentity, listenAs } from './dev-identity.ts'
import { closeHttpServer, createHttpServer, toHostName } from './http-server.ts'
import { LiveState } from './live-state.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { addCaching, addSecurityHeaders, servePage } from './page-files.ts'
import type { Playground } from './playground.ts'
import { RequestGuard } from './request-guard.ts'

export interface DevServerOptions {
  readonly config: Config
  readonly skills: SkillRuntime
  readonly mcp: SkillMcp
  readonly countTokens: TokenCounter
  readonly playground: Playground
}

const KEEP_ALIVE_MS = 15_000
const MAX_EVENT_STREAMS = 256

/** Serves the page, the API and the MCP endpoint of `stoke dev` on one port. */
export class DevServer implements AsyncDisposable {
  readonly startId: string = randomBytes(6).toString('hex')
  readonly token: string
  readonly state: LiveState
  readonly #config: Config
  readonly #identity: DevIdentityFile
  readonly #guard: RequestGuard
  readonly #server: Server
  readonly #metrics: Metrics
  readonly #end = new AbortController()
  #port = 0
  #closing: Promise<void> | undefined

  /** Starts listening. @throws {UsageError} when the named port is in use, or the address cannot be used */
  static async start(options: DevServerOptions): Promise<DevServer> {
    const server = new DevServer(options, await createMetrics(options.skills))
    try {
      await server.#listen()
      return server
    } catch (thrown) {
      await server.close()
      throw thrown
    }
  }

  private constructor({ config, skills, mcp, playground, countTokens }: DevServerOptions, metrics: Metrics) {
    this.#metrics = metrics
    this.#config = config
    this.#identity = findIdentity(config, 'dev')
    this.token = config.server.token ?? this.#identity.token
    this.state = new LiveState({
      skills,
      countTokens,
      startId: this.startId,
      version: readVersion(),
      stateDirectory: config.stateDirectory,
      model: playground.model,
      rootPaths: pathsOf(config),
      turnsOf: id => playground.turnsOf(id),
    })
    const { host, allowedHosts } = config.server
    this.#guard = new RequestGuard({ token: this.token, allowedHosts: [toHostName(host), ...allowedHosts] })
    const app = new Hono()
    app.use(addSecurityHeaders)
    app.use(this.#guard.checkAddress)
    app.all('/mcp', this.#guard.checkToken, context => mcp.fetch(context.req.raw))
    app.get('/metrics', this.#guard.checkToken, async () => await metrics.toResponse())
    app.route(
      '/api',
      createApi({
        answering: toAnswering(skills, config),
        state: this.state,
        playground,
        guard: this.#guard,
        startId: this.startId,
        keepAliveMs: KEEP_ALIVE_MS,
        maxEventStreams: MAX_EVENT_STREAMS,
        signal: this.#end.signal,
      }),
    )
    app.get('*', addCaching, servePage)
    app.notFound(context => fail(404, 'NOT_FOUND', `there is nothing at ${context.req.path}`))
    app.onError(onApiError)
    const { maxSessions = DEFAULT_MAX_SESSIONS } = config.server
    this.#server = createHttpServer(app.fetch, { maxSessions })
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
      await closeHttpServer(this.#server)
      this.#metrics[Symbol.dispose]()
    })()
    return this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #listen(): Promise<void> {
    const { server } = this.#config
    this.#port = await listenAs(this.#identity, this.#server, server, server.token === undefined)
    this.#guard.listening(this.#port)
  }
}
