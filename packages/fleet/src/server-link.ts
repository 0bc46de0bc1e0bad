import { BEAT_SUBJECT } from './fleet-subjects.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'

/** Without any message for this time, the server is asked whether it still answers. */
const SILENCE_MS = 2_500
/** After a silence, many agents hear the servers at the same moment, so each one waits for a random time. */
const RECOVERY_JITTER_MS = 2_000
/** If the server answers but its beats stay away for this time, the link moves to another server. */
const NO_BEAT_MS = 10_000
const MOVE_AGAIN_MS = 60_000

export interface ServerLinkEvents {
  readonly onMessage: (message: StoredMessage) => void
  /** The connection is lost, or the server does not answer. */
  readonly onLost: (reason: string) => void
  /** The connection is back. */
  readonly onBack: () => void
  /** Messages were dropped. */
  readonly onGap: () => void
  /** Called soon after a reconnect, and after the first message that follows a silence. */
  readonly onRecovery: () => void
}

/**
 * Follows the live messages of one connection, and notices servers that are silent or cut off.
 *
 * ```text
 *         follow()            disconnect
 *   none ---------> linked -------------> lost
 *                     ^                    |
 *                     +--------------------+ reconnect
 * ```
 */
export class ServerLink {
  readonly #events: ServerLinkEvents
  #engine: NatsEngine | undefined
  #unsubscribe: (() => void) | undefined
  #isLinked = false
  /** When the servers were heard last: with any sign of life, with a message, and with a beat. */
  #heardAt = 0
  #messageAt = 0
  #beatAt: number | undefined
  #movedAt = 0
  #recovery: NodeJS.Timeout | undefined

  constructor(events: ServerLinkEvents) {
    this.#events = events
  }

  get engine(): NatsEngine | undefined {
    return this.#engine
  }

  get isLinked(): boolean {
    return this.#isLinked
  }

  /** Subscribes on a new connection. */
  follow(engine: NatsEngine): void {
    if (this.#engine === engine) return
    this.#unsubscribe?.()
    this.#engine = engine
    this.#noteLinked()
    this.#unsubscribe = engine.followHeads(message => this.#hear(message))
    void engine.followStatus(({ type }) => {
      if (type === 'slowConsumer') this.#events.onGap()
      else if (type === 'close') this.#isLinked = false
      else if (type === 'disconnect') {
        this.#isLinked = false
        this.#events.onLost('the connection is lost')
      } else if (type === 'reconnect') {
        this.#noteLinked()
        this.#events.onBack()
        this.#recover()
      }
    })
  }

  /** Asks a silent server for a sign of life. Leaves a server that answers but is cut off from the others. */
  async check(): Promise<void> {
    const engine = this.#engine
    const now = performance.now()
    if (engine === undefined || now - this.#heardAt < SILENCE_MS) return
    const isAlive = await engine.checkAlive()
    this.#heardAt = performance.now()
    if (!isAlive) {
      this.#events.onLost(`${engine.server} does not answer`)
      return
    }
    const isCutOff = this.#beatAt !== undefined && now - this.#beatAt > NO_BEAT_MS
    if (!isCutOff || now - this.#movedAt < MOVE_AGAIN_MS) return
    this.#movedAt = now
    await engine.moveAway()
  }

  close(): void {
    this.#isLinked = false
    clearTimeout(this.#recovery)
    this.#unsubscribe?.()
  }

  #noteLinked(): void {
    this.#isLinked = true
    this.#heardAt = performance.now()
    this.#messageAt = this.#heardAt
    this.#beatAt = undefined
  }

  #hear(message: StoredMessage): void {
    const now = performance.now()
    const silenceMs = now - this.#messageAt
    this.#heardAt = now
    this.#messageAt = now
    if (message.subject === BEAT_SUBJECT) this.#beatAt = now
    if (silenceMs > SILENCE_MS) this.#recover()
    this.#events.onMessage(message)
  }

  #recover(): void {
    this.#recovery ??= setTimeout(() => {
      this.#recovery = undefined
      this.#events.onRecovery()
    }, Math.random() * RECOVERY_JITTER_MS).unref()
  }
}
