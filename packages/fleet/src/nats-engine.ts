import {
  type ConnectionOptions,
  headers as createHeaders,
  createInbox,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  type Status,
  TimeoutError,
} from '@nats-io/transport-node'
import { SkillError } from '@skillstoke/core'
import { Listeners } from '@skillstoke/core/internal'
import { ByteBudget } from './byte-budget.ts'
import { dial, type ServerChoice } from './nats-dialing.ts'
import {
  type ApiFault,
  describeRefusal,
  fromLeader,
  isAtLeast,
  isGone,
  isNoMessage,
  isNoStream,
  type LeaderMessage,
  readAck,
  SequenceConflict,
  type StoredMessage,
  toApiError,
  toStored,
} from './nats-messages.ts'

// The only file that sends requests to NATS. Requests of JetStream that the client marks as not stable (direct batch gets,
// atomic batches) are written here in the wire format of their specifications (ADR-31, ADR-50), which is stable.

/** A message to store. The server refuses the message if the newest message of its subject has another sequence. */
export interface MessageToStore {
  readonly subject: string
  readonly data: Uint8Array
  /** Expected sequence of the newest message of the subject; 0 if the subject must be empty. */
  readonly expectedSeq: number
  readonly isMarker?: boolean
  /** Time after which the server removes the message. Ignored by servers without this feature. */
  readonly ttlSeconds?: number
}

/** A page of messages of a stream. */
export interface MessagePage {
  readonly messages: readonly StoredMessage[]
}

interface CountedPage extends MessagePage {
  /** How many messages follow the page. */
  readonly pending: number
}

/** Features that depend on the version of the server. Old servers ignore unknown options without an error. */
export interface ServerFeatures {
  /** Batched direct gets and expiring messages: 2.11. */
  readonly batchGet: boolean
  /** Several messages in one atomic batch: 2.12. */
  readonly atomicBatch: boolean
  /** Messages that the server repeats: 2.14. */
  readonly schedules: boolean
}

/** The oldest version of the server that works. */
export const OLDEST_SERVER = '2.9.0'
/** The oldest version of the server that has all features of the publisher, and current security fixes. */
export const RECOMMENDED_SERVER = '2.12.0'

const REQUEST_MS = 2_000
const SENDING_BYTES = 256 * 1024
const RECEIVING_BYTES = 1024 * 1024
/** The slowest connection on which files can be uploaded: 32 KB each second. */
const LEAST_BYTES_PER_MS = 32
/** Without progress: the time until a read has failed, the time until its next attempt, and the number of attempts. */
const READ_MS = 1_500
const READ_AGAIN_MS = 400
const READ_ATTEMPTS = 5
const PING_MS = 1_000
/** How often a waiting request looks for progress, and what counts as such. A beat has fewer bytes. */
const PROGRESS_MS = 100
const PROGRESS_BYTES = 8_192
/** Limit for a read while bytes arrive. */
const LONGEST_READ_MS = 60_000
const PAGE_MESSAGES = 1_000
// Far below the server's limit of pending bytes, so that a slow reader is never disconnected while it catches up.
const PAGE_BYTES = 1024 * 1024

export class NatsEngine {
  readonly features: ServerFeatures
  /** Contents of files that are being sent, and that are being received. */
  readonly sending: ByteBudget = new ByteBudget(SENDING_BYTES)
  readonly receiving: ByteBudget = new ByteBudget(RECEIVING_BYTES)
  readonly #nc: NatsConnection
  readonly #inboxPrefix: string | undefined
  readonly #choice: ServerChoice
  /** Called with each subject on which the server permits no messages of this program. */
  readonly #refusals = new Listeners<[subject: string]>()
  #checking: Promise<boolean> | undefined
  /** When the last bytes arrived, and how many had arrived then. */
  #progressAt = 0
  #countedBytes = 0

  private constructor(nc: NatsConnection, inboxPrefix: string | undefined, choice: ServerChoice) {
    this.#nc = nc
    this.#inboxPrefix = inboxPrefix
    this.#choice = choice
    const { version } = this
    this.features = {
      batchGet: isAtLeast(version, '2.11.0'),
      atomicBatch: isAtLeast(version, '2.12.0'),
      schedules: isAtLeast(version, '2.14.0'),
    }
    void this.followStatus(status => {
      const error = status.type === 'error' ? status.error : undefined
      if (error instanceof PermissionViolationError && error.operation === 'publish')
        this.#refusals.tell(error.subject)
    })
  }

  /** @throws {SkillError} IO_FAILED if no server answers, refuses the credentials, or is too old */
  static async connect(options: ConnectionOptions, address: string): Promise<NatsEngine> {
    const { nc, choice } = await dial(options, address)
    const version = nc.info?.version ?? '0.0.0'
    if (!isAtLeast(version, OLDEST_SERVER)) {
      await nc.close()
      throw new SkillError(
        'IO_FAILED',
        `${address} runs nats-server ${version}; use ${RECOMMENDED_SERVER} or newer`,
      )
    }
    return new NatsEngine(nc, options.inboxPrefix, choice)
  }

  get version(): string {
    return this.#nc.info?.version ?? '0.0.0'
  }

  /** Host and port of the connected server. */
  get server(): string {
    return this.#nc.getServer()
  }

  get isClosed(): boolean {
    return this.#nc.isClosed()
  }

  /** Whether the server is part of a cluster. */
  get isClustered(): boolean {
    return this.#nc.info?.cluster !== undefined
  }

  /** Largest message that the server accepts, in bytes. */
  get maxPayload(): number {
    return this.#nc.info?.max_payload ?? 1024 * 1024
  }

  /** Calls back at each change of the connection, until the connection is closed. */
  async followStatus(onStatus: (status: Status) => void): Promise<void> {
    for await (const status of this.#nc.status()) onStatus(status)
  }

  /**
   * Calls back for each message of a republished stream. Returns a function that ends the subscription. Another agent can
   * direct an answer of the server to the subject. So only messages count that the server sent from this place of the stream.
   */
  subscribeLive(
    subject: string,
    { stream, toSubject }: { readonly stream: string; readonly toSubject: (subject: string) => string },
    onMessage: (message: StoredMessage) => void,
  ): () => void {
    const subscription = this.#nc.subscribe(subject, {
      callback: (error, message) => {
        if (error !== null) return
        const stored = toSubject(message.subject)
        const { headers } = message
        const isFromPlace = headers?.get('Nats-Stream') === stream && headers.get('Nats-Subject') === stored
        if (isFromPlace) onMessage(toStored(stored, message))
      },
    })
    return () => subscription.unsubscribe()
  }

  /**
   * Asks the server for a sign of life. If the server does not answer within a second, moves to another server, or to the
   * same one again. A stopped server keeps its connections open, so only a question shows that it is stopped. Returns
   * whether the server answered.
   */
  async checkAlive(): Promise<boolean> {
    this.#checking ??= this.#ping().finally(() => (this.#checking = undefined))
    const isAlive = await this.#checking
    if (!isAlive) await this.moveAway()
    return isAlive
  }

  /** Leaves the server and connects to another one, if there is another. */
  async moveAway(): Promise<void> {
    this.#choice.avoid(this.server)
    try {
      await this.#nc.reconnect()
    } catch {
      // The connection was closed or lost in the meantime, and is restored in the background.
    }
  }

  /** Whether the server answers before nothing has arrived for a second. On a slow connection, the answer comes late. */
  async #ping(): Promise<boolean> {
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

  /**
   * Returns the newest message of a subject. `leader`: asks the leader of the stream, whose answer is never outdated.
   * `any`: asks any replica, as agents may.
   */
  async readLast(
    stream: string,
    subject: string,
    from: 'leader' | 'any',
  ): Promise<StoredMessage | undefined> {
    if (from === 'leader') {
      const reply = await this.#request(`$JS.API.STREAM.MSG.GET.${stream}`, { last_by_subj: subject })
      const { message, error } = reply.json<{
        readonly message?: LeaderMessage
        readonly error?: ApiFault
      }>()
      if (isNoMessage(error)) return undefined
      if (message === undefined) throw toApiError(stream, error)
      return fromLeader(subject, message)
    }
    return await this.#readDirect(stream, { subject })
  }

  /** Reads the messages of a stream from a sequence on, in order, in pages of at most 1 MB. */
  async *readFrom(
    stream: string,
    seq: number,
    subject?: string,
  ): AsyncGenerator<MessagePage, void, undefined> {
    if (!this.features.batchGet) {
      yield* this.#readEach(stream, seq, subject)
      return
    }
    for (let next = seq; ; ) {
      const from = next
      const page = await this.#repeatRead(
        async ended => await this.#readPage(stream, from, { ended, subject }),
      )
      yield page
      const last = page.messages.at(-1)
      if (last === undefined || page.pending === 0) return
      next = last.seq + 1
    }
  }

  /** Returns the subjects of all messages of a stream. Needs about 80 bytes for each of them. */
  async listSubjects(stream: string): Promise<Set<string>> {
    const subjects = new Set<string>()
    for (;;) {
      const body = { subjects_filter: '>', offset: subjects.size }
      const ask = async (): Promise<Msg> =>
        await this.#request(`$JS.API.STREAM.INFO.${stream}`, body, LONGEST_READ_MS)
      const { state, total = 0, error } = (await this.#repeatRead(ask)).json<SubjectsPage>()
      if (error !== undefined) throw toApiError(stream, error)
      const page = Object.keys(state.subjects ?? {})
      for (const subject of page) subjects.add(subject)
      if (page.length === 0 || subjects.size >= total) return subjects
    }
  }

  /** Returns how many messages a stream has. Returns `undefined` if the server cannot tell an agent. */
  async countMessages(stream: string): Promise<number | undefined> {
    if (!this.features.batchGet) return undefined
    const readOne = async (ended: AbortSignal): Promise<CountedPage> =>
      await this.#readPage(stream, 1, { ended, batch: 1 })
    const { messages, pending } = await this.#repeatRead(readOne)
    return messages.length + pending
  }

  /** Sends a message to a stream without waiting for an answer. */
  send(subject: string, data: Uint8Array, { isMarker = false }: { readonly isMarker?: boolean } = {}): void {
    const hdrs = createHeaders()
    if (isMarker) hdrs.set('KV-Operation', 'DEL')
    this.#nc.publish(subject, data, { headers: hdrs })
  }

  /** Stores a message. Returns its sequence. @throws {SequenceConflict} @throws {SkillError} TOO_LARGE, IO_FAILED */
  async store(message: MessageToStore): Promise<number> {
    const { subject, data } = message
    if (data.length > this.maxPayload)
      throw new SkillError(
        'TOO_LARGE',
        `a message for ${subject} has ${data.length} bytes; the server accepts ${this.maxPayload}`,
      )
    // A slow connection needs more time for what other messages of this program wait to send.
    const timeoutMs = REQUEST_MS + (data.length + this.sending.used) / LEAST_BYTES_PER_MS
    return readAck(await this.#ask(subject, data, { hdrs: this.#headersOf(message), timeoutMs })).seq
  }

  /** Stores a message unless its subject has changed. Returns whether the message was stored. @throws {SkillError} IO_FAILED */
  async tryStore(message: MessageToStore): Promise<boolean> {
    try {
      await this.store(message)
      return true
    } catch (thrown) {
      if (thrown instanceof SequenceConflict) return false
      throw thrown
    }
  }

  /**
   * Stores several messages of one stream in one atomic batch. Returns the sequence of the first message; the others
   * follow it. @throws {SequenceConflict} if any message is refused; then no message is stored
   */
  async storeAll(messages: readonly MessageToStore[]): Promise<number> {
    const [only] = messages
    if (only !== undefined && messages.length === 1) return await this.store(only)
    const id = crypto.randomUUID()
    for (const [index, message] of messages.entries()) {
      const hdrs = this.#headersOf(message)
      hdrs.set('Nats-Batch-Id', id)
      hdrs.set('Nats-Batch-Sequence', String(index + 1))
      const isLast = index === messages.length - 1
      if (isLast) hdrs.set('Nats-Batch-Commit', '1')
      if (!isLast && index > 0) {
        this.#nc.publish(message.subject, message.data, { headers: hdrs })
        continue
      }
      const reply = await this.#publish(message.subject, message.data, hdrs)
      if (!isLast) {
        if (reply.data.length > 0) readAck(reply)
        continue
      }
      const { seq } = readAck(reply)
      return seq - messages.length + 1
    }
    throw new SkillError('INVALID_OPTION', 'a batch needs at least one message')
  }

  /** Stores the message that makes the server store a copy on `target` again and again. */
  async storeSchedule(subject: string, target: string, every: string): Promise<void> {
    const hdrs = createHeaders()
    hdrs.set('Nats-Schedule', `@every ${every}`)
    hdrs.set('Nats-Schedule-Target', target)
    readAck(await this.#publish(subject, new Uint8Array(), hdrs))
  }

  /** Removes one message. Resolves to false if the message does not exist any more. */
  async deleteMessage(stream: string, seq: number): Promise<boolean> {
    const reply = await this.#request(`$JS.API.STREAM.MSG.DELETE.${stream}`, { seq, no_erase: true })
    const { error } = reply.json<{ readonly error?: ApiFault }>()
    if (error === undefined) return true
    if (isGone(error)) return false
    throw toApiError(stream, error)
  }

  /** Returns the configuration and state of a stream; `undefined` if the stream does not exist. */
  async describeStream(name: string): Promise<StreamDescription | undefined> {
    const reply = await this.#request(`$JS.API.STREAM.INFO.${name}`)
    const answer = reply.json<StreamDescription & { readonly error?: ApiFault }>()
    if (isNoStream(answer.error)) return undefined
    if (answer.error !== undefined) throw toApiError(name, answer.error)
    return answer
  }

  /**
   * Returns the wall time of the leader of a stream, in milliseconds since the epoch. Returns `undefined` if the server does
   * not tell it, as before 2.10.
   */
  async readTime(stream: string): Promise<number | undefined> {
    const time = Date.parse((await this.describeStream(stream))?.ts ?? '')
    return Number.isNaN(time) ? undefined : time
  }

  /** Creates a stream, or changes the settings of a stream. */
  async writeStream(verb: 'CREATE' | 'UPDATE', config: StreamConfig): Promise<void> {
    const reply = await this.#request(`$JS.API.STREAM.${verb}.${config.name}`, config)
    const { error } = reply.json<{ readonly error?: ApiFault }>()
    if (error !== undefined) throw toApiError(config.name, error)
  }

  async close(): Promise<void> {
    await this.#nc.close()
  }

  #headersOf({ expectedSeq, isMarker = false, ttlSeconds }: MessageToStore): MsgHdrs {
    const hdrs = createHeaders()
    hdrs.set('Nats-Expected-Last-Subject-Sequence', String(expectedSeq))
    if (isMarker) hdrs.set('KV-Operation', 'DEL')
    if (ttlSeconds !== undefined && this.features.batchGet) hdrs.set('Nats-TTL', `${ttlSeconds}s`)
    return hdrs
  }

  async #publish(subject: string, data: Uint8Array, hdrs: MsgHdrs): Promise<Msg> {
    return await this.#ask(subject, data, { hdrs })
  }

  async #request(subject: string, body?: object, timeoutMs?: number): Promise<Msg> {
    const data = body === undefined ? new Uint8Array() : new TextEncoder().encode(JSON.stringify(body))
    return await this.#ask(subject, data, { timeoutMs })
  }

  /** @throws {SkillError} IO_FAILED; `data.isPermanent` if the same request would fail again */
  async #ask(
    subject: string,
    data: Uint8Array,
    {
      hdrs,
      timeoutMs = REQUEST_MS,
    }: { readonly hdrs?: MsgHdrs; readonly timeoutMs?: number | undefined } = {},
  ): Promise<Msg> {
    try {
      return await this.#nc.request(subject, data, {
        timeout: timeoutMs,
        ...(hdrs === undefined ? {} : { headers: hdrs }),
      })
    } catch (thrown) {
      const cause = thrown instanceof RequestError ? thrown.cause : thrown
      const isForbidden = cause instanceof PermissionViolationError
      if (cause instanceof TimeoutError) void this.checkAlive()
      if (cause instanceof NoRespondersError)
        throw new SkillError('IO_FAILED', `${this.server} has no fleet; run "stoke fleet init"`, {
          cause: thrown,
          data: { isMissing: true },
        })
      throw new SkillError('IO_FAILED', `${this.server}: ${subject}: ${describeRefusal(cause, timeoutMs)}`, {
        cause: thrown,
        data: { isPermanent: isForbidden, isUnanswered: cause instanceof TimeoutError },
      })
    }
  }

  /**
   * Asks again while nothing arrives, and takes the first answer. A direct get may reach a replica on a server that is
   * stopped, and the next attempt reaches another one. While bytes arrive, the answer may be behind others on a slow
   * connection, so another attempt would only make the connection slower.
   */
  async #repeatRead<T>(read: (ended: AbortSignal) => Promise<T>): Promise<T> {
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
      } else if (idleMs >= READ_MS) {
        void this.checkAlive()
        first.reject(new SkillError('IO_FAILED', `${this.server} does not answer`))
      }
    }, PROGRESS_MS)
    return await first.promise.finally(() => {
      clearInterval(timer)
      abort.abort() // the attempts that were not answered
    })
  }

  /** Reads one page with a batched direct get (ADR-31). */
  async #readPage(
    stream: string,
    seq: number,
    {
      ended: isEnded,
      subject,
      batch = PAGE_MESSAGES,
    }: { readonly ended: AbortSignal; readonly subject?: string | undefined; readonly batch?: number },
  ): Promise<CountedPage> {
    const inbox = createInbox(this.#inboxPrefix)
    const messages: StoredMessage[] = []
    let pending = 0
    const ended = Promise.withResolvers<void>()
    const subscription = this.#nc.subscribe(inbox, {
      callback: (error, message) => {
        const code = message?.headers?.code ?? 0
        if (error !== null) ended.reject(error)
        else if (code === 404 || code === 204) {
          pending = Number(message.headers?.get('Nats-Num-Pending') || 0)
          ended.resolve()
        } else if (code !== 0) {
          const isMissing = code === 503
          const reason = isMissing
            ? 'no stream answers; run "stoke fleet init"'
            : message.headers?.description
          const text = `${this.server}: ${stream}: ${reason}`
          ended.reject(new SkillError('IO_FAILED', text, { data: { isMissing } }))
        } else {
          messages.push(toStored(message.headers?.get('Nats-Subject') ?? '', message))
        }
      },
    })
    const request = {
      seq,
      batch,
      max_bytes: PAGE_BYTES,
      ...(subject === undefined ? {} : { next_by_subj: subject }),
    }
    const target = `$JS.API.DIRECT.GET.${stream}`
    const onRefusal = (subject: string): void => {
      if (subject !== target) return
      const message = `${this.server}: ${subject}: the server does not permit this subject; grant it`
      ended.reject(new SkillError('IO_FAILED', message, { data: { isPermanent: true } }))
    }
    const stop = this.#refusals.subscribe(onRefusal)
    isEnded.addEventListener('abort', () => ended.reject(isEnded.reason), { once: true })
    try {
      this.#nc.publish(target, JSON.stringify(request), { reply: inbox })
      await ended.promise
      return { messages, pending }
    } finally {
      stop()
      subscription.unsubscribe()
    }
  }

  /** Reads one message after the other, for servers before 2.11. */
  async *#readEach(
    stream: string,
    seq: number,
    subject: string = '>',
  ): AsyncGenerator<MessagePage, void, undefined> {
    let messages: StoredMessage[] = []
    let bytes = 0
    for (let next = seq; ; ) {
      const request = { seq: Math.max(1, next), next_by_subj: subject }
      const message = await this.#readDirect(stream, { request })
      if (message === undefined) break
      next = message.seq + 1
      messages.push(message)
      bytes += message.data.length
      if (messages.length < PAGE_MESSAGES && bytes < PAGE_BYTES) continue
      yield { messages }
      messages = []
      bytes = 0
    }
    yield { messages }
  }

  /** Reads one message from any replica: the newest one of a subject, or the one that a request names. */
  async #readDirect(
    stream: string,
    { subject, request }: { readonly subject?: string; readonly request?: object },
  ): Promise<StoredMessage | undefined> {
    const target = `$JS.API.DIRECT.GET.${stream}${subject === undefined ? '' : `.${subject}`}`
    const ask = async (): Promise<Msg> => await this.#request(target, request, LONGEST_READ_MS)
    const reply = await this.#repeatRead(ask)
    const code = reply.headers?.code ?? 0
    if (code === 404) return undefined
    if (code !== 0) throw new SkillError('IO_FAILED', `${stream}: ${reply.headers?.description}`)
    return toStored(subject ?? reply.headers?.get('Nats-Subject') ?? '', reply)
  }
}

/** Settings of a stream, with the names of the server. */
export interface StreamConfig extends Readonly<Record<string, unknown>> {
  readonly name: string
}

/** A page of the subjects of a stream. */
interface SubjectsPage {
  readonly state: { readonly subjects?: Readonly<Record<string, number>> }
  /** How many subjects the stream has. */
  readonly total?: number
  readonly error?: ApiFault
}

/** What the server tells about a stream. */
export interface StreamDescription {
  readonly config: StreamConfig
  readonly created: string
  /** Time of the answer. Absent before 2.10. */
  readonly ts?: string
  readonly state: { readonly messages: number; readonly bytes: number; readonly last_seq: number }
  readonly cluster?: {
    readonly leader?: string
    readonly replicas?: readonly { readonly name: string; readonly current: boolean; readonly lag?: number }[]
  }
}
