import type { ResolvedMcpOptions } from './mcp-options.ts'

const MINUTE_MS = 60_000
/** Limits the memory. Beyond this number, the clients that were idle for longest start again with a full allowance. */
const MAX_CLIENTS = 10_000

interface Allowance {
  tokens: number
  at: number
}

/** Limits the requests of each client with a token bucket: bursts up to the limit, then an even rate. */
export class RateLimit {
  readonly #options: ResolvedMcpOptions
  readonly #clients = new Map<string, Allowance>()

  constructor(options: ResolvedMcpOptions) {
    this.#options = options
  }

  /** Counts one request. Returns 0, or the milliseconds after which the client may send its next request. */
  take(client: string): number {
    const { requestsPerMinute: perMinute, clock } = this.#options
    if (perMinute === Infinity) return 0
    const now = clock.monotonic()
    const known = this.#clients.get(client) ?? { tokens: perMinute, at: now }
    const refilled = known.tokens + ((now - known.at) / MINUTE_MS) * perMinute
    const allowance = { tokens: Math.min(perMinute, refilled), at: now }
    this.#clients.delete(client)
    this.#clients.set(client, allowance)
    const [oldest] = this.#clients.keys()
    if (this.#clients.size > MAX_CLIENTS && oldest !== undefined) this.#clients.delete(oldest)
    if (allowance.tokens >= 1) {
      allowance.tokens--
      return 0
    }
    return ((1 - allowance.tokens) / perMinute) * MINUTE_MS
  }
}
