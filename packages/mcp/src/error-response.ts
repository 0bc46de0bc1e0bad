import { limitMessage } from '@skillstoke/core/internal'

/** Returns a JSON-RPC error as the answer to an HTTP request. */
export function toErrorResponse(
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const error = { code, message: limitMessage(message) }
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status, headers })
}
