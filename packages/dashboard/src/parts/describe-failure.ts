import { ApiError } from 'skillstoke/client'

/** Says why a request failed. */
export function describeFailure(error: unknown): string {
  return error instanceof ApiError ? error.message : `the dev server did not answer: ${String(error)}`
}
