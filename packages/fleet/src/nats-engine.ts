import {
  type ConnectionOptions,
  headers as createHeaders,
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
import { defined } from '@skillstoke/core/internal'
import { ByteBudget } from './byte-budget.ts'
import { ALL_LIVE, fromLiveSubject, HEADS } from './fleet-subjects.ts'
import { dial, type ServerChoice } from './nats-dialing.ts'
import {
  type ApiFault,
  describeRefusal,
  encodeJson,
  fromLeader,
  isGone,
  isNoMessage,
  isNoStream,
  type LeaderMessage,
  type MessageToStore,
  readAck,
  SequenceConflict,
  type StoredMessage,
  type StreamConfig,
  type StreamDescription,
  toApiError,
  toHeaders,
  toStored,
} from './nats-messages.ts'
import { type MessagePage, NatsPages } from './nats-pages.ts'
import { NatsProgress } from './nats-progress.ts'
import {
  featuresOf,
  isAtLeast,
  OLDEST_SERVER,
  RECOMMENDED_SERVER,
  type ServerFeatures,
} from './server-version.ts'

// Only this file and `nats-pages.ts` send requests to NATS. Requests of JetStream that the client marks as not stable (direct
// batch gets, atomic batches) are written in the wire format of their specifications (ADR-31, ADR-50), which is stable.

const NO_MESSAGES: MessagePage = { messages: [], pending: 0 }

interface ApiOptions {
  readonly body?: object
  readonly timeoutMs?: number
  /** Whether a fault is an answer, too. */
  readonly isTolerated?: (fault: ApiFault) => boolean
}

/** A page of the subjects of a stream. */
interface SubjectsPage {
  readonly state: { readonly subjects?: Readonly<Record<string, number>> }
  /** How many subjects the stream has. */
  readonly total: number
}

const REQUEST_MS = 2_000
const SENDING_BYTES = 256 * 1024
const RECEIVING_BYTES = 1024 * 1024
/** The slowest connection on which files can be uploaded: 32 KB each second. */
const LEAST_BYTES_PER_MS = 32
/** Limit for a read while bytes arrive. */
const LONGEST_READ_MS = 60_000
const PAGE_MESSAGES = 1_000

export class NatsEngine {
  readonly features: ServerFeatures
  /** Contents of files that are being sent, and that are being received. */
  readonly sending: ByteBudget = new ByteBudget(SENDING_BYTES)
  readonly receiving: ByteBudget = new ByteBudget(RECEIVING_BYTES)
  readonly #nc: NatsConnection
  readonly #choice: ServerChoice
  readonly #progress: NatsProgress
  readonly #pages: NatsPages
  #checking: Promise<boolean> | undefined

  private constructor(nc: NatsConnection, inboxPrefix: string | undefined, choice: ServerChoice) {
    this.#nc = nc
    this.#pages = new NatsPages(nc, inboxPrefix)
    this.#choice = choice
    this.#progress = new NatsProgress(nc)
    this.features = featuresOf(this.version)
    void this.followStatus(status => this.#pages.noteStatus(status))
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
   * Calls back for each republished message of the stream of the heads. Returns a function that ends the subscription.
   * Another agent can direct an answer of the server to the subject. So only messages count that the server sent from this
   * place of the stream.
   */
  followHeads(onMessage: (message: StoredMessage) => void): () => void {
    const subscription = this.#nc.subscribe(ALL_LIVE, {
      callback: (error, message) => {
        if (error !== null) return
        const subject = fromLiveSubject(message.subject)
        const { headers } = message
        if (headers?.get('Nats-Stream') === HEADS && headers.get('Nats-Subject') === subject)
          onMessage(toStored(subject, message))
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
    this.#checking ??= this.#progress.ping().finally(() => (this.#checking = undefined))
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

  /**
   * Returns the newest message of a subject. `leader`: asks the leader of the stream, whose answer is never outdated.
   * `any`: asks any replica, as agents may.
   */
  async readLast(
    stream: string,
    subject: string,
    from: 'leader' | 'any',
  ): Promise<StoredMessage | undefined> {
    if (from === 'any') return await this.#readDirect(stream, subject)
    const { message } = await this.#api<{ readonly message: LeaderMessage }>('STREAM.MSG.GET', stream, {
      body: { last_by_subj: subject },
      isTolerated: isNoMessage,
    })
    return message === undefined ? undefined : fromLeader(subject, message)
  }

  /**
   * Reads the messages of a stream from a sequence on, in order. The server sends at most 1 MB at once.
   * @param subject pattern of the subjects of the messages
   */
  async *readFrom(
    stream: string,
    seq: number,
    subject?: string,
  ): AsyncGenerator<StoredMessage, void, undefined> {
    for (let next = seq; ; ) {
      const { messages, pending } = await this.#readNext(stream, next, subject)
      yield* messages
      const last = messages.at(-1)
      if (last === undefined || pending === 0) return
      next = last.seq + 1
    }
  }

  /** Returns the subjects of all messages of a stream. Needs about 80 bytes for each of them. */
  async listSubjects(stream: string): Promise<Set<string>> {
    const subjects = new Set<string>()
    for (;;) {
      const body = { subjects_filter: '>', offset: subjects.size }
      const { state, total = 0 } = await this.#repeatRead(
        async () =>
          await this.#api<SubjectsPage>('STREAM.INFO', stream, { body, timeoutMs: LONGEST_READ_MS }),
      )
      const page = Object.keys(state?.subjects ?? {})
      for (const subject of page) subjects.add(subject)
      if (page.length === 0 || subjects.size >= total) return subjects
    }
  }

  /** Returns how many messages a stream has. Returns `undefined` if the server cannot tell an agent. */
  async countMessages(stream: string): Promise<number | undefined> {
    if (!this.features.batchGet) return undefined
    const { messages, pending } = await this.#repeatRead(
      async ended => await this.#pages.read(stream, { seq: 1, batch: 1 }, ended),
    )
    return messages.length + pending
  }

  /** Sends a message to a stream without waiting for an answer. */
  send(message: Omit<MessageToStore, 'expectedSeq'>): void {
    this.#nc.publish(message.subject, message.data, { headers: toHeaders(message, this.features) })
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
    return readAck(await this.#ask(subject, data, { hdrs: toHeaders(message, this.features), timeoutMs })).seq
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
      const hdrs = toHeaders(message, this.features)
      hdrs.set('Nats-Batch-Id', id)
      hdrs.set('Nats-Batch-Sequence', String(index + 1))
      const isLast = index === messages.length - 1
      if (isLast) hdrs.set('Nats-Batch-Commit', '1')
      // The server answers the first message, with a fault or with nothing, and the last one.
      if (index > 0 && !isLast) this.#nc.publish(message.subject, message.data, { headers: hdrs })
      else {
        const reply = await this.#ask(message.subject, message.data, { hdrs })
        if (isLast) return readAck(reply).seq - messages.length + 1
        if (reply.data.length > 0) readAck(reply)
      }
    }
    throw new SkillError('INVALID_OPTION', 'a batch needs at least one message')
  }

  /** Stores the message that makes the server store a copy on `target` again and again. */
  async storeSchedule(subject: string, target: string, every: string): Promise<void> {
    const hdrs = createHeaders()
    hdrs.set('Nats-Schedule', `@every ${every}`)
    hdrs.set('Nats-Schedule-Target', target)
    readAck(await this.#ask(subject, new Uint8Array(), { hdrs }))
  }

  /** Removes one message. Resolves to false if the message does not exist any more. */
  async deleteMessage(stream: string, seq: number): Promise<boolean> {
    const { success = false } = await this.#api<{ readonly success: boolean }>('STREAM.MSG.DELETE', stream, {
      body: { seq, no_erase: true },
      isTolerated: isGone,
    })
    return success
  }

  /** Returns the configuration and state of a stream; `undefined` if the stream does not exist. */
  async describeStream(name: string): Promise<StreamDescription | undefined> {
    const answer = await this.#api<StreamDescription>('STREAM.INFO', name, { isTolerated: isNoStream })
    return answer.config === undefined ? undefined : (answer as StreamDescription)
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
    await this.#api(`STREAM.${verb}`, config.name, { body: config })
  }

  async close(): Promise<void> {
    await this.#nc.close()
  }

  /**
   * Asks JetStream about a stream. The answer has no fields if it is a fault that the caller tolerates.
   * @throws {SkillError} IO_FAILED
   */
  async #api<T extends object>(
    request: string,
    stream: string,
    { body, timeoutMs, isTolerated }: ApiOptions,
  ): Promise<Partial<T>> {
    const reply = await this.#ask(`$JS.API.${request}.${stream}`, encodeJson(body), { timeoutMs })
    const { error, ...answer } = reply.json<Partial<T> & { readonly error?: ApiFault }>()
    if (error === undefined) return answer as Partial<T>
    if (isTolerated?.(error) === true) return {}
    throw toApiError(stream, error)
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
        ...defined({ headers: hdrs }),
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
        data: { isPermanent: isForbidden },
      })
    }
  }

  async #repeatRead<T>(read: (ended: AbortSignal) => Promise<T>): Promise<T> {
    return await this.#progress.repeatRead(read, () => {
      void this.checkAlive()
      return new SkillError('IO_FAILED', `${this.server} does not answer`)
    })
  }

  /** Reads what follows a place of a stream: a page, or one message from a server before 2.11. */
  async #readNext(stream: string, seq: number, subject: string | undefined): Promise<MessagePage> {
    if (this.features.batchGet) {
      const request = { seq, batch: PAGE_MESSAGES, ...defined({ next_by_subj: subject }) }
      return await this.#repeatRead(async ended => await this.#pages.read(stream, request, ended))
    }
    const request = { seq: Math.max(1, seq), next_by_subj: subject ?? '>' }
    const message = await this.#readDirect(stream, undefined, request)
    return message === undefined ? NO_MESSAGES : { messages: [message], pending: 1 }
  }

  /** Reads one message from any replica: the newest one of a subject, or the one that a request names. */
  async #readDirect(
    stream: string,
    subject: string | undefined,
    request?: object,
  ): Promise<StoredMessage | undefined> {
    const target = `$JS.API.DIRECT.GET.${stream}${subject === undefined ? '' : `.${subject}`}`
    const reply = await this.#repeatRead(
      async () => await this.#ask(target, encodeJson(request), { timeoutMs: LONGEST_READ_MS }),
    )
    const code = reply.headers?.code ?? 0
    if (code === 404) return undefined
    if (code !== 0) throw new SkillError('IO_FAILED', `${stream}: ${reply.headers?.description}`)
    return toStored(subject ?? reply.headers?.get('Nats-Subject') ?? '', reply)
  }
}
