import { toErrorResponse } from './error-response.ts'

/** The media types that a client accepts as an answer. */
export interface AcceptedTypes {
  readonly json: boolean
  readonly stream: boolean
}

const JSON_RANGES: readonly string[] = ['application/json', 'application/*', '*/*']
const STREAM_RANGES: readonly string[] = ['text/event-stream', 'text/*', '*/*']

/** Reads the header `Accept` (RFC 9110). A client without this header accepts everything. */
export function readAccepted(header: string | null): AcceptedTypes {
  const ranges = (header?.trim() || '*/*')
    .toLowerCase()
    .split(',')
    .filter(range => !/;\s*q=0(?:\.0*)?\s*(?:;|$)/.test(range))
    .map(range => range.replace(/;.*/s, '').trim())
  return {
    json: ranges.some(range => JSON_RANGES.includes(range)),
    stream: ranges.some(range => STREAM_RANGES.includes(range)),
  }
}

/**
 * Returns an answer in a media type that the client accepts. A client that accepts only JSON gets the answer without the
 * notifications before it. A client that accepts only a stream gets a stream with one message.
 */
export async function toAccepted(
  response: Response,
  { json, stream }: AcceptedTypes,
  signal: AbortSignal,
): Promise<Response> {
  const type = response.headers.get('content-type') ?? ''
  if (!response.ok || response.body === null || json === stream) return response
  if (!stream && type.startsWith('text/event-stream')) return await toJson(response, response.body, signal)
  if (!json && type.startsWith('application/json')) {
    const message = JSON.stringify(await response.json())
    return replaceBody(response, `event: message\ndata: ${message}\n\n`, 'text/event-stream')
  }
  return response
}

async function toJson(
  response: Response,
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): Promise<Response> {
  const whole = new Response(body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal }))
  const events = (await whole.text().catch(() => '')).split('\n\n')
  const answers = events.flatMap(readAnswer)
  if (answers.length === 0)
    return toErrorResponse(503, -32_000, 'the server ended before it answered; try again')
  // A batch has one answer for each request.
  const text = answers.length === 1 ? (answers[0] ?? '') : `[${answers.join(',')}]`
  return replaceBody(response, text, 'application/json')
}

/** Returns the JSON-RPC response in an event of a stream; nothing for a notification or a comment. */
function readAnswer(event: string): string[] {
  const data = /^data: (.*)$/m.exec(event)?.[1]
  return data !== undefined && data !== '' && !('method' in (JSON.parse(data) as object)) ? [data] : []
}

function replaceBody({ status, headers: given }: Response, body: string, type: string): Response {
  const headers = new Headers(given)
  headers.set('content-type', type)
  return new Response(body, { status, headers })
}
