import type { ApiErrorCode } from './api-types.ts'

/**
 * An error response from the server, or a response that the client does not expect.
 *
 * @example
 * ```ts
 * import { once } from 'node:events'
 * import { createServer } from 'node:http'
 * import { ApiClient, ApiError } from 'skillstoke/client'
 *
 * const server = createServer((_request, response) => response.writeHead(401).end()).listen(0, '127.0.0.1')
 * await once(server, 'listening')
 * const { port } = server.address() as { port: number }
 * const failure = await new ApiClient({ url: `http://127.0.0.1:${port}` }).skills().catch((error: unknown) => error)
 * if (failure instanceof ApiError) console.log(failure.status) // prints 401
 * server.close()
 * ```
 */
export class ApiError extends Error {
  override readonly name: string = 'ApiError'
  readonly status: number
  readonly code: ApiErrorCode

  constructor(status: number, code: ApiErrorCode, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}
