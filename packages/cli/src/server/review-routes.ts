import type { SkillRuntime } from '@skillstoke/core'
import type { Context, Hono } from 'hono'
import { z } from 'zod'
import type { SkillHistory } from '../client/api-types.ts'
import { DECISION_VERBS, type DecisionVerb, GRANT_VERBS, type GrantVerb } from '../client/decision-verbs.ts'
import { decideSkill } from '../decide-skill.ts'
import { currentUser } from '../open-skills.ts'
import { answer, describeFaults, fail, readJson } from './api-failure.ts'
import { toRow } from './skill-rows.ts'

const decision = z.strictObject({
  verb: z.enum(DECISION_VERBS),
  skill: z.string().min(1).max(400),
  revision: z.string().max(80).optional(),
  note: z.string().max(500).optional(),
  confirmHidden: z.boolean().optional(),
})
const grant = z.strictObject({
  verb: z.enum(GRANT_VERBS),
  skill: z.string().min(1).max(400),
  capabilities: z.array(z.string().max(1_000)).min(1).max(50),
  revision: z.string().max(80).optional(),
})
const rollback = z.strictObject({
  skill: z.string().min(1).max(400),
  revision: z.string().max(80),
  confirmHidden: z.boolean().optional(),
})

/** Whether a request with this verb must name the revision that the caller has seen. */
const NEEDS_REVISION: Readonly<Record<DecisionVerb | GrantVerb, boolean>> = {
  approve: true,
  reject: true,
  pin: true,
  unpin: false,
  enable: false,
  disable: false,
  grant: true,
  revoke: false,
}

function failWithout(context: Context, verb: string): Response {
  const message = `revision: ${verb} needs the whole digest of the revision that was read`
  return fail(context, 400, 'INVALID_REQUEST', message)
}

/** Adds the routes for decisions, grants, rollback and the history. */
export function addReviewRoutes(api: Hono, skills: SkillRuntime): void {
  api.post('/decide', async context => {
    const parsed = decision.safeParse(await readJson(context))
    if (!parsed.success) return fail(context, 400, 'INVALID_REQUEST', describeFaults(parsed.error))
    const { note, revision, confirmHidden = false, ...wish } = parsed.data
    if (NEEDS_REVISION[wish.verb] && revision === undefined) return failWithout(context, wish.verb)
    const given = { ...(note === undefined ? {} : { note }), ...(revision === undefined ? {} : { revision }) }
    return await answer(context, async () =>
      toRow(await decideSkill({ ...wish, ...given, confirmHidden, by: currentUser() }, skills)),
    )
  })
  api.post('/grant', async context => {
    const parsed = grant.safeParse(await readJson(context))
    if (!parsed.success) return fail(context, 400, 'INVALID_REQUEST', describeFaults(parsed.error))
    const { verb, skill, capabilities, revision } = parsed.data
    if (NEEDS_REVISION[verb] && revision === undefined) return failWithout(context, verb)
    // `revoke` applies to all revisions of a skill.
    const bound = verb === 'revoke' || revision === undefined ? {} : { revision }
    const options = { by: currentUser(), ...bound }
    return await answer(context, async () => toRow(await skills.review[verb](skill, capabilities, options)))
  })
  api.post('/rollback', async context => {
    const parsed = rollback.safeParse(await readJson(context))
    if (!parsed.success) return fail(context, 400, 'INVALID_REQUEST', describeFaults(parsed.error))
    const { skill, revision, confirmHidden = false } = parsed.data
    const options = { by: currentUser(), confirmHidden, revision }
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
