import { type ConnectionOptions, connect, type NatsConnection, type Server } from '@nats-io/transport-node'
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js'
import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'

const CONNECT_MS = 2_000
/** How long a server that did not answer is avoided. */
const AVOID_MS = 30_000
/** Pause between two attempts to connect to the same server: the shortest one, and what is added at random. */
const PAUSE_MS = 250
const PAUSE_JITTER_MS = 1_000

/**
 * Connects to one of several servers. A lost connection is restored in the background.
 * @throws {SkillError} IO_FAILED if no server answers or accepts the credentials
 */
export async function dial(
  options: ConnectionOptions,
  address: string,
): Promise<{ readonly nc: NatsConnection; readonly choice: ServerChoice }> {
  const choice = new ServerChoice([options.servers ?? []].flat().length)
  guardWrites()
  try {
    const nc = await connect({
      maxReconnectAttempts: -1,
      reconnectDelayHandler: () => choice.pauseMs(),
      timeout: CONNECT_MS,
      ignoreAuthErrorAbort: true,
      reconnectToServer: pool => choice.choose(pool),
      ...options,
    })
    choice.isLimited = false
    return { nc, choice }
  } catch (thrown) {
    const cause = choice.isExhausted ? await findRefusal(options, thrown) : thrown
    throw new SkillError('IO_FAILED', `no connection to ${address}: ${toMessage(cause)}`, { cause })
  }
}

/** Chooses the servers to connect to, and the pauses between the attempts. */
export class ServerChoice {
  /** Whether the number of attempts is limited, as until the first connection. */
  isLimited = true
  #attemptsLeft: number
  /** The server to avoid, and until when. */
  #avoided: string | undefined
  #untilMs = 0
  /** When the last attempt began. */
  #triedAt = -Infinity

  constructor(servers: number) {
    this.#attemptsLeft = servers + 1
  }

  get isExhausted(): boolean {
    return this.#attemptsLeft < 0
  }

  /** @param server host and port */
  avoid(server: string): void {
    this.#avoided = server
    this.#untilMs = performance.now() + AVOID_MS
  }

  /**
   * Returns how long after the last attempt a server may be tried again. The client measures this with the wall clock, so a
   * clock that is set back would keep it away for as long as the step. So no pause is left once it is over by the monotonic
   * clock. Seen with @nats-io/nats-core 3.4.0; remove this when its `dodialLoop` does not call `Date.now()`.
   */
  pauseMs(): number {
    const pauseMs = PAUSE_MS + Math.random() * PAUSE_JITTER_MS
    return performance.now() - this.#triedAt >= pauseMs ? -Infinity : pauseMs
  }

  /**
   * Returns the first server that is not avoided, or null for the next one in turn. Throws if the first connection needs
   * too many attempts. A server that refuses the credentials names the other servers of its cluster, so the client would
   * try them for ever.
   */
  choose(pool: readonly Server[]): Server | null {
    this.#triedAt = performance.now()
    if (this.isLimited && --this.#attemptsLeft < 0) throw new Error('no server accepts the connection')
    if (performance.now() > this.#untilMs) return null
    return pool.find(server => server.listen !== this.#avoided) ?? null
  }
}

/** Connects again without the other servers of the cluster, to find the reason why the servers refuse a connection. */
async function findRefusal(options: ConnectionOptions, thrown: unknown): Promise<unknown> {
  try {
    const nc = await connect({
      ...options,
      timeout: CONNECT_MS,
      ignoreClusterUpdates: true,
      reconnect: false,
    })
    await nc.close()
    return thrown
  } catch (refusal) {
    return refusal
  }
}

let isGuarded = false

/**
 * Stops the client from writing to a socket that the server has ended. The client removes the error listeners of such a
 * socket, so the error of the write would end the whole process. Seen with @nats-io/transport-node 3.4.0; remove this when
 * its `_send` checks the socket itself.
 */
function guardWrites(): void {
  if (isGuarded) return
  isGuarded = true
  const name = '_send'
  const send = Reflect.get(NodeTransport.prototype, name)
  const guarded = async function (this: NodeTransport, frame: Uint8Array): Promise<void> {
    if (this.socket?.writable === true) await send.call(this, frame)
  }
  Reflect.set(NodeTransport.prototype, name, guarded)
}
