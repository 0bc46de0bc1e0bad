import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import { callHost } from './call-host.ts'
import { type FeedState, type KnownEpoch, newestSeq } from './feed-state.ts'
import type { FleetConnection } from './fleet-connection.ts'
import { ALL_LIVE, BEAT_SUBJECT, EPOCH_SUBJECT, fromLiveSubject, HEADS } from './fleet-subjects.ts'
import { HeadTable } from './head-table.ts'
import { readDocument } from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'
import { jitter, retryDelayMs } from './retry-timer.ts'
import type { WaitingHead } from './waiting-heads.ts'

/** Without any message for this time, the server is asked whether it still answers. */
const SILENCE_MS = 2_500
const TICK_MS = 500
/** After a silence, many agents hear the servers at the same moment, so each one waits for a random time. */
const RECOVERY_JITTER_MS = 2_000
/** Interval of the requests that find lost messages, with 25 % jitter. */
const PROBE_MS = 20_000
/** If the server answers but its beats stay away for this time, the feed moves to another server. */
const NO_BEAT_MS = 10_000
const MOVE_AGAIN_MS = 60_000
const LIVE_PLACE = { stream: HEADS, toSubject: fromLiveSubject }
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
  #table: HeadTable
  /** Stored states that the table was not compared with yet. */
  readonly #resumed: FeedState[] = []
  readonly #listeners = new Set<() => void>()
  readonly #recoveryListeners = new Set<() => void>()
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
  /** When the servers were heard last, and when the last message came. */
  #heardAt = 0
  #messageAt = 0
  #recovery: NodeJS.Timeout | undefined
  #beatAt: number | undefined
  #movedAt = 0
  #probeAt = 0
  #staleSince: number | undefined = Date.now()
  #lastError: string | undefined
  /** A message that was heard although it should have been known. */
  #suspect: StoredMessage | undefined
  /** How many reads have failed in a row, and until when no listener is asked to read again. */
  #failures = 0
  #quietUntil = 0
  #isClosed = false

  constructor(connection: FleetConnection) {
    this.#connection = connection
    this.#table = new HeadTable(connection.trusted)
  }

  /** The newest state that is complete. */
  get state(): FeedState {
    return this.#table.state
  }

  /** Heads that do not count yet, by subject: the rest of their publication or the list of their channel is missing. */
  get waiting(): ReadonlyMap<string, WaitingHead> {
    return this.#table.waiting
  }

  get health(): FeedHealth {
    return {
      isConnected: this.#isLinked,
      ...(this.#engine === undefined ? {} : { server: this.#engine.version }),
      ...(this.#staleSince === undefined ? {} : { staleSince: this.#staleSince }),
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
    }
  }

  /** Whether the feed has heard of something that it has not read. */
  get hasNews(): boolean {
    return this.#isDirty
  }

  /** Calls back after each change of the state, and when the feed may be outdated. Returns a function that ends this. */
  onNews(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Calls back soon after a reconnect, and after the first message that follows a silence. Returns a function that ends this. */
  onRecovery(listener: () => void): () => void {
    this.#recoveryListeners.add(listener)
    return () => this.#recoveryListeners.delete(listener)
  }

  /**
   * Continues from a state that an earlier process stored. If the feed has begun and is behind this state, the next read
   * continues from the state, so that a stream that went back is noticed.
   */
  resume(state: FeedState): void {
    this.#resumed.push(state)
    if (this.#engine === undefined && this.#running === undefined) this.#takeResumed()
  }

  /**
   * Resolves when everything that was published before the call is in the state.
   * @throws {SkillError} IO_FAILED if the servers do not answer, or the stream went back
   */
  async reload(): Promise<void> {
    await this.#running?.catch(() => undefined) // it may have begun before the call
    this.#isDirty = true
    await this.#run()
  }

  /** Resolves when everything that the feed has heard of before the call is in the state. @throws {SkillError} IO_FAILED */
  async settle(): Promise<void> {
    await this.#running
    if (this.#isDirty) await this.#run()
  }

  /** Lets the next read go on until a sequence that the leader has. A replica may be behind. */
  expect(seq: number): void {
    this.#newestSeen = Math.max(this.#newestSeen, seq)
  }

  close(): void {
    this.#isClosed = true
    this.#isLinked = false
    this.#noteStale('the connection is closed')
    clearInterval(this.#timer)
    clearTimeout(this.#recovery)
    this.#unsubscribe?.()
    this.#listeners.clear()
    this.#recoveryListeners.clear()
  }

  #takeResumed(): void {
    for (const state of this.#resumed.splice(0)) {
      if (!isAhead(state, this.#table)) continue
      this.#table.resume(state)
      this.#isDirty = true
      this.#isUnchecked = true
    }
  }

  #run(): Promise<void> {
    this.#running ??= this.#catchUp().finally(() => (this.#running = undefined))
    return this.#running
  }

  async #catchUp(): Promise<void> {
    this.#takeResumed()
    if (!this.#isClosed) this.#timer ??= setInterval(() => void this.#tick(), TICK_MS).unref()
    const isUnchecked = this.#isUnchecked
    const { heads } = this.state
    try {
      const engine = await this.#connection.open()
      this.#follow(engine)
      this.#isDirty = false
      this.#isUnchecked = false
      this.#table.forgetNewEpoch()
      if (isUnchecked) await this.#checkEpoch(engine)
      await this.#readNew(engine, this.#table)
      const { newEpoch } = this.#table
      if (newEpoch !== undefined) await this.#enterEpoch(engine, newEpoch)
      if (isUnchecked) await this.#checkCount(engine)
      this.#probeAt = performance.now() + jitter(PROBE_MS)
      this.#failures = 0
      this.#quietUntil = 0
      if (this.#isLinked) this.#noteFresh()
    } catch (thrown) {
      this.#isDirty = true
      this.#isUnchecked = true
      this.#noteStale(toMessage(thrown))
      this.#quietUntil = performance.now() + retryDelayMs(this.#failures++)
      if (this.#isClosed) throw new SkillError('CLOSED', 'the connection to the fleet is closed')
      throw thrown
    } finally {
      if (this.state.heads !== heads) this.#tell()
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
    this.#messageAt = this.#heardAt
    this.#unsubscribe = engine.subscribeLive(ALL_LIVE, LIVE_PLACE, message => this.#hear(message))
    void engine.followStatus(({ type }) => {
      if (type === 'disconnect') {
        this.#isLinked = false
        this.#noteStale('the connection is lost')
        this.#requestRead() // which fails, so that the sources report it
      } else if (type === 'reconnect') {
        this.#isLinked = true
        this.#heardAt = performance.now()
        this.#messageAt = this.#heardAt
        this.#beatAt = undefined
        this.#isUnchecked = true
        this.#quietUntil = 0
        this.#requestRead()
        this.#recover()
      } else if (type === 'slowConsumer') this.#requestRead()
      else if (type === 'close') this.#isLinked = false
    })
  }

  #hear(message: StoredMessage): void {
    const now = performance.now()
    this.#heardAt = now
    if (now - this.#messageAt > SILENCE_MS) this.#recover()
    this.#messageAt = now
    if (message.subject === BEAT_SUBJECT) this.#beatAt = now
    if (this.#table.isBehind(message)) {
      this.#suspect = message
      this.#isUnchecked = true
      this.#requestRead()
      return
    }
    this.#newestSeen = Math.max(this.#newestSeen, message.seq)
    if (message.seq <= this.#table.seq) return
    const isNext = message.seq === this.#table.seq + 1
    if (message.subject === EPOCH_SUBJECT) this.#quietUntil = 0
    if (!isNext || message.subject === EPOCH_SUBJECT || this.#running !== undefined || this.#isDirty) {
      this.#requestRead()
      return
    }
    const { heads } = this.#table.state
    this.#table.apply(message)
    this.#table.publish()
    this.#noteFresh()
    if (this.#table.state.heads !== heads) this.#tell()
  }

  /** Ends the pauses after failures, because a message after a silence shows that the servers are back. */
  #recover(): void {
    this.#recovery ??= setTimeout(() => {
      this.#recovery = undefined
      this.#failures = 0
      this.#quietUntil = 0
      if (this.#isDirty) this.#tell()
      for (const listener of this.#recoveryListeners) callHost(listener)
    }, Math.random() * RECOVERY_JITTER_MS).unref()
  }

  /** Reads the epoch, and takes a snapshot if it is another one. */
  async #checkEpoch(engine: NatsEngine): Promise<void> {
    const message = await engine.readLast(HEADS, EPOCH_SUBJECT, 'any')
    if (message === undefined)
      throw new SkillError('IO_FAILED', `${this.#connection.address} has no epoch; run "stoke fleet init"`)
    const document = readDocument(message.data, this.#connection.trusted)
    if (document.kind === 'epoch' && this.#table.isEpoch(document)) await this.#checkOrder(engine, message)
    else await this.#enterEpoch(engine, message)
  }

  /**
   * Takes a snapshot of another epoch. Epochs only rise. Without trusted keys, a fleet with another id may have any epoch,
   * because it is another fleet at the same address.
   */
  async #enterEpoch(engine: NatsEngine, { data }: StoredMessage): Promise<void> {
    const { trusted, address } = this.#connection
    const document = readDocument(data, trusted)
    if (document.kind !== 'epoch') throw new SkillError('IO_FAILED', 'the epoch of the fleet is not valid')
    const known = this.#table.epoch
    const isSame = this.#table.isEpoch(document)
    const isOther = known !== undefined && known.id !== document.id
    const isLower = known !== undefined && document.epoch <= known.epoch && !isSame
    if (isLower && (trusted.isRequired || !isOther)) {
      const fleet = isOther ? ' of another fleet; use another state directory, or' : ';'
      throw new SkillError(
        'IO_FAILED',
        `${address} has epoch ${document.epoch}, but this machine has already seen ${known.epoch}${fleet} run "stoke fleet init --new-epoch"`,
      )
    }
    this.#newestSeen = isSame ? Math.max(this.#newestSeen, this.#table.seq) : 0
    this.#suspect = undefined
    await this.#takeSnapshot(engine, { document, data })
  }

  /**
   * Checks that the stream was not restored from a backup. Within one epoch, only a restored stream has a message that is
   * newer than the known one of its subject, but has no higher sequence. A heard message alone proves nothing, because it
   * may have been on its way for long. But if the stream has passed the known sequence in the meantime, only a complete
   * reading shows whether something is missing.
   */
  async #checkOrder(engine: NatsEngine, epoch: StoredMessage): Promise<void> {
    const beat = await engine.readLast(HEADS, BEAT_SUBJECT, 'any')
    const suspect =
      this.#suspect === undefined ? undefined : await engine.readLast(HEADS, this.#suspect.subject, 'any')
    const behind = [epoch, beat, suspect].find(each => each !== undefined && this.#table.isBehind(each))
    if (behind !== undefined) {
      this.#suspect = behind
      throw new SkillError(
        'IO_FAILED',
        `the stream went back behind sequence ${this.#table.seq}, as after a restored backup; run "stoke fleet init --new-epoch"`,
      )
    }
    if (this.#suspect === undefined) return
    await this.#readAgain(engine)
    this.#suspect = undefined
  }

  /** Reads the whole stream, and only then replaces the table. */
  async #takeSnapshot(engine: NatsEngine, epoch: KnownEpoch): Promise<void> {
    const snapshot = this.#table.startSnapshot(epoch)
    await this.#readNew(engine, snapshot)
    const { newEpoch } = snapshot
    if (newEpoch === undefined) this.#table = snapshot
    else await this.#enterEpoch(engine, newEpoch)
  }

  /** Reads the whole stream of the same epoch. A replica that is behind must not take anything back. */
  async #readAgain(engine: NatsEngine): Promise<void> {
    const { epoch } = this.#table.state
    if (epoch === undefined) return
    this.#newestSeen = Math.max(this.#newestSeen, this.#table.seq)
    await this.#takeSnapshot(engine, epoch)
  }

  /**
   * Reads from the sequence of a table to the end. Asks again while the replica is behind a message that was heard.
   * @throws {SkillError} IO_FAILED if the replica stays behind
   */
  async #readNew(engine: NatsEngine, table: HeadTable): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      for await (const { messages } of engine.readFrom(HEADS, table.seq + 1))
        for (const message of messages) table.apply(message)
      if (table.newEpoch !== undefined) return
      const isCurrent = table.seq >= this.#newestSeen
      const isLast = attempt === LAG_ATTEMPTS
      // If the rest of a batch does not come, its heads wait for the next message.
      if (isCurrent && (!table.isCutShort || isLast)) {
        table.publish()
        return
      }
      if (isLast) {
        const missing = this.#newestSeen
        this.#newestSeen = 0 // the message may belong to a stream that was lost
        const message = `${engine.server} has the heads up to sequence ${table.seq}, and not yet ${missing}`
        throw new SkillError('IO_FAILED', message)
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
    if (count === undefined || count === this.#table.subjectCount) return
    await this.#readNew(engine, this.#table)
    const again = await engine.countMessages(HEADS)
    if (again === this.#table.subjectCount) return
    await this.#readAgain(engine)
  }

  async #tick(): Promise<void> {
    const engine = this.#engine
    if (this.#isClosed || (engine !== undefined && !this.#isLinked)) return
    if (this.#isDirty && this.#failures > 0 && this.#running === undefined) this.#requestRead()
    if (engine === undefined) return
    const now = performance.now()
    if (now > this.#probeAt && this.#running === undefined) {
      this.#probeAt = now + jitter(PROBE_MS)
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

  /** Asks the listeners to read. After a failure, they are asked at growing intervals. */
  #requestRead(): void {
    this.#isDirty = true
    if (performance.now() >= this.#quietUntil) this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) callHost(listener)
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

/** Whether a stored state is further in the same fleet than a table, or the table is empty. */
function isAhead(state: FeedState, table: HeadTable): boolean {
  const [stored, known] = [state.epoch?.document, table.epoch]
  if (stored === undefined) return false
  if (known === undefined) return true
  if (stored.id !== known.id) return false
  return stored.epoch > known.epoch || (stored.epoch === known.epoch && newestSeq(state) > table.seq)
}
