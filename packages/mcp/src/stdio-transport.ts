import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { toMessage } from '@skillstoke/core/internal'
import { withLimitedError } from './limit-errors.ts'

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
 */
export class StdioTransport extends StdioServerTransport {
  readonly closed: Promise<void>
  readonly #onClosed: () => void
  /** The parts of a line that has not ended. */
  #parts: Buffer[] = []
  #size = 0
  /** The start of a line that is too long; `undefined` while the line may still be a message. */
  #longStart: string | undefined

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
    if (isJSONRPCRequest(message) || isJSONRPCNotification(message) || isJSONRPCResponse(message))
      this.onmessage?.(message)
    else this.#refuseMessage(message)
  }

  #refuseMessage(message: unknown): void {
    const { id } = (message ?? {}) as { readonly id?: unknown }
    const isId = typeof id === 'string' || Number.isInteger(id)
    const reason = Array.isArray(message)
      ? 'batches are not supported; send one message in each line'
      : 'the line is no JSON-RPC message; it needs "jsonrpc": "2.0" and "method", and "id" is a string or a whole number'
    this.#refuse(isId ? (id as RequestId) : null, INVALID_REQUEST, reason)
  }

  #refuse(id: RequestId | null, code: number, message: string): void {
    // JSON-RPC answers with the id null if the id is unknown, which the type of the SDK does not allow.
    const answer = { jsonrpc: '2.0', id, error: { code, message } } as Parameters<
      StdioServerTransport['send']
    >[0]
    this.send(answer).catch((error: unknown) => this.onerror?.(error as Error))
  }
}
