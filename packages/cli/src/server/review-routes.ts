import { SkillError, type SkillRuntime } from '@skillstoke/core'
import type { Context, Hono } from 'hono'
import { z } from 'zod'
import type { SkillHistory } from '../client/api-types.ts'
import { decideSkill } from '../decide-skill.ts'
import { currentUser } from '../open-skills.ts'
import { fail } from './api-failure.ts'
import { toRow } from './skill-rows.ts'

const decision = z.strictObject({
  verb: z.enum(['approve', 'reject', 'pin', 'unpin', 'enable', 'disable']),
  skill: z.string().min(1).max(400),
  revision: z.string().max(80).optional(),
  note: z.string().max(500).optional(),
})
const rollback = z.strictObject({
  skill: z.string().min(1).max(400),
  revision: z.string().max(80).optional(),
})

/** What a person decides about skills, and the way back. */
export function addReviewRoutes(api: Hono, skills: SkillRuntime): void {
  api.post('/decide', async context => {
    const parsed = decision.safeParse(await readJson(context))
    if (!parsed.success) return fail(context, 400, 'INVALID_REQUEST', describe(parsed.error))
    const { note, revision, ...wish } = parsed.data
    const given = { ...(note === undefined ? {} : { note }), ...(revision === undefined ? {} : { revision }) }
    return await answer(context, async () =>
      toRow(await decideSkill({ ...wish, ...given, by: currentUser() }, skills), null),
    )
  })
  api.post('/rollback', async context => {
    const parsed = rollback.safeParse(await readJson(context))
    if (!parsed.success) return fail(context, 400, 'INVALID_REQUEST', describe(parsed.error))
    const { skill, revision } = parsed.data
    const options = { by: currentUser(), ...(revision === undefined ? {} : { revision }) }
    return await answer(context, async () => await skills.history.rollback(skill, options))
  })
  api.get('/skills/:name/history', async context => {
    const name = context.req.param('name')
    return await answer(
      context,
      async () => ({ records: await skills.history.log(name) }) satisfies SkillHistory,
    )
  })
}

async function readJson(context: Context): Promise<unknown> {
  return await context.req.json().catch(() => undefined)
}

/** What cannot be done is the caller's to know, with its reason. */
async function answer(context: Context, work: () => Promise<object>): Promise<Response> {
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
      default:
        return fail(context, 400, 'INVALID_REQUEST', thrown.message)
    }
  }
}

function describe(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join('.') || 'the body'}: ${message}`).join('; ')
}
