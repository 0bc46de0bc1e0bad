import type { SkillRuntime, SkillScope } from '@skillstoke/core'
import { freshOrKnown, quote } from '@skillstoke/core/internal'
import type { Context, Hono } from 'hono'
import { z } from 'zod'
import type { ChatDetail } from '../client/chat-types.ts'
import { describeFaults, fail, readJson } from './api-failure.ts'
import type { LiveState } from './live-state.ts'
import { MAX_KEPT_CHATS, MAX_OPEN_CHATS, type Playground } from './playground.ts'
import { streamLines } from './stream-lines.ts'

export interface ChatRouteOptions {
  readonly playground: Playground
  readonly skills: SkillRuntime
  readonly state: LiveState
  /** Scope of the conversations. */
  readonly view: { readonly scope?: SkillScope }
  readonly keepAliveMs: number
  /** Signal that ends all turns. */
  readonly signal: AbortSignal
}

/** Maximum time that a catalog waits for continuous writes to end, in milliseconds. */
const MAX_LIST_WAIT_MS = 2_000

const request = z.strictObject({
  question: z.string(),
  conversation: z.string().min(1).max(100).optional(),
  skill: z.string().min(1).max(400).optional(),
})

/** Adds the routes of the playground. */
export function addChatRoutes(api: Hono, options: ChatRouteOptions): void {
  const { playground, skills, state, keepAliveMs } = options
  api.post('/chat', async context => {
    const parsed = request.safeParse(await readJson(context))
    if (!parsed.success) return fail(context, 400, 'INVALID_REQUEST', describeFaults(parsed.error))
    const { question, conversation, skill } = parsed.data
    if (question.trim() === '' && skill === undefined)
      return fail(
        context,
        400,
        'INVALID_REQUEST',
        'question: the question is empty; ask one, or name a skill',
      )
    if (conversation !== undefined && !playground.has(conversation)) return failUnknown(context, conversation)
    // The catalog of a new conversation then contains every skill that was saved before the request.
    await freshOrKnown(skills, MAX_LIST_WAIT_MS)
    const obstacle = skill === undefined ? undefined : await findObstacle(skill, options)
    if (obstacle !== undefined) return fail(context, 404, 'NOT_FOUND', obstacle)
    if (playground.isFull) {
      const reason = `the limit of ${MAX_OPEN_CHATS} running answers is reached; wait until one has ended`
      return fail(context, 503, 'TOO_MANY', reason)
    }
    const left = new AbortController()
    const signal = AbortSignal.any([options.signal, context.req.raw.signal, left.signal])
    const events = playground.ask({ question, conversation, skill, signal })
    return context.body(streamLines(events, { keepAliveMs, onCancel: () => left.abort() }), 200, {
      'Content-Type': 'application/x-ndjson; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    })
  })
  api.get('/chat/:id', async context => {
    const id = context.req.param('id')
    await freshOrKnown(skills, MAX_LIST_WAIT_MS)
    const conversation = await playground.open(id)
    if (conversation === undefined) return failUnknown(context, id)
    const { session, system, messages, isBusy } = conversation
    return context.json({
      ...state.infoOf(session, skills.current),
      model: playground.model,
      isAnswering: isBusy,
      system,
      messages,
      tools: session.tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })),
    } satisfies ChatDetail)
  })
}

function failUnknown(context: Context, id: string): Response {
  const reason = `there is no playground conversation ${quote(id)}; only the last ${MAX_KEPT_CHATS} since the start of dev are kept; omit "conversation" to start a new one`
  return fail(context, 404, 'NOT_FOUND', reason)
}

/** Returns the reason why conversations do not see the skill. `undefined` if they see it. */
async function findObstacle(
  name: string,
  { skills, view }: Pick<ChatRouteOptions, 'skills' | 'view'>,
): Promise<string | undefined> {
  const reader = skills.forConversation(view)
  if (skills.current.find(name) !== undefined && reader.isInScope(name)) return undefined
  const { steps } = await reader.why(name)
  return `the skill ${quote(name)} cannot be invoked: ${steps.find(({ ok }) => !ok)?.detail ?? 'it is not served'}`
}
