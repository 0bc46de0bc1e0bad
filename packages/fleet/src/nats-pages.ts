import {
  createInbox,
  type NatsConnection,
  PermissionViolationError,
  type Status,
} from '@nats-io/transport-node'
import { SkillError } from '@skillstoke/core'
import { Listeners } from '@skillstoke/core/internal'
import { encodeJson, type StoredMessage, toStored } from './nats-messages.ts'

// Far below the server's limit of pending bytes, so that a slow reader is never disconnected while it catches up.
const PAGE_BYTES = 1024 * 1024

/** Messages that follow each other in a stream. */
export interface MessagePage {
  readonly messages: readonly StoredMessage[]
  /** How many messages follow the page. */
  readonly pending: number
}

/** What a page contains, with the names of the server. */
export interface PageRequest {
  readonly seq: number
  readonly batch: number
  readonly next_by_subj?: string
}

/** Reads pages of messages with batched direct gets (ADR-31). The client has no such request. */
export class NatsPages {
  readonly #nc: NatsConnection
  readonly #inboxPrefix: string | undefined
  /** Called with each subject on which the server permits no messages of this program. */
  readonly #refusals = new Listeners<[subject: string]>()

  constructor(nc: NatsConnection, inboxPrefix: string | undefined) {
    this.#nc = nc
    this.#inboxPrefix = inboxPrefix
  }

  /** Notes an answer of the server that belongs to no request. */
  noteStatus(status: Status): void {
    const error = status.type === 'error' ? status.error : undefined
    if (error instanceof PermissionViolationError && error.operation === 'publish')
      this.#refusals.tell(error.subject)
  }

  /** @throws {SkillError} IO_FAILED */
  async read(stream: string, request: PageRequest, isEnded: AbortSignal): Promise<MessagePage> {
    const server = this.#nc.getServer()
    const inbox = createInbox(this.#inboxPrefix)
    const messages: StoredMessage[] = []
    let pending = 0
    const ended = Promise.withResolvers<void>()
    const fail = (message: string, data: { isMissing: boolean } | { isPermanent: true }): void =>
      ended.reject(new SkillError('IO_FAILED', `${server}: ${message}`, { data }))
    const subscription = this.#nc.subscribe(inbox, {
      callback: (error, message) => {
        const { code = 0, description } = message?.headers ?? {}
        const isMissing = code === 503
        if (error !== null) ended.reject(error)
        else if (code === 0) messages.push(toStored(message.headers?.get('Nats-Subject') ?? '', message))
        else if (code === 404 || code === 204) {
          pending = Number(message.headers?.get('Nats-Num-Pending') || 0)
          ended.resolve()
        } else
          fail(`${stream}: ${isMissing ? 'no stream answers; run "stoke fleet init"' : description}`, {
            isMissing,
          })
      },
    })
    const target = `$JS.API.DIRECT.GET.${stream}`
    const stop = this.#refusals.subscribe(subject => {
      if (subject === target)
        fail(`${subject}: the server does not permit this subject; grant it`, { isPermanent: true })
    })
    isEnded.addEventListener('abort', () => ended.reject(isEnded.reason), { once: true })
    try {
      this.#nc.publish(target, encodeJson({ ...request, max_bytes: PAGE_BYTES }), { reply: inbox })
      await ended.promise
      return { messages, pending }
    } finally {
      stop()
      subscription.unsubscribe()
    }
  }
}
