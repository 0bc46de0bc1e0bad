import { SkillError } from '@skillstoke/core'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ZodError } from 'zod'
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

/** The body of a request; `undefined` when it is no JSON. */
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
      default:
        return fail(context, 400, 'INVALID_REQUEST', thrown.message)
    }
  }
}

/** What is wrong with a body, field by field. */
export function describeFaults(error: ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join('.') || 'the body'}: ${message}`).join('; ')
}
