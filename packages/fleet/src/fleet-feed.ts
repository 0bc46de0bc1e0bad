import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import type { FleetConnection } from './fleet-connection.ts'
import { ALL_LIVE, BEAT_SUBJECT, EPOCH_SUBJECT, fromLiveSubject, HEADS } from './fleet-subjects.ts'
import { type FeedState, HeadTable, type StoredHeads } from './head-table.ts'
import { readDocument } from './manifest.ts'
import type { NatsEngine, StoredMessage } from './nats-engine.ts'

/** Without any message for this time, the server is asked whether it still answers. */
const SILENCE_MS = 2_500
const TICK_MS = 500
/** Interval of the requests that find lost messages, with 25 % jitter. */
const PROBE_MS = 30_000
/** If the server answers but its beats stay away for this time, the feed moves to another server. */
const NO_BEAT_MS = 10_000
const MOVE_AGAIN_MS = 60_000
/** How often a lagging replica is asked again. */
const LAG_ATTEMPTS = 8

/** Where a feed stands. */
export interface FeedHealth {
  readonly isConnected: boolean
  /** Version of the connected server. */
  readonly server?: string
  /** Wall time since which the feed may miss changes, in milliseconds since the epoch; absent if it is up to date. */
  readonly staleSince?: number
  readonly lastError?: string
}

/**
 * Follows the heads of a fleet: one subscription to the republished stream, and batched reads after a gap, after a
 * reconnect and every 30 seconds. Messages only ever move the feed forward within an epoch.
 */
export class FleetFeed {
  readonly #connection: FleetConnection
  readonly #table: HeadTable
  readonly #listeners = new Set<() => void>()
  #engine: NatsEngine | undefined
  #unsubscribe: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  /** Whether messages may have been missed since the last read. */
  #isDirty = true
  /** Whether the epoch and the number of messages are to be compared: after a reconnect, and every 30 seconds. */
  #isUnchecked = true
  #isLinked = false
  #newestSeen = 0
  #heardAt = 0
  #beatAt: number | undefined
  #movedAt = 0
  #probeAt = 0
  #staleSince: number | undefined = Date.now()
  #lastError: string | undefined
  #wentBack = false
  #isClosed = false

  constructor(connection: FleetConnection) {
    this.#connection = connection
    this.#table = new HeadTable(connection.trusted)
  }

  /** The newest state that is complete. */
  get state(): FeedState {
    return this.#table.state
  }

  get health(): FeedHealth {
    return {
      isConnected: this.#isLinked,
      ...(this.#engine === undefined ? {} : { server: this.#engine.version }),
      ...(this.#staleSince === undefined ? {} : { staleSince: this.#staleSince }),
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    }
  }

  /** Calls back after each change of the state, and when the feed may be outdated. Returns a function that ends this. */
  onNews(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Continues from the heads that an earlier process stored. */
  resume(stored: StoredHeads): void {
    this.#table.resume(stored)
  }

  /** The heads for the next process. */
  toStored(): StoredHeads {
    return this.#table.toStored()
  }

  /**
   * Resolves when everything that was published before the call is in the state.
   * @throws {SkillError} IO_FAILED if the servers do not answer, or the stream went back
   */
  async reload(): Promise<void> {
    await this.#running?.catch(() => undefined)
    this.#isDirty = true
    await this.settle()
  }

  /** Resolves when everything that the feed has heard of is in the state. @throws {SkillError} IO_FAILED */
  async settle(): Promise<void> {
    while (this.#isDirty || this.#running !== undefined) {
      this.#running ??= this.#catchUp().finally(() => (this.#running = undefined))
      await this.#running
    }
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    this.#unsubscribe?.()
    this.#listeners.clear()
  }

  async #catchUp(): Promise<void> {
    try {
      const engine = await this.#connection.open()
      this.#follow(engine)
      this.#isDirty = false
      if (this.#isUnchecked) await this.#checkEpoch(engine)
      await this.#readNew(engine)
      if (this.#isUnchecked) await this.#checkCount(engine)
      this.#probeAt = performance.now() + PROBE_MS * (0.75 + Math.random() / 2)
      if (!this.#isDirty) this.#noteFresh()
    } catch (thrown) {
      this.#isDirty = true
      this.#isUnchecked = true
      this.#noteStale(toMessage(thrown))
      if (this.#isClosed) throw new SkillError('CLOSED', 'the connection to the fleet is closed')
      throw thrown
    }
  }

  /** Subscribes on a new connection. */
  #follow(engine: NatsEngine): void {
    if (this.#engine === engine) return
    this.#unsubscribe?.()
    this.#engine = engine
    this.#isLinked = true
    this.#beatAt = undefined
    this.#heardAt = performance.now()
    this.#unsubscribe = engine.subscribeLive(ALL_LIVE, fromLiveSubject, message => this.#hear(message))
    void engine.followStatus(({ type }) => {
      if (type === 'disconnect') {
        this.#isLinked = false
        this.#noteStale('the connection is lost')
      } else if (type === 'reconnect') {
        this.#isLinked = true
        this.#heardAt = performance.now()
        this.#beatAt = undefined
        this.#isUnchecked = true
        this.#requestRead()
      } else if (type === 'slowConsumer' || type === 'error') this.#requestRead()
      else if (type === 'close') this.#isLinked = false
    })
    this.#timer ??= setInterval(() => void this.#tick(), TICK_MS).unref()
  }

  #hear(message: StoredMessage): void {
    const now = performance.now()
    this.#heardAt = now
    if (message.subject === BEAT_SUBJECT) this.#beatAt = now
    if (this.#table.isBehind(message)) {
      // Within one epoch, a later message never has a lower sequence. So the stream was restored or created again.
      this.#wentBack = true
      this.#isUnchecked = true
      this.#requestRead()
      return
    }
    this.#newestSeen = Math.max(this.#newestSeen, message.seq)
    if (message.subject === EPOCH_SUBJECT) this.#isUnchecked = true
    if (message.subject === EPOCH_SUBJECT || this.#running !== undefined || this.#isDirty) {
      if (message.seq > this.#table.seq) this.#requestRead()
      return
    }
    if (message.seq <= this.#table.seq) return
    if (message.seq > this.#table.seq + 1) {
      this.#requestRead()
      return
    }
    const isNews = this.#table.apply(message)
    if (!this.#table.publish()) return // the rest of a batch follows
    this.#noteFresh()
    if (isNews) this.#tell()
  }

  /** Reads the epoch, and starts a snapshot if the epoch has risen. */
  async #checkEpoch(engine: NatsEngine): Promise<void> {
    const message = await engine.readLast(HEADS, EPOCH_SUBJECT, 'any')
    if (message === undefined)
      throw new SkillError('IO_FAILED', `${this.#connection.address} has no epoch; run "stoke fleet init"`)
    const document = readDocument(message.data, this.#connection.trusted)
    if (document.kind !== 'epoch') throw new SkillError('IO_FAILED', 'the epoch of the fleet is not valid')
    const known = this.#table.epoch
    if (known !== undefined && document.epoch < known)
      throw new SkillError(
        'IO_FAILED',
        `the fleet has epoch ${document.epoch}, but this machine has already seen ${known}; run "stoke fleet init --new-epoch"`,
      )
    if (document.epoch !== known) {
      this.#table.beginSnapshot(document.epoch)
      this.#newestSeen = 0
      this.#wentBack = false
      return
    }
    const beat = await engine.readLast(HEADS, BEAT_SUBJECT, 'any')
    if (this.#wentBack || this.#table.isBehind(message) || (beat !== undefined && this.#table.isBehind(beat)))
      throw new SkillError(
        'IO_FAILED',
        `the stream went back behind sequence ${this.#table.seq}, as after a restored backup; run "stoke fleet init --new-epoch"`,
      )
  }

  /** Reads from the known sequence to the end. Asks again while the replica is behind a message that was heard. */
  async #readNew(engine: NatsEngine): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      for await (const { messages } of engine.readFrom(HEADS, this.#table.seq + 1))
        for (const message of messages) this.#table.apply(message)
      const isComplete = this.#table.publish() && this.#table.seq >= this.#newestSeen
      if (isComplete || attempt === LAG_ATTEMPTS) {
        this.#table.publish({ isForced: true })
        return
      }
      await new Promise(resolve => setTimeout(resolve, 10 * 2 ** attempt))
    }
  }

  /**
   * Compares the number of messages with the number of known subjects. If a message was removed while this machine was
   * away, for example an expired marker, the numbers differ, and a complete snapshot is read.
   */
  async #checkCount(engine: NatsEngine): Promise<void> {
    const count = await engine.countMessages(HEADS)
    if (count !== undefined && count !== this.#table.subjectCount) {
      await this.#readNew(engine)
      const again = await engine.countMessages(HEADS)
      if (again !== this.#table.subjectCount) {
        this.#table.beginSnapshot(this.#table.epoch ?? 0)
        await this.#readNew(engine)
      }
    }
    this.#isUnchecked = false
  }

  async #tick(): Promise<void> {
    const engine = this.#engine
    if (engine === undefined || !this.#isLinked || this.#isClosed) return
    const now = performance.now()
    if (now > this.#probeAt && this.#running === undefined) {
      this.#probeAt = now + PROBE_MS
      this.#isUnchecked = true
      this.#requestRead()
    }
    if (now - this.#heardAt < SILENCE_MS) return
    const isAlive = await engine.checkAlive()
    this.#heardAt = performance.now()
    if (this.#isClosed) return
    if (!isAlive) {
      this.#noteStale(`${engine.server} does not answer`)
      return
    }
    const isCutOff = this.#beatAt !== undefined && now - this.#beatAt > NO_BEAT_MS
    if (!isCutOff || now - this.#movedAt < MOVE_AGAIN_MS) return
    this.#movedAt = now
    await engine.moveAway()
  }

  #requestRead(): void {
    this.#isDirty = true
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  #noteFresh(): void {
    this.#staleSince = undefined
    this.#lastError = undefined
  }

  #noteStale(reason: string): void {
    this.#staleSince ??= Date.now()
    this.#lastError = reason
  }
}
