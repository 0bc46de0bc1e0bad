// The API of a running `stoke dev`, as the page and other processes use it.
import type { ApiClient } from './api-client.ts'

export { ApiClient } from './api-client.ts'
export { ApiError } from './api-error.ts'
export type * from './api-types.ts'
export type * from './chat-types.ts'
export { keyOfRow } from './row-key.ts'

/** An answer of the API, by the method of the client. */
type Answer<Method extends 'fleet' | 'sessions'> = Awaited<ReturnType<ApiClient[Method]>>

/** The fleets that the dev server follows. */
export type FleetList = Answer<'fleet'>
/** The conversations, with their exact catalogs. */
export type SessionList = Answer<'sessions'>
