import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { freshOrKnown } from '@skillstoke/core/internal'
import type { Context, MiddlewareHandler, TypedResponse } from 'hono'
import { validator } from 'hono/validator'
import type { ZodType } from 'zod'
import { fail } from './api-failure.ts'
import { streamLines } from './stream-lines.ts'

/** Responds with JSON. Unlike `context.json()`, gives the client exactly the type of the value. */
export function reply<T extends object>(
  context: Context,
  value: T,
): Response & TypedResponse<T, 200, 'json'> {
  return context.json(value) as unknown as Response & TypedResponse<T, 200, 'json'>
}

/** Checks the JSON body of a request. A failure names each wrong field. */
export function body<T extends object>(schema: ZodType<T>) {
  return validator('json', (value): T => {
    const parsed = schema.safeParse(value)
    if (parsed.success) return parsed.data
    const faults = parsed.error.issues.map(
      ({ path, message }) => `${path.join('.') || 'the body'}: ${message}`,
    )
    return fail(400, 'INVALID_REQUEST', faults.join('; '))
  })
}

/** Declares the query parameters of a request. */
export function query<Name extends string>(..._names: readonly Name[]) {
  return validator('query', value => value as { readonly [Key in Name]?: string })
}

/**
 * Maximum time that a list waits for continuous writes to end, in milliseconds. After this time, the list comes from
 * the newest complete generation, and an event follows.
 */
const MAX_LIST_WAIT_MS = 2_000

/** Makes lists wait for earlier saves. */
export function lookFirst(skills: SkillRuntime): MiddlewareHandler {
  return async (_context, next) => {
    await freshOrKnown(skills, MAX_LIST_WAIT_MS)
    await next()
  }
}

/** Streams a response that proxies must not hold back. By default, lines of JSON. */
export function stream(
  context: Context,
  bytes: ReadableStream<Uint8Array<ArrayBuffer>>,
  type: 'text/event-stream' | 'application/x-ndjson' = 'application/x-ndjson',
): Response {
  return context.body(bytes, 200, {
    'Content-Type': `${type}; charset=utf-8`,
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  })
}

/** Interval of messages without content, which keep an idle stream open. */
export const KEEP_ALIVE_MS = 15_000

/** Maximum number of events that the reader has not read yet. */
const MAX_BACKLOG = 2_000

/** Yields the events that work reports, then the last one, which it returns. If the reader is slow, drops reported events. */
export async function* follow<T>(
  work: (report: (event: T) => void) => Promise<T>,
): AsyncGenerator<T, void, undefined> {
  const start = (controller: ReadableStreamDefaultController<T>): void => {
    const report = (event: T): void => {
      if ((controller.desiredSize ?? 0) > 0) controller.enqueue(event)
    }
    work(report)
      .then(event => {
        controller.enqueue(event)
        controller.close()
      })
      .catch((thrown: unknown) => controller.error(thrown)) // without effect if the reader has left
  }
  yield* new ReadableStream<T>({ start }, { highWaterMark: MAX_BACKLOG })
}

/** Streams the events of work that the request starts. Aborts the work when the reader leaves or the server closes. */
export function streamWork(
  context: Context,
  end: AbortSignal,
  start: (signal: AbortSignal) => AsyncGenerator<object, void, undefined>,
): Response {
  const left = new AbortController()
  const events = start(AbortSignal.any([end, context.req.raw.signal, left.signal]))
  const onCancel = (): void => left.abort(new SkillError('CLOSED', 'the reader closed the stream'))
  return stream(context, streamLines(events, { keepAliveMs: KEEP_ALIVE_MS, onCancel }))
}
