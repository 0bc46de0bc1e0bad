import type * as DiagnosticsChannel from 'node:diagnostics_channel'
import type { ServerContext } from '@modelcontextprotocol/server'
import { defined, toMessage } from '@skillstoke/core/internal'
import type { ResolvedMcpOptions } from './mcp-options.ts'

/** The requests that are traced. */
export type TracedMethod = 'tools/call' | 'prompts/get' | 'resources/read'

/**
 * One request of an MCP client, published on the tracing channel `skillstoke:mcp.request`. The fields after `context`
 * are known when the request ends.
 */
export interface RequestTraceMessage {
  readonly method: TracedMethod
  /** Name of the tool or prompt, or URI of the resource. */
  readonly name: string
  /** Name of the server. */
  readonly server: string
  /** `clientId` of an authenticated client, otherwise the name that the client gives itself. */
  readonly client?: string
  /** Context of the caller's trace, from `_meta` of the request. */
  readonly traceparent?: string
  skill?: string
  revision?: string
  /** True if the request was answered, and the answer is an error that the model can correct. */
  isError?: boolean
  /** What the request threw. */
  error?: unknown
}

/** One notification to the clients of a scope, published on the channel `skillstoke:mcp.notification`. */
export interface NotificationMessage {
  readonly method: string
  readonly server: string
  /** Number of connections to which the server object sent the notification. */
  readonly connections: number
}

/** What the handler of a request learned about the answer. */
export interface RequestOutcome {
  readonly skill?: string | undefined
  readonly revision?: string | undefined
  readonly isError?: boolean
}

const REQUEST_CHANNEL = 'skillstoke:mcp.request'
const NOTIFICATION_CHANNEL = 'skillstoke:mcp.notification'

// Not imported, because Cloudflare Workers have no such module.
const library: typeof DiagnosticsChannel | undefined =
  globalThis.process?.getBuiltinModule?.('node:diagnostics_channel')
const requests: DiagnosticsChannel.TracingChannel<RequestTraceMessage> | undefined =
  library?.tracingChannel(REQUEST_CHANNEL)
const notifications: DiagnosticsChannel.Channel | undefined = library?.channel(NOTIFICATION_CHANNEL)

/** One line of an audit log: a request that used a skill, or was refused. */
export interface AuditEntry {
  /** Milliseconds since 1970. */
  readonly at: number
  /** Name of the client; absent for a refused request. */
  readonly client?: string
  readonly method: string
  /** Name of the tool or prompt, or URI of the resource. */
  readonly name?: string
  readonly skill?: string
  /** The revision that the client received or ran. */
  readonly revision?: string
  /**
   * `ok`: the request was answered. `failed`: the answer is an error that the model can correct. `error`: the request
   * failed. `refused`: the caller may not use the server.
   */
  readonly outcome: 'ok' | 'failed' | 'error' | 'refused'
  readonly reason?: string
  readonly durationMs?: number
}

/** Publishes the requests and notifications of one server. Costs nothing while no program subscribes. */
export class RequestTrace {
  readonly #options: ResolvedMcpOptions

  constructor(options: ResolvedMcpOptions) {
    this.#options = options
  }

  async call<T>(
    method: TracedMethod,
    asked: { readonly name: string; readonly context: ServerContext; readonly client: string | undefined },
    work: (report: (outcome: RequestOutcome) => void) => Promise<T>,
  ): Promise<T> {
    const { name: server, audit, clock } = this.#options
    if (requests?.hasSubscribers !== true && audit === undefined) return await work(() => undefined)
    const { name, client } = asked
    const traceparent = asked.context.mcpReq._meta?.['traceparent']
    const message: RequestTraceMessage = {
      method,
      name,
      server,
      ...defined({ client }),
      ...(typeof traceparent === 'string' ? { traceparent } : {}),
    }
    const start = clock.monotonic()
    const write = (outcome: AuditEntry['outcome'], reason?: string): void => {
      const { skill, revision } = message
      const durationMs = clock.monotonic() - start
      const known = defined({ client, skill, revision, reason })
      this.#write({ at: clock.now(), method, name, outcome, durationMs, ...known })
    }
    const report = ({ skill, revision, isError }: RequestOutcome): void =>
      void Object.assign(message, defined({ skill, revision, isError }))
    const traced = async (): Promise<T> => await work(report)
    try {
      const answer = await (requests === undefined ? traced() : requests.tracePromise(traced, message))
      write(message.isError === true ? 'failed' : 'ok')
      return answer
    } catch (thrown) {
      write('error', toMessage(thrown))
      throw thrown
    }
  }

  /** Records a request whose caller may not use the server, or sends too many requests. */
  refused(request: Request, reason: string, client?: string): void {
    const { pathname } = new URL(request.url)
    this.#write({
      at: this.#options.clock.now(),
      ...(client === undefined || client === '' ? {} : { client }),
      ...{ method: request.method, name: pathname, outcome: 'refused', reason },
    })
  }

  notified(method: string, connections: number): void {
    if (notifications?.hasSubscribers !== true) return
    notifications.publish({ method, server: this.#options.name, connections } satisfies NotificationMessage)
  }

  #write(entry: AuditEntry): void {
    try {
      this.#options.audit?.(entry)
    } catch (error) {
      // An audit function that fails must not fail the request.
      this.#options.logger.error(`mcp: the audit function failed: ${toMessage(error)}`, { error })
    }
  }
}
