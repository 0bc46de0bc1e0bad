import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/server'

import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { showValue, toMessage } from '@skillstoke/core/internal'
import { withLimitedError } from './limit-errors.ts'
import { describeInvalid, findLongField, isRequestId } from './message-faults.ts'

const MAX_LINE_BYTES = 10 * 1024 * 1024
/** A request names its id at its start or at its end, so the id of a line that is too long is known without parsing. */
const ID_AT_START = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,64}")\s*,/
const ID_AT_END = /,\s*"id"\s*:\s*(-?\d{1,15}|"[^"\\]{0,64}")\s*\}\s*$/
const EDGE_BYTES = 200
const LINE_FEED = 0x0a

const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600

/**
 * Standard input and output as transport. Reports when the connection has ended, no matter which side ended it. Answers
 * lines that are no message, which the transport of the SDK ignores, and lines that are too long, which would end it.
 * Refuses a request with the id of a running request, because a client could not tell the two answers apart.
 */
export class StdioTransport extends StdioServerTransport {
  readonly closed: Promise<void>
  readonly #onClosed: () => void
  /** The parts of a line that has not ended. */
  #parts: Buffer[] = []
  #size = 0
  /** The start of a line that is too long; `undefined` while the line may still be a message. */
  #longStart: string | undefined
  /** Ids of the requests that have no answer yet. */
  readonly #running = new Set<RequestId>()

  override _ondata = (chunk: Buffer): void => {
    let rest = chunk
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      this.#add(rest.subarray(0, end))
      this.#endLine()
      rest = rest.subarray(end + 1)
    }
    this.#add(rest)
  }

  constructor() {
    super()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    this.#onClosed = resolve
  }

  override async close(): Promise<void> {
    await super.close()
    this.#parts = []
    this.#onClosed()
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCResponse(message) && message.id !== undefined) this.#running.delete(message.id)
    await super.send(withLimitedError(message))
  }

  #add(part: Buffer): void {
    if (part.length === 0) return
    this.#parts.push(part)
    this.#size += part.length
    if (this.#size <= MAX_LINE_BYTES && this.#longStart === undefined) return
    // Keeps only the two ends of the line.
    const line = Buffer.concat(this.#parts)
    this.#longStart ??= line.subarray(0, EDGE_BYTES).toString()
    this.#parts = [line.subarray(-EDGE_BYTES)]
  }

  #endLine(): void {
    const line = Buffer.concat(this.#parts).toString()
    const start = this.#longStart
    this.#parts = []
    this.#size = 0
    this.#longStart = undefined
    if (start !== undefined) this.#refuseLong(start, line)
    else if (line.trim() !== '') this.#read(line)
  }

  #refuseLong(start: string, end: string): void {
    const id = ID_AT_START.exec(start)?.[1] ?? ID_AT_END.exec(end)?.[1]
    const message = `the line is too long; send at most ${MAX_LINE_BYTES} bytes`
    this.#refuse(id === undefined ? null : (JSON.parse(id) as RequestId), INVALID_REQUEST, message)
  }

  #read(line: string): void {
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch (thrown) {
      this.#refuse(null, PARSE_ERROR, `the line is not valid JSON: ${toMessage(thrown)}`)
      return
    }
    const { id } = (message ?? {}) as { readonly id?: unknown }
    const long = findLongField(message)
    const shortId = isRequestId(id) && findLongField({ id }) === undefined ? id : null
    if (long !== undefined) this.#refuse(shortId, INVALID_REQUEST, long)
    else if (isJSONRPCRequest(message)) this.#receiveRequest(message)
    else if (isJSONRPCNotification(message)) this.#receiveNotification(message)
    else if (isJSONRPCResponse(message)) this.onmessage?.(message)
    else this.#refuse(shortId, INVALID_REQUEST, describeInvalid(message))
  }

  #receiveRequest(request: JSONRPCRequest): void {
    if (this.#running.has(request.id)) {
      const reason = `a request with the id ${showValue(request.id)} is running; use a new id`
      this.#refuse(request.id, INVALID_REQUEST, reason)
      return
    }
    this.#running.add(request.id)
    this.onmessage?.(request)
  }

  #receiveNotification(notification: JSONRPCNotification): void {
    const { method, params } = notification
    // A cancelled request gets no answer.
    if (method === 'notifications/cancelled') this.#running.delete(params?.['requestId'] as RequestId)
    this.onmessage?.(notification)
  }

  #refuse(id: RequestId | null, code: number, message: string): void {
    // With the id of a running request, the client would take this answer for the answer to that request.
    const shownId = id === null || this.#running.has(id) ? null : id
    // JSON-RPC answers with the id null if the id is unknown, which the type of the SDK does not allow.
    const answer = { jsonrpc: '2.0', id: shownId, error: { code, message } } as JSONRPCMessage
    super.send(answer).catch((error: unknown) => this.onerror?.(error as Error))
  }
}
