import { SkillError } from '@skillstoke/core'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ApiErrorCode, ApiFailure } from '../client/api-types.ts'

/** Answers with a failure in the shape that all of the API's have. */
export function fail(
  context: Context,
  status: ContentfulStatusCode,
  code: ApiErrorCode,
  message: string,
): Response {
  return context.json({ error: { code, message } } satisfies ApiFailure, status)
}

/** What went wrong on the way to an answer. */
export function onApiError(error: Error, context: Context): Response {
  if (SkillError.isInstance(error, 'CLOSED')) return fail(context, 503, 'FAILED', 'the server is closing')
  return fail(context, 500, 'FAILED', error.message)
}
