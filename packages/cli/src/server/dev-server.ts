import { randomBytes } from 'node:crypto'
import type { SkillRuntime, TokenCounter } from '@skillstoke/core'
import type { SkillMcp } from '@skillstoke/mcp'
import { Hono } from 'hono'
import type { Config } from '../config/config.ts'
import { DEFAULT_MAX_SESSIONS } from '../config/defaults.ts'
import { toAnswering } from '../skills/answering.ts'
import { measureExactly } from '../skills/tokens.ts'
import { createApi } from './api.ts'
import { fail, onApiError } from './api-failure.ts'
import { findIdentity, listenAs } from './dev-identity.ts'
import { closeHttpServer, createHttpServer, toHostName } from './http-server.ts'
import { LiveState } from './live-state.ts'
import { createMetrics } from './metrics.ts'
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

/** The running server. Disposing it ends every stream and stops listening. */
export interface DevServer extends AsyncDisposable {
  readonly startId: string
  readonly token: string
  /** Address of the server, without the token. */
  readonly url: string
  /** Address of the page. The token is in the fragment, which browsers never send to a server. */
  readonly pageUrl: string
  readonly mcpUrl: string
  readonly state: LiveState
}

/**
 * Serves the page, the API and the MCP endpoint of `stoke dev` on one port.
 * @throws {UsageError} when the named port is in use, or the address cannot be used
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const { config, skills, mcp, playground, countTokens } = options
  const { host, allowedHosts, maxSessions = DEFAULT_MAX_SESSIONS } = config.server
  const startId = randomBytes(6).toString('hex')
  const identity = findIdentity(config, 'dev')
  const token = config.server.token ?? identity.token
  const answering = toAnswering(skills, config, measureExactly)
  const state = new LiveState({ config, viewing: answering, countTokens, startId, playground })
  const guard = new RequestGuard({ token, allowedHosts: [toHostName(host), ...allowedHosts] })
  const metrics = await createMetrics(skills)
  const end = new AbortController()
  const api = createApi({
    ...{ config, answering, state, playground, guard, startId },
    signal: end.signal,
  })
  const app = new Hono()
  app.use(addSecurityHeaders)
  app.use(guard.checkAddress)
  app.all('/mcp', guard.checkToken, context => mcp.fetch(context.req.raw))
  app.get('/metrics', guard.checkToken, async () => await metrics.toResponse())
  app.route('/api', api)
  app.get('*', addCaching, servePage)
  app.notFound(context => fail(404, 'NOT_FOUND', `there is nothing at ${context.req.path}`))
  app.onError(onApiError)
  const server = createHttpServer(app.fetch, { maxSessions })
  const close = async (): Promise<void> => {
    end.abort()
    await state.close()
    await closeHttpServer(server)
    metrics[Symbol.dispose]()
  }
  try {
    const port = await listenAs(identity, server, config.server, config.server.token === undefined)
    guard.listening(port)
    const url = `http://${toHostName(host)}:${port}`
    const pageUrl = `${url}/#token=${encodeURIComponent(token)}`
    return { startId, token, url, pageUrl, mcpUrl: `${url}/mcp`, state, [Symbol.asyncDispose]: close }
  } catch (thrown) {
    await close()
    throw thrown
  }
}
