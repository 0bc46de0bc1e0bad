import { SkillError } from '@skillstoke/core'
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
  switch (error.code) {
    case 'SKILL_NOT_FOUND':
    case 'REVISION_NOT_FOUND':
      return { status: 404, code: 'NOT_FOUND', message }
    case 'CHANGED_SINCE_READ':
    case 'LOCKED':
      return { status: 409, code: 'CONFLICT', message }
    case 'HIDDEN_TEXT':
    case 'READ_ONLY':
      return { status: 409, code: error.code, message }
    case 'IO_FAILED':
      return { status: 500, code: 'IO_FAILED', message }
    case 'CLOSED':
      return { status: 503, code: 'FAILED', message: 'the server is closing' }
    case 'TIMED_OUT':
      return { status: 503, code: 'FAILED', message }
    default:
      return { status: 400, code: 'INVALID_REQUEST', message }
  }
}
