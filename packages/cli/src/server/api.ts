import type { SkillRuntime, SkillScope, SkillStatus } from '@skillstoke/core'
import {
  decodePlainText,
  describeNewCapabilities,
  freshOrKnown,
  MAX_LOOK_MS,
  quote,
  showFile,
  targetOf,
} from '@skillstoke/core/internal'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { FileText, SkillDetail, SkillDiff } from '../client/api-types.ts'
import { describeModified, describeRejected } from '../describe-change.ts'
import { readNewestText } from '../newest-text.ts'
import { findNotSkills } from '../not-skills.ts'
import { fail } from './api-failure.ts'
import { addChatRoutes } from './chat-routes.ts'
import { streamEvents } from './event-stream.ts'
import { addFleetRoutes } from './fleet-routes.ts'
import type { LiveState } from './live-state.ts'
import { findMeant } from './meant-folder.ts'
import type { Playground } from './playground.ts'
import type { RequestGuard } from './request-guard.ts'
import { addReviewRoutes } from './review-routes.ts'
import { addRunRoutes } from './run-routes.ts'
import { toGenerationId } from './timeline.ts'

export interface ApiOptions {
  readonly skills: SkillRuntime
  readonly state: LiveState
  readonly playground: Playground
  readonly guard: RequestGuard
  /** Scope of playground conversations, and of `why` requests that name no conversation. */
  readonly view: { readonly scope?: SkillScope }
  readonly startId: string
  readonly keepAliveMs: number
  readonly maxEventStreams: number
  /** Signal that ends all event streams. */
  readonly signal: AbortSignal
}

const MAX_BODY_BYTES = 16_384
/**
 * Statuses which mean that the newest revision is valid, but a decision or a missing approval keeps it from being
 * served.
 */
const WAITING: readonly SkillStatus[] = ['pending', 'rejected', 'pinned']
/** A response about one skill fails if writes do not end within this time. */
const BOUND = { maxWaitMs: MAX_LOOK_MS }
/**
 * Maximum time that a list waits for continuous writes to end, in milliseconds. After this time, the list comes from
 * the newest complete generation, and an event follows.
 */
const MAX_LIST_WAIT_MS = 2_000

/** Creates the routes of `/api`. Every response comes from a single generation. */
export function createApi(options: ApiOptions): Hono {
  const { skills, state, guard, signal } = options
  const api = new Hono()
  api.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: context =>
        fail(context, 413, 'TOO_LARGE', `the body is too large; send at most ${MAX_BODY_BYTES} bytes`),
    }),
  )
  api.use(async (context, next) => {
    context.header('Cache-Control', 'no-store')
    if (context.req.method === 'POST' && !isJson(context))
      return fail(context, 415, 'UNSUPPORTED_MEDIA_TYPE', 'send "Content-Type: application/json"')
    return await next()
  })
  api.post('/login', async context => {
    const body: unknown = await context.req.json().catch(() => undefined)
    return guard.login(context, (body as { token?: unknown } | undefined)?.token)
  })
  api.use(guard.checkCaller)
  api.get('/generation', async context => {
    await freshOrKnown(skills, MAX_LIST_WAIT_MS)
    return context.json(state.status())
  })
  api.get('/skills', async context => {
    await freshOrKnown(skills, MAX_LIST_WAIT_MS)
    return context.json(state.list())
  })
  api.get('/not-skills', async context => {
    await freshOrKnown(skills, MAX_LIST_WAIT_MS)
    return context.json(await findNotSkills(skills))
  })
  api.get('/skills/:name', context => getSkill(context, options))
  api.get('/skills/:name/file', context => getFile(context, skills))
  api.get('/skills/:name/diff', context => getDiff(context, options))
  api.get('/skills/:name/why', context => explain(context, options))
  addReviewRoutes(api, skills)
  addRunRoutes(api, skills, signal)
  addFleetRoutes(api, skills)
  addChatRoutes(api, options)
  api.get('/sessions', async context => {
    await freshOrKnown(skills, MAX_LIST_WAIT_MS)
    return context.json(state.sessions())
  })
  api.post('/reload', async context => context.json(await state.reload()))
  api.get('/events', createEventRoute(options))
  return api
}

function isJson(context: Context): boolean {
  return /^application\/json\s*(;|$)/i.test(context.req.header('content-type') ?? '')
}

async function getSkill(context: Context, { skills, state, view }: ApiOptions): Promise<Response> {
  const target = context.req.param('name') ?? ''
  const generation = await skills.fresh(BOUND)
  const meant = findMeant(target, generation, skills)
  if (meant === undefined) {
    const reason = (await skills.forConversation(view).why(target)).steps[0]?.detail ?? ''
    return fail(context, 404, 'NOT_FOUND', `there is no skill ${quote(target)}: ${reason}`)
  }
  const { report, skill } = meant
  return context.json({
    generation: toGenerationId(generation),
    skills: state.rowsLike(report, generation),
    revision: skill?.revision ?? null,
    files: skill?.files.map(({ path, digest, size }) => ({ path, digest, size })) ?? [],
    text:
      skill === undefined ? null : (decodePlainText(await skills.readFile(skill, skill.skillFile)) ?? null),
    body: skill === undefined ? null : await skills.readBody(skill),
    refusedText: report.status === 'broken' ? ((await readNewestText(report)) ?? null) : null,
    explanation: skills.forConversation(view).explain(report.name),
  } satisfies SkillDetail)
}

/**
 * Responds with the diff for the skill or folder that the request names. If several folders have this name, prefers a
 * folder with a refused or waiting change.
 */
async function getDiff(context: Context, { skills, state }: ApiOptions): Promise<Response> {
  const target = context.req.param('name') ?? ''
  const generation = await skills.fresh(BOUND)
  const meant = generation
    .reports()
    .filter(report => [report.name, `${report.source}/${report.name}`, targetOf(report)].includes(target))
  const refused = meant.find(({ status }) => status === 'broken')
  if (refused !== undefined)
    return context.json({
      kind: 'refused',
      to: null,
      text: await describeRejected(refused, skills),
      newCapabilities: [],
    } satisfies SkillDiff)
  const waiting = meant.find(
    ({ status, revision, serving }) => WAITING.includes(status) && revision !== serving,
  )
  if (waiting !== undefined) {
    const { skill, live } = skills.review.revisionsOf(waiting)
    if (skill !== undefined) {
      const text = await describeModified(live ?? { ...skill, files: [] }, skill, skills)
      return context.json({
        kind: 'waiting',
        to: skill.revision,
        text,
        newCapabilities: describeNewCapabilities(live, skill),
      } satisfies SkillDiff)
    }
  }
  // Shows no last change for a folder that is not served, because the recorded change with this name belongs to another
  // folder.
  const isServed = meant.length === 0 || meant.some(({ serving }) => serving !== undefined)
  const change = isServed ? state.lastChangeOf(meant[0]?.name ?? target) : undefined
  if (change?.kind !== 'modified')
    return context.json({ kind: 'none', to: null, text: '', newCapabilities: [] } satisfies SkillDiff)
  const text = await describeModified(change.oldSkill, change.newSkill, skills)
  const newCapabilities = describeNewCapabilities(change.oldSkill, change.newSkill)
  return context.json({
    kind: 'changed',
    to: change.newSkill.revision,
    text,
    newCapabilities,
  } satisfies SkillDiff)
}

async function explain(context: Context, { skills, view }: ApiOptions): Promise<Response> {
  const name = context.req.param('name') ?? ''
  const id = context.req.query('session')
  await freshOrKnown(skills, MAX_LIST_WAIT_MS)
  if (id === undefined) return context.json(await skills.forConversation(view).why(name))
  const sessions = skills.sessions()
  const session = sessions.find(each => each.id === id)
  if (session !== undefined) return context.json(await skills.why(name, session))
  const ids = sessions.map(each => each.id).join(', ')
  const reason = `there is no conversation ${quote(id)}; there are: ${ids === '' ? 'none' : ids}`
  return fail(context, 404, 'NOT_FOUND', reason)
}

async function getFile(context: Context, skills: SkillRuntime): Promise<Response> {
  const name = context.req.param('name') ?? ''
  const path = context.req.query('path') ?? ''
  const skill = findMeant(name, await skills.fresh(BOUND), skills)?.skill
  const file = skill?.files.find(each => each.path === path)
  if (skill === undefined || file === undefined) {
    const reason =
      skill === undefined ? `there is no skill ${quote(name)}` : `${quote(name)} has no file ${quote(path)}`
    return fail(context, 404, 'NOT_FOUND', reason)
  }
  const { digest, size } = file
  const shown = showFile(file, await skills.readFile(skill, path))
  const text: FileText = { path, digest, size, revision: skill.revision, ...shown }
  return context.json(text)
}

function createEventRoute({ state, startId, keepAliveMs, maxEventStreams, signal }: ApiOptions) {
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
    if (open >= maxEventStreams) {
      const reason = `the limit of ${maxEventStreams} open event streams is reached; close one and retry`
      return fail(context, 503, 'TOO_MANY', reason)
    }
    const events = streamEvents({
      log: state.log,
      startId,
      lastEventId: context.req.header('last-event-id'),
      createState: () => state.present(),
      keepAliveMs,
      signal: AbortSignal.any([signal, context.req.raw.signal]),
    })
    return context.body(ReadableStream.from(encode(events)), 200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    })
  }
}
