import { once } from 'node:events'
import { type FileHandle, open } from 'node:fs/promises'
import type { Server } from 'node:http'
import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import type { SkillRuntime } from '@skillstoke/core'
import { defined, toMessage } from '@skillstoke/core/internal'
import { type AuditEntry, createSkillsServer, type SkillMcp } from '@skillstoke/mcp'
import { bearerTokens } from '@skillstoke/mcp/auth'
import { Hono } from 'hono'
import { cors } from 'hono/cors'
import type { ClientsFile } from '../config/clients-file.ts'
import type { Config } from '../config/config.ts'
import { checkNamedRoots } from '../config/named-roots.ts'
import type { ToolFlags } from '../mcp-clients/mcp-setup.ts'
import { findIdentity, listenAs } from '../server/dev-identity.ts'
import { describeClients, FollowedClients } from '../server/followed-clients.ts'
import { closeHttpServer, createHttpServer, isLoopback, listenOn, toHostName } from '../server/http-server.ts'
import { createMetrics, type Metrics } from '../server/metrics.ts'
import {
  createErrorLogger,
  describeServed,
  openServedSkills,
  toServerOptions,
} from '../server/served-skills.ts'
import { toSessionOptions } from '../server/session-key.ts'
import { EXIT_OK, UsageError } from '../terminal/exit-code.ts'
import { toTerminalLine } from '../terminal/output.ts'
import { abortOnSignal } from '../terminal/signals.ts'

export interface ServeFlags extends ToolFlags {
  /** File that names the clients. @default one client, with the token of the last start */
  readonly clients?: string
  /** File for one line of JSON for each request that used a skill or was refused; `-` for standard output. */
  readonly auditLog?: string
  /** Port on the loopback interface that serves metrics to every caller. @default no metrics */
  readonly metricsPort?: number
  readonly requestsPerMinute?: number
  /** Whether clients of protocol 2025-11-25 get no session. @default false */
  readonly stateless?: boolean
}

/** Shortest token that `bearerTokens()` accepts. */
const MIN_TOKEN_LENGTH = 32

/** Implements `stoke serve`: serves the skills over HTTP to MCP clients that identify themselves. */
export async function serve(config: Config, options: ServeFlags): Promise<number> {
  if (!config.areRootsChosen)
    throw new UsageError(
      'stoke serve serves only folders that you name; add --root DIR, or --config FILE with "roots" in it',
    )
  checkNamedRoots(config)
  const logger = createErrorLogger(options.verbose)
  using clients =
    options.clients === undefined
      ? undefined
      : new FollowedClients(options.clients, message => void process.stderr.write(`${message}\n`))
  if (clients?.file.kind === 'bearer' && clients.file.clients.length === 0)
    throw new UsageError(`${options.clients}: names no client; add one with "stoke token <name>"`)
  const identity = findIdentity(config, 'serve')
  const { host, token = identity.token } = config.server
  const { maxSessions, sessionKey } = toSessionOptions(config)
  if (clients === undefined && token.length < MIN_TOKEN_LENGTH)
    throw new UsageError(
      `SKILLSTOKE_TOKEN has ${token.length} characters; "stoke serve" needs at least ${MIN_TOKEN_LENGTH}, for example from "openssl rand -hex 16"`,
    )
  if (clients === undefined && !isLoopback(host) && config.server.token === undefined)
    throw new UsageError(
      `stoke serve listens on ${host} only for clients that identify themselves; make a token with "stoke token <name> --clients clients.json", and start with --clients clients.json`,
    )
  using end = abortOnSignal()
  await using audit = await openAuditLog(options.auditLog, message => logger.warn(message))
  // Clients may run on other machines, so they get no paths of this one.
  await using skills = await openServedSkills(config, logger, { hasDirectories: false })
  const { requestsPerMinute, stateless = false, auditLog } = options
  await using mcp = createSkillsServer(skills, {
    ...{ ...toServerOptions(config, options), maxSessions, logger, stateless },
    access: clients?.access ?? bearerTokens([{ name: 'local', token }]),
    ...defined({
      sessionKey,
      requestsPerMinute,
      audit: auditLog === undefined ? undefined : (entry: AuditEntry) => audit.write(entry),
    }),
  })
  const server = createHttpServer(createApp(mcp, allowedHosts(config, clients?.file)).fetch, { maxSessions })
  using metrics = options.metricsPort === undefined ? undefined : await createMetrics(skills)
  const metricsServer =
    metrics && createHttpServer(request => answerMetrics(request, metrics), { maxSessions })
  try {
    const isRemembered = clients === undefined && config.server.token === undefined
    const used = await listenAs(identity, server, config.server, isRemembered)
    const metricsPort =
      metricsServer && (await listenOn(metricsServer, '127.0.0.1', [options.metricsPort ?? 0]))
    const shown = config.server.token === undefined ? token : 'of SKILLSTOKE_TOKEN'
    const who = clients === undefined ? `token    ${shown}` : describeClients(clients.file)
    print(skills, { url: `http://${toHostName(host)}:${used}`, who, metricsPort })
    await ended(end.signal, server)
  } finally {
    await Promise.all([server, metricsServer].map(each => each && closeHttpServer(each)))
  }
  return EXIT_OK
}

/** Returns the host names that the headers Host and Origin may contain. */
function allowedHosts({ server }: Config, file: ClientsFile | undefined): string[] {
  const own = file?.kind === 'oauth' ? [new URL(file.oauth.resource).hostname] : []
  return [...localhostAllowedHostnames(), toHostName(server.host), ...server.allowedHosts, ...own]
}

function createApp(mcp: SkillMcp, hosts: string[]): Hono {
  const app = new Hono()
  app.use(
    async ({ req: { raw } }, next) =>
      hostHeaderValidationResponse(raw, hosts) ?? originValidationResponse(raw, hosts) ?? (await next()),
  )
  // Each origin that gets here is allowed. Browsers send a preflight without a token, so it is answered here.
  app.use(
    cors({
      origin: origin => origin,
      allowMethods: ['GET', 'POST', 'DELETE'],
      exposeHeaders: ['Mcp-Session-Id', 'WWW-Authenticate', 'Retry-After'],
      maxAge: 600,
    }),
  )
  app.get('/healthz', context => context.text('ok\n'))
  app.all('/mcp', async context => await mcp.fetch(context.req.raw))
  app.all('/.well-known/*', async context => await mcp.fetch(context.req.raw))
  return app.notFound(({ req, json }) =>
    json({ error: `there is nothing at ${req.path}; the MCP endpoint is /mcp` }, 404),
  )
}

async function answerMetrics(request: Request, metrics: Metrics): Promise<Response> {
  if (new URL(request.url).pathname !== '/metrics')
    return Response.json({ error: 'the metrics are at /metrics' }, { status: 404 })
  return await metrics.toResponse()
}

interface Served {
  readonly url: string
  /** Describes who may use the server. */
  readonly who: string
  readonly metricsPort: number | undefined
}

function print(skills: SkillRuntime, { url, who, metricsPort }: Served): void {
  const warnings = skills.current
    .sources()
    .flatMap(({ diagnostics }) => diagnostics.filter(({ severity }) => severity !== 'info'))
    .map(({ message }) => `warning  ${toTerminalLine(message)}`)
  const lines = [
    describeServed(skills),
    ...warnings,
    `mcp      ${url}/mcp`,
    `health   ${url}/healthz`,
    ...(metricsPort === undefined ? [] : [`metrics  http://127.0.0.1:${metricsPort}/metrics`]),
    who,
    'stop with Ctrl-C',
  ]
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** Resolves when the signal aborts. The listening server keeps the process alive. */
async function ended(signal: AbortSignal, server: Server): Promise<void> {
  if (signal.aborted || !server.listening) return
  await once(signal, 'abort')
}

/** Where `stoke serve` writes who used which skill. */
interface AuditLog extends AsyncDisposable {
  write(entry: AuditEntry): void
}

/** Appends one line of JSON for each entry. A failed write is reported, and never fails a request. */
async function openAuditLog(path: string | undefined, warn: (message: string) => void): Promise<AuditLog> {
  const file = path === undefined || path === '-' ? undefined : await openFile(path)
  // Writes the entries one after the other.
  let writing: Promise<void> = Promise.resolve()
  return {
    write: ({ at, ...entry }) => {
      const line = `${JSON.stringify({ time: new Date(at).toISOString(), ...entry })}\n`
      if (file === undefined) process.stdout.write(line)
      else
        writing = writing
          .then(async () => await file.appendFile(line))
          .catch((error: unknown) => warn(`the audit log could not be written: ${toMessage(error)}`))
    },
    [Symbol.asyncDispose]: async () => {
      await writing
      await file?.close()
    },
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'a', 0o600)
  } catch (thrown) {
    throw new UsageError(`the audit log cannot be written: ${toMessage(thrown)}`, { cause: thrown })
  }
}
