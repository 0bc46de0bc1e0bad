import { SkillError, type SkillErrorCode } from '@skillstoke/core'
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ApiErrorCode, ApiFailure } from '../client/api-types.ts'

/** A failed request, and how the API reports it. */
class ApiFault extends Error {
  readonly status: ContentfulStatusCode
  readonly code: ApiErrorCode

  constructor(status: ContentfulStatusCode, code: ApiErrorCode, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** Ends a request with a failure. */
export function fail(status: ContentfulStatusCode, code: ApiErrorCode, message: string): never {
  throw new ApiFault(status, code, message)
}

/** Responds to a request that failed. All failures have the same JSON format. */
export function onApiError(error: Error, context: Context): Response {
  const { status, code, message } = toFault(error)
  return context.json({ error: { code, message } } satisfies ApiFailure, status)
}

function toFault(error: Error): Pick<ApiFault, 'status' | 'code' | 'message'> {
  if (error instanceof ApiFault) return error
  const { message } = error
  if (error instanceof HTTPException) return { status: 400, code: 'INVALID_REQUEST', message }
  if (!SkillError.isInstance(error)) return { status: 500, code: 'FAILED', message }
  const [status, code] = FAULTS[error.code] ?? [400, 'INVALID_REQUEST']
  return { status, code, message: error.code === 'CLOSED' ? 'the server is closing' : message }
}

/** How the API reports each code of a SkillError. All other codes are faults of the request. */
const FAULTS: Readonly<Partial<Record<SkillErrorCode, readonly [ContentfulStatusCode, ApiErrorCode]>>> = {
  NOT_FOUND: [404, 'NOT_FOUND'],
  SKILL_NOT_FOUND: [404, 'NOT_FOUND'],
  REVISION_NOT_FOUND: [404, 'NOT_FOUND'],
  CHANGED_SINCE_READ: [409, 'CONFLICT'],
  LOCKED: [409, 'CONFLICT'],
  HIDDEN_TEXT: [409, 'HIDDEN_TEXT'],
  READ_ONLY: [409, 'READ_ONLY'],
  IO_FAILED: [500, 'IO_FAILED'],
  CLOSED: [503, 'FAILED'],
  TIMED_OUT: [503, 'FAILED'],
}
