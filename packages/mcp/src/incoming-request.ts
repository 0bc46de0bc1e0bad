import { CLIENT_INFO_META_KEY, readRequestBody } from '@modelcontextprotocol/server'
import { showValue } from '@skillstoke/core/internal'
import { type AcceptedTypes, readAccepted } from './accepted-types.ts'
import { toErrorResponse } from './error-response.ts'
import { findLongField } from './message-faults.ts'

/** One HTTP request in the form that the transports of the SDK accept. */
export interface IncomingRequest {
  /** The request without its body. The header `Accept` names both media types. */
  readonly request: Request
  /** The parsed body; `undefined` for a request without a body. */
  readonly body: unknown
  readonly accepted: AcceptedTypes
}

/** What the transports of the SDK demand in the header `Accept`. */
export const BOTH_TYPES = 'application/json, text/event-stream'
const STREAM_TYPE = 'text/event-stream'
const ENCODINGS = ['gzip', 'deflate'] as const
const INVALID_REQUEST = -32_600
const PARSE_ERROR = -32_700

/**
 * Reads a request as clients send it: with any `Accept`, and with a compressed body. Returns the answer that refuses a
 * request whose body no transport can answer.
 */
export async function readIncoming(request: Request, maxBytes: number): Promise<IncomingRequest | Response> {
  const accepted = readAccepted(request.headers.get('accept'))
  const { url, method, signal } = request
  if (method === 'POST' && !(accepted.json || accepted.stream)) return refuseTypes(BOTH_TYPES)
  if (method === 'GET' && !accepted.stream) return refuseTypes(STREAM_TYPE)
  const headers = new Headers(request.headers)
  headers.set('accept', BOTH_TYPES)
  const bodyless = new Request(url, { method, headers, signal })
  if (method !== 'POST') return { request: bodyless, body: undefined, accepted }
  const body = await readBody(request, maxBytes)
  if (body instanceof Response) return body
  const fault = findFault(body)
  if (fault !== undefined) return toErrorResponse(400, INVALID_REQUEST, fault)
  if (!accepted.stream && isListening(body)) return refuseTypes(STREAM_TYPE)
  return { request: bodyless, body, accepted }
}

function refuseTypes(types: string): Response {
  return toErrorResponse(406, INVALID_REQUEST, `the header "Accept" excludes this answer; use "${types}"`)
}

async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  // RFC 9110 gives gzip a second name.
  const known = ENCODINGS.find(each => each === encoding.replace(/^x-gzip$/, 'gzip'))
  if (known === undefined && encoding !== 'identity' && encoding !== '')
    return toErrorResponse(415, INVALID_REQUEST, `the body is encoded as ${showValue(encoding)}; use gzip`, {
      'Accept-Encoding': ENCODINGS.join(', '),
    })
  try {
    const read = await readRequestBody(known === undefined ? request : decompress(request, known), maxBytes)
    if (read.tooLarge)
      return toErrorResponse(413, INVALID_REQUEST, `the body is too large; send at most ${maxBytes} bytes`)
    return JSON.parse(read.text) as unknown
  } catch {
    return toErrorResponse(400, PARSE_ERROR, 'the body is not valid JSON')
  }
}

/** Returns a request whose body is decompressed while it is read, so that the size limit counts decompressed bytes. */
function decompress({ url, body }: Request, format: (typeof ENCODINGS)[number]): Request {
  const stream = body?.pipeThrough(new DecompressionStream(format)) ?? null
  return new Request(url, { method: 'POST', body: stream, duplex: 'half' })
}

/** Returns why a body has no valid answer. */
function findFault(body: unknown): string | undefined {
  const messages = Array.isArray(body) ? body : [body]
  if (messages.some(message => isObject(message) && message['id'] === null && 'method' in message))
    return '"id" is null; use a string or a whole number, or leave "id" out for a notification'
  const long = messages.map(findLongField).find(fault => fault !== undefined)
  if (long !== undefined) return long
  const ids = requestIdsOf(body)
  const twice = ids.find((id, index) => ids.indexOf(id) < index)
  return twice === undefined
    ? undefined
    : `two requests have the id ${showValue(twice)}; use a new id for each request`
}

/** Returns the ids of the requests in a body. */
export function requestIdsOf(body: unknown): readonly unknown[] {
  const messages = Array.isArray(body) ? body : [body]
  return messages.flatMap(message =>
    isObject(message) && 'method' in message && message['id'] !== undefined ? [message['id']] : [],
  )
}

/** Who sent a 2026-era request, as far as a server can recognise the sender again. */
export interface Sender {
  /** The owner of the token, and what the client says about itself. */
  readonly client: string
  /** The client, and the notifications that it asks for. */
  readonly stream: string
  readonly does: 'begin' | 'listen' | 'other'
}

export function readSender(owner: string, body: unknown): Sender {
  const params = isObject(body) && isObject(body['params']) ? body['params'] : {}
  const meta = params['_meta']
  const client = [owner, isObject(meta) ? meta[CLIENT_INFO_META_KEY] : undefined]
  const isBeginning = isObject(body) && body['method'] === 'server/discover'
  return {
    client: JSON.stringify(client),
    stream: JSON.stringify([...client, params['notifications']]),
    does: isBeginning ? 'begin' : isListening(body) ? 'listen' : 'other',
  }
}

function isListening(body: unknown): boolean {
  return isObject(body) && body['method'] === 'subscriptions/listen'
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
