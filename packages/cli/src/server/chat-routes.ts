import { defined, quote } from '@skillstoke/core/internal'
import { Hono } from 'hono'
import { z } from 'zod'
import type { ChatDetail } from '../client/chat-types.ts'
import type { ApiOptions } from './api.ts'
import { fail } from './api-failure.ts'
import { body, lookFirst, reply, streamWork } from './api-route.ts'
import { MAX_KEPT_CHATS, MAX_OPEN_CHATS } from './playground.ts'
import { skillName } from './review-routes.ts'

const request = z.strictObject({
  /** The message to the model. May be empty if `skill` is given. */
  question: z.string(),
  /** The conversation to continue. By default a new conversation. */
  conversation: z.string().min(1).max(100).optional(),
  /** Name of a served skill, which is invoked by its slash command. */
  skill: skillName.optional(),
})

/** Creates the routes of the playground. */
export function createChatRoutes(options: ApiOptions) {
  const { playground, answering, state } = options
  const { skills } = answering
  // The catalog of a new conversation contains every skill that was saved before the request.
  return new Hono()
    .post('/chat', body(request), lookFirst(skills), async context => {
      const { question, conversation, skill } = context.req.valid('json')
      if (question.trim() === '' && skill === undefined)
        fail(400, 'INVALID_REQUEST', 'question: the question is empty; ask one, or name a skill')
      if (conversation !== undefined && !playground.has(conversation)) failUnknown(conversation)
      if (skill !== undefined) await checkInvocable(skill, options)
      if (playground.isFull)
        fail(
          503,
          'TOO_MANY',
          `the limit of ${MAX_OPEN_CHATS} running answers is reached; wait until one has ended`,
        )
      return streamWork(context, options.signal, signal =>
        playground.ask({ question, conversation, skill, signal }),
      )
    })
    .get('/chat/:id', lookFirst(skills), async context => {
      const id = context.req.param('id')
      const { session, system, messages, isBusy } = (await playground.open(id)) ?? failUnknown(id)
      return reply<ChatDetail>(context, {
        ...state.infoOf(session, skills.current),
        model: playground.model,
        isAnswering: isBusy,
        system,
        messages,
        tools: session.tools.map(({ name, description, inputSchema }) => ({
          name,
          description,
          inputSchema,
        })),
      })
    })
}

function failUnknown(id: string): never {
  return fail(
    404,
    'NOT_FOUND',
    `there is no playground conversation ${quote(id)}; only the last ${MAX_KEPT_CHATS} since the start of dev are kept; omit "conversation" to start a new one`,
  )
}

/** Fails with the reason if conversations do not see the skill. */
async function checkInvocable(name: string, { answering }: ApiOptions): Promise<void> {
  const reader = answering.skills.forConversation(defined({ scope: answering.scope }))
  if (reader.current.find(name) !== undefined && reader.isInScope(name)) return
  const { steps } = await reader.why(name)
  const reason = steps.find(({ ok }) => !ok)?.detail ?? 'it is not served'
  fail(404, 'NOT_FOUND', `the skill ${quote(name)} cannot be invoked: ${reason}`)
}
