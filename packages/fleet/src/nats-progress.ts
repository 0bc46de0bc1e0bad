import type { NatsConnection } from '@nats-io/transport-node'

/** Without progress: the time until a read has failed, the time until its next attempt, and the number of attempts. */
const READ_MS = 1_500
const READ_AGAIN_MS = 400
const READ_ATTEMPTS = 5
const PING_MS = 1_000
/** How often a waiting request looks for progress, and what counts as such. A beat has fewer bytes. */
const PROGRESS_MS = 100
const PROGRESS_BYTES = 8_192

/**
 * Tells a stopped server from a slow connection: only a server from which no bytes arrive is stopped. An answer may be behind
 * others.
 */
export class NatsProgress {
  readonly #nc: NatsConnection
  /** When the last bytes arrived, and how many had arrived then. */
  #progressAt = 0
  #countedBytes = 0

  constructor(nc: NatsConnection) {
    this.#nc = nc
  }

  /** Whether the server answers before nothing has arrived for a second. On a slow connection, the answer comes late. */
  async ping(): Promise<boolean> {
    const answered = this.#nc.flush().then(
      () => true,
      () => false,
    )
    const stalled = Promise.withResolvers<boolean>()
    const askedAt = performance.now()
    const timer = setInterval(() => {
      if (this.#idleMs(askedAt) >= PING_MS) stalled.resolve(false)
    }, PROGRESS_MS)
    return await Promise.race([answered, stalled.promise]).finally(() => clearInterval(timer))
  }

  /**
   * Asks again while nothing arrives, and takes the first answer. A direct get may reach a replica on a server that is
   * stopped, and the next attempt reaches another one. While bytes arrive, another attempt would only make the connection
   * slower.
   * @param describeStop called if no attempt is answered; returns the error to throw
   */
  async repeatRead<T>(read: (ended: AbortSignal) => Promise<T>, describeStop: () => Error): Promise<T> {
    const first = Promise.withResolvers<T>()
    const abort = new AbortController()
    let attempts = 0
    let askedAt = 0
    const start = (): void => {
      attempts++
      askedAt = performance.now()
      read(abort.signal).then(first.resolve, first.reject)
    }
    start()
    const timer = setInterval(() => {
      const idleMs = this.#idleMs(askedAt)
      if (attempts < READ_ATTEMPTS) {
        if (idleMs >= READ_AGAIN_MS) start()
      } else if (idleMs >= READ_MS) first.reject(describeStop())
    }, PROGRESS_MS)
    return await first.promise.finally(() => {
      clearInterval(timer)
      abort.abort() // the attempts that were not answered
    })
  }

  /** Milliseconds since a request or since the last progress of the connection, whichever is less. */
  #idleMs(askedAt: number): number {
    const now = performance.now()
    const { inBytes } = this.#nc.stats()
    if (inBytes - this.#countedBytes >= PROGRESS_BYTES) {
      this.#countedBytes = inBytes
      this.#progressAt = now
    }
    return now - Math.max(askedAt, this.#progressAt)
  }
}
