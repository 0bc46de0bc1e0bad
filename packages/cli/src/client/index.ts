// The API of a running `stoke dev`, as the page and other processes use it.
import type { ApiClient } from './api-client.ts'

export {
  ApiClient,
  type ApiClientOptions,
  DEFAULT_API_TIMEOUT_MS,
  type EventStreamOptions,
} from './api-client.ts'
export { ApiError } from './api-error.ts'
export type * from './api-types.ts'
export type * from './chat-types.ts'
export { keyOfRow } from './row-key.ts'

/** A request to run a command or a script. */
export type RunRequest = Parameters<ApiClient['run']>[0]
