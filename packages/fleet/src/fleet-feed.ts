import { SkillError } from '@skillstoke/core'
import { Listeners, toMessage } from '@skillstoke/core/internal'
import { type FeedState, type KnownEpoch, newestSeq } from './feed-state.ts'
import type { FleetConnection } from './fleet-connection.ts'
import { BEAT_SUBJECT, EPOCH_SUBJECT, HEADS } from './fleet-subjects.ts'
import { HeadTable } from './head-table.ts'
import { warn } from './host-warning.ts'
import { readDocument } from './manifest.ts'
import type { NatsEngine } from './nats-engine.ts'
import type { StoredMessage } from './nats-messages.ts'
import { jitter, RetryTimer } from './retries.ts'
import { ServerLink } from './server-link.ts'
import type { WaitingHead } from './waiting-heads.ts'

const TICK_MS = 500
/** Interval of the requests that find lost messages, with 25 % jitter. */
const PROBE_MS = 20_000
/** How often a lagging replica is asked again. */
const LAG_ATTEMPTS = 8

/** Why a feed may miss changes. */
interface Staleness {
  /** Wall time, in milliseconds since the epoch. */
  readonly since: number
  readonly reason?: string
}

/** What the next read does. `check`: it also compares the epoch, the order and the number of messages. */
type Due = 'nothing' | 'read' | 'check'

/**
 * Follows the heads of a fleet: one subscription to the republished stream, and batched reads after a gap, after a
 * reconnect and every 30 seconds. Messages only ever move the feed forward within an epoch.
 *
 * ```text
 *                gap, reload()                        reconnect, probe, suspicion, failure
 *   nothing ----------------------> read ---------------------------------------------------> check
 *     ^  ^                           |                                                          |
 *     |  +------ heads are read -----+                                                          |
 *     +------------------------- epoch, order, heads and count are read ------------------------+
 * ```
 *
 * After a failed read, `RetryTimer` asks the listeners again. A live message that is the next one is applied at once, if
 * nothing is due.
 */
export class FleetFeed {
  readonly #connection: FleetConnection
  readonly #link: ServerLink
  readonly #retry = new RetryTimer(() => {
    // A lost connection reports when it is back.
    if (this.#link.engine === undefined || this.#link.isLinked) this.#news.tell()
  })
  readonly #news = new Listeners(warn)
  readonly #recoveries = new Listeners(warn)
  /** Stored states that the table was not compared with yet. */
  readonly #resumed: FeedState[] = []
  #table: HeadTable
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #due: Due = 'check'
  /** The highest sequence that was heard of. */
  #newestSeen = 0
  /** A message that was heard although it should have been known. */
  #suspect: StoredMessage | undefined
  #probeAt = 0
  #stale: Staleness | undefined = { since: Date.now() }
  #isClosed = false

  constructor(connection: FleetConnection) {
    this.#connection = connection
    this.#table = new HeadTable(connection.trusted)
    this.#link = new ServerLink({
      onMessage: message => this.#hear(message),
      onLost: reason => {
        this.#noteStale(reason)
        this.#request('read') // which fails, so that the sources report it
      },
      onBack: () => {
        this.#retry.cancel()
        this.#request('check')
      },
      onGap: () => this.#request('read'),
      onRecovery: () => {
        this.#retry.cancel()
        if (this.hasNews) this.#news.tell()
        this.#recoveries.tell()
      },
    })
  }

  /** The newest state that is complete. */
  get state(): FeedState {
    return this.#table.state
  }

  /** Heads that do not count yet, by subject: the rest of their publication or the list of their channel is missing. */
  get waiting(): ReadonlyMap<string, WaitingHead> {
    return this.#table.waiting
  }

  get isConnected(): boolean {
    return this.#link.isLinked
  }

  /** Since when and why the feed may miss changes; absent if it is up to date. */
  get stale(): Staleness | undefined {
    return this.#stale
  }

  /** Whether the feed has heard of something that it has not read. */
  get hasNews(): boolean {
    return this.#due !== 'nothing'
  }

  /** Calls back after each change of the state, and when the feed may be outdated. Returns a function that ends this. */
  onNews(listener: () => void): () => void {
    return this.#news.subscribe(listener)
  }

  /** Calls back soon after a reconnect, and after the first message that follows a silence. Returns a function that ends this. */
  onRecovery(listener: () => void): () => void {
    return this.#recoveries.subscribe(listener)
  }

  /**
   * Continues from a state that an earlier process stored. If the feed has begun and is behind this state, the next read
   * continues from the state, so that a stream that went back is noticed.
   */
  resume(state: FeedState): void {
    this.#resumed.push(state)
    if (this.#link.engine === undefined && this.#running === undefined) this.#takeResumed()
  }

  /**
   * Resolves when everything that was published before the call is in the state.
   * @throws {SkillError} IO_FAILED if the servers do not answer, or the stream went back
   */
  async reload(): Promise<void> {
    await this.#running?.catch(() => undefined) // it may have begun before the call
    this.#need('read')
    await this.#run()
  }

  /** Resolves when everything that the feed has heard of before the call is in the state. @throws {SkillError} IO_FAILED */
  async settle(): Promise<void> {
    await this.#running
    if (this.hasNews) await this.#run()
  }

  /** Lets the next read go on until a sequence that the leader has. A replica may be behind. */
  expect(seq: number): void {
    this.#newestSeen = Math.max(this.#newestSeen, seq)
  }

  close(): void {
    this.#isClosed = true
    this.#noteStale('the connection is closed')
    clearInterval(this.#timer)
    this.#link.close()
    this.#retry.cancel()
    this.#news.clear()
    this.#recoveries.clear()
  }

  #takeResumed(): void {
    for (const state of this.#resumed.splice(0)) {
      if (!isAhead(state, this.#table)) continue
      this.#table.resume(state)
      this.#need('check')
    }
  }

  #run(): Promise<void> {
    this.#running ??= this.#catchUp().finally(() => (this.#running = undefined))
    return this.#running
  }

  async #catchUp(): Promise<void> {
    this.#takeResumed()
    if (!this.#isClosed) this.#timer ??= setInterval(() => void this.#tick(), TICK_MS).unref()
    const isUnchecked = this.#due === 'check'
    const { heads } = this.state
    try {
      const engine = await this.#connection.open()
      this.#link.follow(engine)
      this.#due = 'nothing'
      this.#table.forgetNewEpoch()
      if (isUnchecked) await this.#checkEpoch(engine)
      await this.#readNew(engine, this.#table)
      const { newEpoch } = this.#table
      if (newEpoch !== undefined) await this.#enterEpoch(engine, newEpoch)
      if (isUnchecked) await this.#checkCount(engine)
      this.#probeAt = performance.now() + jitter(PROBE_MS)
      this.#retry.cancel()
      if (this.#link.isLinked) this.#stale = undefined
    } catch (thrown) {
      this.#need('check')
      this.#noteStale(toMessage(thrown))
      if (this.#isClosed) throw new SkillError('CLOSED', 'the connection to the fleet is closed')
      this.#retry.noteFailure()
      throw thrown
    } finally {
      if (this.state.heads !== heads) this.#news.tell()
    }
  }

  #hear(message: StoredMessage): void {
    if (this.#table.isBehind(message)) {
      this.#suspect = message
      this.#request('check')
      return
    }
    this.#newestSeen = Math.max(this.#newestSeen, message.seq)
    if (message.seq <= this.#table.seq) return
    const isEpoch = message.subject === EPOCH_SUBJECT
    if (isEpoch) this.#retry.cancel()
    const isNext = message.seq === this.#table.seq + 1
    if (!isNext || isEpoch || this.#running !== undefined || this.hasNews) {
      this.#request('read')
      return
    }
    const { heads } = this.#table.state
    this.#table.apply(message)
    this.#table.publish()
    this.#stale = undefined
    if (this.#table.state.heads !== heads) this.#news.tell()
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
      for await (const message of engine.readFrom(HEADS, table.seq + 1)) table.apply(message)
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
    if (!this.#link.isLinked) return
    const now = performance.now()
    if (now > this.#probeAt && this.#running === undefined) {
      this.#probeAt = now + jitter(PROBE_MS)
      this.#request('check')
    }
    await this.#link.check()
  }

  #need(due: Due): void {
    if (this.#due !== 'check') this.#due = due
  }

  /** Asks the listeners to read. After a failure, they are asked at growing intervals. */
  #request(due: Due): void {
    this.#need(due)
    if (!this.#retry.isWaiting) this.#news.tell()
  }

  #noteStale(reason: string): void {
    this.#stale = { since: this.#stale?.since ?? Date.now(), reason }
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
