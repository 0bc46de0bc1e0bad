import {
  type Answering,
  defined,
  diffSkill,
  explainSkill,
  listNotSkills,
  listSkills,
  listWaiting,
  quote,
  showSkill,
  showSkillFile,
} from '@skillstoke/core/internal'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { listHistory } from '../skills/commit-authors.ts'
import { fail } from './api-failure.ts'
import { body, KEEP_ALIVE_MS, lookFirst, query, reply, stream } from './api-route.ts'
import { createAuthorRoutes, LARGE_BODIES, MAX_LARGE_BODY } from './author-routes.ts'
import { createChatRoutes } from './chat-routes.ts'
import { streamEvents } from './event-stream.ts'
import { createFleetRoutes } from './fleet-routes.ts'
import type { LiveState } from './live-state.ts'
import { createModelRoutes } from './model-routes.ts'
import type { Playground } from './playground.ts'
import type { RequestGuard } from './request-guard.ts'
import { createReviewRoutes } from './review-routes.ts'
import { createRunRoutes } from './run-routes.ts'
import { createTestRoutes } from './test-routes.ts'

export interface ApiOptions {
  readonly config: Config
  readonly answering: Answering
  readonly state: LiveState
  readonly playground: Playground
  readonly guard: RequestGuard
  readonly startId: string
  /** Signal that ends all streams. */
  readonly signal: AbortSignal
}

/** The routes of the API, for the client. */
export type Api = ReturnType<typeof createApi>

const MAX_BODY_BYTES = 16_384
const MAX_EVENT_STREAMS = 256

/** Creates the routes of `/api`. Every response comes from a single generation. */
export function createApi(options: ApiOptions) {
  const { answering, state, guard, signal } = options
  const { skills } = answering
  const looked = lookFirst(skills)
  return new Hono()
    .use(async (context, next) => {
      const maxSize = LARGE_BODIES.includes(context.req.path) ? MAX_LARGE_BODY : MAX_BODY_BYTES
      const onError = (): never =>
        fail(413, 'TOO_LARGE', `the body is too large; send at most ${maxSize} bytes`)
      return await bodyLimit({ maxSize, onError })(context, next)
    })
    .use(async (context, next) => {
      context.header('Cache-Control', 'no-store')
      if (context.req.method === 'POST' && !isJson(context))
        fail(415, 'UNSUPPORTED_MEDIA_TYPE', 'send "Content-Type: application/json"')
      return await next()
    })
    .post('/login', body(z.object({ token: z.unknown().optional() })), context =>
      reply(context, guard.login(context, context.req.valid('json').token)),
    )
    .use(guard.checkCaller)
    .get('/generation', looked, context => reply(context, state.status()))
    .get('/skills', looked, async context => reply(context, await listSkills(answering, state.toRow)))
    .get('/not-skills', looked, async context => reply(context, await listNotSkills(skills)))
    .get('/pending', looked, async context => reply(context, { skills: await listWaiting(skills) }))
    .get('/sessions', looked, context => reply(context, state.sessions()))
    .get('/skills/:name', query('revision'), async context => {
      const name = context.req.param('name')
      const { revision } = context.req.valid('query')
      const detail = await showSkill(name, answering, { rowOf: state.toRow, ...defined({ revision }) })
      if (!('steps' in detail)) return reply(context, detail)
      return fail(404, 'NOT_FOUND', `there is no skill ${quote(name)}: ${detail.steps[0]?.detail ?? ''}`)
    })
    .get('/skills/:name/file', query('path'), async context => {
      const { name } = context.req.param()
      const path = context.req.valid('query').path ?? ''
      const file = await showSkillFile(name, path, skills)
      return reply(context, file ?? fail(404, 'NOT_FOUND', `${quote(name)} has no file ${quote(path)}`))
    })
    .get('/skills/:name/diff', query('from', 'to'), async context =>
      reply(context, await diffSkill(context.req.param('name'), context.req.valid('query'), answering)),
    )
    .get('/skills/:name/history', async context =>
      reply(context, { records: await listHistory(context.req.param('name'), skills) }),
    )
    .get('/skills/:name/why', looked, query('session'), async context => {
      const { session } = context.req.valid('query')
      return reply(context, await explainSkill(context.req.param('name'), session, answering))
    })
    .route('/', createReviewRoutes(skills))
    .route('/', createAuthorRoutes(options))
    .route('/', createRunRoutes(skills, signal))
    .route('/', createFleetRoutes(skills))
    .route('/', createChatRoutes(options))
    .route('/', createTestRoutes(options))
    .route('/', createModelRoutes())

    .post('/reload', body(z.object({})), async context => reply(context, await state.reload()))
    .get('/events', createEventRoute(options))
}

function isJson(context: Context): boolean {
  return /^application\/json\s*(;|$)/i.test(context.req.header('content-type') ?? '')
}

function createEventRoute({ state, startId, signal }: ApiOptions) {
  let open = 0
  /** Encodes the events as bytes. Counts the stream as open until the reader or the server ends it. */
  async function* encode(events: AsyncIterable<string>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const encoder = new TextEncoder()
    open++
    try {
      for await (const text of events) yield encoder.encode(text)
    } finally {
      open--
    }
  }
  return (context: Context): Response => {
    if (open >= MAX_EVENT_STREAMS)
      fail(
        503,
        'TOO_MANY',
        `the limit of ${MAX_EVENT_STREAMS} open event streams is reached; close one and retry`,
      )
    const events = streamEvents({
      log: state.log,
      startId,
      lastEventId: context.req.header('last-event-id'),
      createState: () => state.present(),
      keepAliveMs: KEEP_ALIVE_MS,
      signal: AbortSignal.any([signal, context.req.raw.signal]),
    })
    return stream(context, ReadableStream.from(encode(events)), 'text/event-stream')
  }
}
