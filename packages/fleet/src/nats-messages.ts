import {
  headers as createHeaders,
  type Msg,
  type MsgHdrs,
  MsgHdrsImpl,
  PermissionViolationError,
  TimeoutError,
} from '@nats-io/transport-node'
import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import type { ServerFeatures } from './server-version.ts'

// The form of messages and errors on the wire.

/** One message of a stream. */
export interface StoredMessage {
  readonly subject: string
  readonly seq: number
  /**
   * Wall time of the server, in milliseconds since the epoch; 0 if it is unknown, because servers before 2.10 republish
   * messages without their time.
   */
  readonly at: number
  readonly data: Uint8Array
  /** Whether the message deletes its key. */
  readonly isMarker: boolean
}

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

/** The server refused a message, because its subject has a newer message than expected. */
export class SequenceConflict extends Error {
  override readonly name: string = 'SequenceConflict'
}

const WRONG_LAST_SEQUENCES: readonly number[] = [10_071, 10_164]

export function describeRefusal(thrown: unknown, timeoutMs: number): string {
  if (thrown instanceof PermissionViolationError) return 'the server does not permit this subject; grant it'
  return thrown instanceof TimeoutError ? `no answer within ${timeoutMs} ms` : toMessage(thrown)
}

/** An error that JetStream answers. */
export interface ApiFault {
  readonly code: number
  readonly err_code?: number
  readonly description: string
}

const NO_MESSAGE = 10_037
const SEQUENCE_NOT_FOUND = 10_043
const STREAM_NOT_FOUND = 10_059
const INCOMPLETE_BATCH = 10_176
/** Too few servers of the cluster have found each other yet. */
const NO_PEERS = 10_005

export function isNoMessage(error: ApiFault | undefined): boolean {
  return error?.err_code === NO_MESSAGE
}

export function isNoStream(error: ApiFault | undefined): boolean {
  return error?.err_code === STREAM_NOT_FOUND
}

/** Whether a message that was to be removed does not exist any more. */
export function isGone(error: ApiFault): boolean {
  // The last message of a stream is missing with a general code, which only its text explains.
  return (
    isNoMessage(error) || error.err_code === SEQUENCE_NOT_FOUND || error.description === 'no message found'
  )
}

export function toApiError(stream: string, error: ApiFault | undefined): SkillError {
  const isMissing = isNoStream(error)
  const hint = isMissing ? '; run "stoke fleet init"' : ''
  // A batch is incomplete if one of its messages was lost on the way.
  const isPassing = error?.err_code === INCOMPLETE_BATCH || error?.err_code === NO_PEERS
  const isPermanent = (error?.code ?? 500) < 500 && !isPassing
  const message = `${stream}: ${error?.description ?? 'invalid answer'}${hint}`
  return new SkillError('IO_FAILED', message, { data: { isPermanent, isMissing } })
}

/** @throws {SequenceConflict} */
export function readAck(reply: Msg): { readonly seq: number } {
  const { seq, error } = reply.json<{ readonly seq?: number; readonly error?: ApiFault }>()
  if (seq !== undefined && error === undefined) return { seq }
  if (WRONG_LAST_SEQUENCES.includes(error?.err_code ?? 0)) throw new SequenceConflict(error?.description)
  throw toApiError('the server refused a message', error)
}

/** A message in the answer of the leader. */
export interface LeaderMessage {
  readonly seq: number
  readonly time: string
  /** In Base64. */
  readonly data?: string
  /** In Base64. */
  readonly hdrs?: string
}

export function fromLeader(
  subject: string,
  { seq, time, data = '', hdrs = '' }: LeaderMessage,
): StoredMessage {
  return {
    subject,
    seq,
    at: Date.parse(time),
    data: Buffer.from(data, 'base64'),
    isMarker: isMarker(MsgHdrsImpl.decode(Buffer.from(hdrs, 'base64'))),
  }
}

/** Converts a direct or republished message. */
export function toStored(subject: string, { headers, data }: Msg): StoredMessage {
  return {
    subject,
    seq: Number(headers?.get('Nats-Sequence') || 0),
    at: Date.parse(headers?.get('Nats-Time-Stamp') ?? '') || 0,
    data,
    isMarker: isMarker(headers),
  }
}

function isMarker(headers: MsgHdrs | undefined): boolean {
  const operation = headers?.get('KV-Operation')
  return operation === 'DEL' || operation === 'PURGE' || headers?.has('Nats-Marker-Reason') === true
}

/** Settings of a stream, with the names of the server. */
export interface StreamConfig extends Readonly<Record<string, unknown>> {
  readonly name: string
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

/** Returns the headers of a message to store. Without an expected sequence, the message replaces any other. */
export function toHeaders(
  { expectedSeq, isMarker = false, ttlSeconds }: Partial<MessageToStore>,
  { batchGet }: ServerFeatures,
): MsgHdrs {
  const hdrs = createHeaders()
  if (expectedSeq !== undefined) hdrs.set('Nats-Expected-Last-Subject-Sequence', String(expectedSeq))
  if (isMarker) hdrs.set('KV-Operation', 'DEL')
  if (ttlSeconds !== undefined && batchGet) hdrs.set('Nats-TTL', `${ttlSeconds}s`)
  return hdrs
}

export function encodeJson(body: object | undefined): Uint8Array {
  return new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body))
}
