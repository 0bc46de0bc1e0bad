import type { JSONRPCMessage, McpServer, Transport } from '@modelcontextprotocol/server'
import { limitMessage } from '@skillstoke/core/internal'

/**
 * Escapes control characters in the messages of all errors that a server object sends, and cuts long messages. Errors of the
 * SDK and of a host repeat what the client sent.
 */
export function limitErrors({ server }: McpServer): void {
  const connect = server.connect.bind(server)
  server.connect = async (transport: Transport) => {
    const send = transport.send.bind(transport)
    transport.send = async (message, options) => await send(withLimitedError(message), options)
    await connect(transport)
  }
}

/** Returns a message. If it is an error, limits its message and every text in its data. */
export function withLimitedError(message: JSONRPCMessage): JSONRPCMessage {
  if (!('error' in message)) return message
  const limit = (_: string, value: unknown): unknown =>
    typeof value === 'string' ? limitMessage(value) : value
  return { ...message, error: JSON.parse(JSON.stringify(message.error), limit) }
}

/** Limits the error of an HTTP request that the SDK refuses before a server object sees it. */
export async function limitRefusal(response: Response): Promise<Response> {
  const { ok, status, headers } = response
  if (ok || headers.get('content-type')?.startsWith('application/json') !== true) return response
  const refusal = withLimitedError((await response.json()) as JSONRPCMessage)
  return Response.json(refusal, { status, headers })
}
