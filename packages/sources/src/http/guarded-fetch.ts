import type { IncomingMessage } from 'node:http'
import { isIP, type LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import { SkillError } from '@skillstoke/core'
import { checkOptions, type KnownOptions, number, toMessage } from '@skillstoke/core/internal'
import { checkUrl, type HostAccess, resolveAllowed } from './address-guard.ts'

export interface GuardedRequest extends HostAccess {
  /** Maximum size of an answer, in bytes. */
  readonly maxBytes: number
  readonly signal: AbortSignal
  /** Entity tag of the content that the caller already has. */
  readonly etag?: string
}

export interface GuardedAnswer {
  /** The content. Absent if the entity tag of the caller still matches, because the caller already has this content. */
  readonly bytes?: Uint8Array
  readonly etag?: string
  /** URL of the answer after all redirects. */
  readonly url: URL
}

const MAX_REDIRECTS = 5
const HEADERS = { Accept: '*/*', 'Accept-Encoding': 'identity', 'User-Agent': 'skillstoke' }

/**
 * Requests a URL that may come from an untrusted party. Allows only encrypted connections to public addresses, and
 * checks each redirect. Connects only to the checked addresses, so a DNS change after the check has no effect.
 * @throws {SkillError} INVALID_OPTION for URLs that are not allowed; TOO_LARGE; NOT_FOUND; IO_FAILED for everything
 * else, with `data.retryAfterMs` when the server asks to wait
 */
export async function guardedFetch(text: URL, options: GuardedRequest): Promise<GuardedAnswer> {
  let url = text
  const { etag: known } = options
  const asked = { ...HEADERS, ...(known === undefined ? {} : { 'If-None-Match': known }) }
  for (let redirects = 0; ; redirects++) {
    checkUrl(url, { privateHosts: options.privateHosts })
    const response = await send(url, { ...options, method: 'GET', headers: asked })
    const { statusCode: status = 0, headers } = response
    if (status >= 300 && status < 400 && status !== 304 && headers.location !== undefined) {
      response.destroy()
      if (redirects === MAX_REDIRECTS) {
        const message = `${url.host} answers with more than ${MAX_REDIRECTS} redirects in a row`
        throw new SkillError('IO_FAILED', message)
      }
      if (!URL.canParse(headers.location, url.href))
        throw new SkillError('IO_FAILED', `${url.host} redirects to an invalid URL`)
      url = new URL(headers.location, url)
      continue
    }
    const etag = headers.etag === undefined ? {} : { etag: headers.etag }
    if (status === 304) {
      response.destroy()
      return { ...etag, url }
    }
    if (status !== 200) {
      response.destroy()
      throw toFailure(url, status, headers['retry-after'])
    }
    return { bytes: await readBody(response, url, options), ...etag, url }
  }
}

interface Sending extends HostAccess {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal: AbortSignal
}

async function send(url: URL, options: Sending): Promise<IncomingMessage> {
  const { signal, method, headers, body } = options
  signal.throwIfAborted()
  const addresses = await resolveAllowed(url, options)
  // Connects only to addresses that were checked. Sockets are not pooled, because the address of a pooled socket was
  // checked for an earlier request.
  const lookup: LookupFunction = (_hostname, { all }, callback) => {
    const found = addresses.map(address => ({ address, family: isIP(address) }))
    const [first] = found
    if (all === true) callback(null, found)
    else callback(null, first?.address ?? '', first?.family ?? 4)
  }
  // The HTTP client is imported on the first request, because this import takes longer than starting Node.
  const { Agent, request: open } = await (url.protocol === 'https:'
    ? import('node:https')
    : import('node:http'))
  signal.throwIfAborted()
  const agent = new Agent({ keepAlive: false })
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const request = open(url, { agent, lookup, method, headers, signal })
  request.on('response', resolve)
  request.on('error', thrown => reject(signal.aborted ? signal.reason : toNetworkError(url, thrown)))
  request.end(body)
  return await promise
}

async function readBody(
  response: IncomingMessage,
  url: URL,
  { maxBytes, signal }: GuardedRequest,
): Promise<Uint8Array> {
  const tooLarge = (): SkillError => {
    response.destroy()
    return tooLong(url, maxBytes)
  }
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > maxBytes) throw tooLarge()
      chunks.push(chunk)
    }
  } catch (thrown) {
    if (SkillError.isInstance(thrown)) throw thrown
    throw signal.aborted ? signal.reason : toNetworkError(url, thrown)
  }
  return Buffer.concat(chunks)
}

function toNetworkError(url: URL, thrown: unknown): SkillError {
  return new SkillError('IO_FAILED', `${url.host} cannot be reached: ${toMessage(thrown)}`, { cause: thrown })
}

function toFailure(url: URL, status: number, retryAfter: string | undefined): SkillError {
  const retryAfterMs = toMs(retryAfter)
  const code = status === 404 || status === 410 ? 'NOT_FOUND' : 'IO_FAILED'
  return new SkillError(code, `${url.href} answers with ${status}`, {
    data: { status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
  })
}

/** Converts the header `Retry-After` to milliseconds. The value of the header is a number of seconds or a date. */
function toMs(retryAfter: string | undefined): number | undefined {
  if (retryAfter === undefined) return undefined
  const seconds = Number(retryAfter)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(retryAfter) - Date.now()
  return Number.isFinite(ms) && ms > 0 ? ms : undefined
}

export interface GuardedFetchOptions extends HostAccess {
  /**
   * Maximum size of an answer in bytes. Requests with larger answers fail with TOO_LARGE. All events of an event stream
   * together count as one answer.
   * @default 64 MB
   */
  readonly maxBytes?: number
}

const KNOWN: KnownOptions<GuardedFetchOptions> = {
  maxBytes: number(1),
  privateHosts: true,
  resolve: true,
}

const DEFAULT_MAX_ANSWER_BYTES = 64_000_000

/**
 * Returns a `fetch` with the same guards as `guardedFetch`, for clients with their own protocol. This `fetch` returns
 * redirects and does not follow them.
 *
 * @example
 * ```ts
 * import { SkillError } from '@skillstoke/core'
 * import { createGuardedFetch } from '@skillstoke/sources'
 *
 * const guarded = createGuardedFetch({ privateHosts: [], maxBytes: 1_000_000 })
 * const failure = await guarded('https://169.254.169.254/latest').catch((error: unknown) => error)
 * console.log(SkillError.isInstance(failure, 'INVALID_OPTION')) // prints true
 * ```
 */
export function createGuardedFetch(options: GuardedFetchOptions): typeof fetch {
  checkOptions('createGuardedFetch()', options, KNOWN)
  const { maxBytes = DEFAULT_MAX_ANSWER_BYTES, ...access } = options
  return async (input, init) => {
    const request = new Request(input, init)
    const url = new URL(request.url)
    checkUrl(url, access)
    const body = request.body === null ? {} : { body: await request.text() }
    const { method, signal } = request
    const headers = Object.fromEntries(request.headers)
    const response = await send(url, { ...access, method, headers, signal, ...body })
    const { statusCode: status = 502, headers: received } = response
    const pairs = Object.entries(received).flatMap(([name, value]) =>
      value === undefined
        ? []
        : [[name, Array.isArray(value) ? value.join(', ') : value] as [string, string]],
    )
    if (status === 204 || status === 205 || status === 304) {
      response.resume()
      return new Response(null, { status, headers: pairs })
    }
    const stream = Readable.toWeb(response) as ReadableStream<Uint8Array>
    return new Response(stream.pipeThrough(limitTo(maxBytes, url)), { status, headers: pairs })
  }
}

/** Makes the stream fail if it exceeds `maxBytes`. The error of the stream also closes the connection. */
function limitTo(maxBytes: number, url: URL): TransformStream<Uint8Array, Uint8Array> {
  let length = 0
  return new TransformStream({
    transform: (chunk, controller) => {
      length += chunk.length
      if (length > maxBytes) controller.error(tooLong(url, maxBytes))
      else controller.enqueue(chunk)
    },
  })
}

function tooLong(url: URL, maxBytes: number): SkillError {
  return new SkillError('TOO_LARGE', `${url.host} answers with more than ${maxBytes} bytes`)
}
