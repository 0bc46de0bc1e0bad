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

function withLimitedError(message: JSONRPCMessage): JSONRPCMessage {
  if (!('error' in message)) return message
  return { ...message, error: { ...message.error, message: limitMessage(message.error.message) } }
}
