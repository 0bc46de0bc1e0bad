import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createAdaptorServer } from '@hono/node-server'
import { UsageError } from '../terminal/exit-code.ts'

const MAX_CONNECTIONS = 1_024
/** An MCP session uses one connection for its stream and further connections for its calls. */
const CONNECTIONS_PER_SESSION = 3
const HEADERS_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 30_000
/** Interval at which Node checks for connections that exceed one of the two timeouts above. */
const CHECK_INTERVAL_MS = 2_500
/** Time after which a connection is closed if its client reads no data. Event streams send data every 15 s. */
const STALLED_MS = 60_000
const LAST_WORDS_MS = 250

/** Creates an HTTP server with limits for connections, headers and stalled clients. */
export function createHttpServer(
  fetch: (request: Request) => Response | Promise<Response>,
  { maxSessions }: { readonly maxSessions: number },
): Server {
  const serverOptions = { connectionsCheckingInterval: CHECK_INTERVAL_MS }
  const server = createAdaptorServer({ fetch, serverOptions }) as Server
  server.maxConnections = Math.max(MAX_CONNECTIONS, CONNECTIONS_PER_SESSION * maxSessions)
  server.headersTimeout = HEADERS_TIMEOUT_MS
  server.requestTimeout = REQUEST_TIMEOUT_MS
  server.setTimeout(STALLED_MS)
  return server
}

/**
 * Listens on the first of the ports that is free, and returns the port.
 * @throws {UsageError} when all ports are in use, or the address cannot be used
 */
export async function listenOn(server: Server, host: string, ports: readonly number[]): Promise<number> {
  for (const port of ports) {
    try {
      await listen(server, port, host)
      return (server.address() as AddressInfo).port
    } catch (thrown) {
      const { code, message } = thrown as NodeJS.ErrnoException
      if (code !== 'EADDRINUSE')
        throw new UsageError(`cannot listen on ${host}:${port}: ${message}`, { cause: thrown })
    }
  }
  throw new UsageError(`port ${ports.at(-1)} is in use; name another port, or 0 for any free port`)
}

/** Stops listening. Gives streams a short time to send their last events. */
export async function closeHttpServer(server: Server): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve())) // resolves at once if the server never listened
  await Promise.race([closed, delay(LAST_WORDS_MS)])
  server.closeAllConnections()
  await closed
}

/** Returns the host name for URLs. If the address means all interfaces, returns the loopback address instead. */
export function toHostName(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

/** Returns whether only programs on this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/.test(host.toLowerCase())
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
