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

/** An answer of the API, by the method of the client. */
type Answer<Method extends 'fleet' | 'reload' | 'sessions'> = Awaited<ReturnType<ApiClient[Method]>>

/** The fleets that the dev server follows. */
export type FleetList = Answer<'fleet'>
/** The conversations, with their exact catalogs. */
export type SessionList = Answer<'sessions'>
/** What a reload changed, and every skill whose status is not `ok` after it. */
export type ReloadResult = Answer<'reload'>
