import { SkillError } from '@skillstoke/core'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ZodError } from 'zod'
import type { ApiErrorCode, ApiFailure } from '../client/api-types.ts'

/** Responds with a failure, in the same JSON format as all API failures. */
export function fail(
  context: Context,
  status: ContentfulStatusCode,
  code: ApiErrorCode,
  message: string,
): Response {
  return context.json({ error: { code, message } } satisfies ApiFailure, status)
}

/** Converts an unexpected error to a response. */
export function onApiError(error: Error, context: Context): Response {
  if (SkillError.isInstance(error, 'CLOSED')) return fail(context, 503, 'FAILED', 'the server is closing')
  const status = SkillError.isInstance(error, 'TIMED_OUT') ? 503 : 500
  return fail(context, status, 'FAILED', error.message)
}

/** Reads the body of a request. Returns `undefined` if the body is not valid JSON. */
export async function readJson(context: Context): Promise<unknown> {
  return await context.req.json().catch(() => undefined)
}

/** Maps a SkillError to an HTTP status and a JSON error. */
export async function answer(context: Context, work: () => Promise<object>): Promise<Response> {
  try {
    return context.json(await work())
  } catch (thrown) {
    if (!SkillError.isInstance(thrown)) throw thrown
    switch (thrown.code) {
      case 'SKILL_NOT_FOUND':
      case 'REVISION_NOT_FOUND':
        return fail(context, 404, 'NOT_FOUND', thrown.message)
      case 'CHANGED_SINCE_READ':
      case 'LOCKED':
        return fail(context, 409, 'CONFLICT', thrown.message)
      case 'HIDDEN_TEXT':
        return fail(context, 409, 'HIDDEN_TEXT', thrown.message)
      case 'READ_ONLY':
        return fail(context, 409, 'READ_ONLY', thrown.message)
      case 'IO_FAILED':
        return fail(context, 500, 'IO_FAILED', thrown.message)
      case 'CLOSED':
        throw thrown
      default:
        return fail(context, 400, 'INVALID_REQUEST', thrown.message)
    }
  }
}

/** Describes the faults of a request body, field by field. */
export function describeFaults(error: ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join('.') || 'the body'}: ${message}`).join('; ')
}
