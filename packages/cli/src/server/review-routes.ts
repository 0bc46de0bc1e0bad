import type { SkillRuntime } from '@skillstoke/core'
import {
  DECISION_VERBS,
  type DecisionVerb,
  decideSkill,
  defined,
  GRANT_VERBS,
  type GrantVerb,
  grantSkill,
} from '@skillstoke/core/internal'
import { Hono } from 'hono'
import { z } from 'zod'
import { currentUser } from '../skills/open-skills.ts'
import { rollBack } from '../skills/roll-back.ts'
import { fail } from './api-failure.ts'
import { body, reply } from './api-route.ts'

/** Name, `source/name` or target of a skill. */
export const skillName = z.string().min(1).max(400)
const revision = z.string().max(80)

const decision = z.strictObject({
  verb: z.enum(DECISION_VERBS),
  skill: skillName,
  /** Whole digest of the revision that the caller has seen. The request fails if a newer revision exists. */
  revision: revision.optional(),
  note: z.string().max(500).optional(),
  /** Whether the caller accepts invisible characters, and scripts that are not UTF-8 text. */
  confirmHidden: z.boolean().optional(),
})
const grant = z.strictObject({
  verb: z.enum(GRANT_VERBS),
  skill: skillName,
  capabilities: z.array(z.string().max(1_000)).min(1).max(50).readonly(),
  /** Whole digest of the revision that the caller has seen. The request fails if a newer revision exists. */
  revision: revision.optional(),
})
const rollback = z.strictObject({ skill: skillName, revision, confirmHidden: z.boolean().optional() })

/** The verbs with which a request must name the revision that the caller has seen. */
const NEEDS_REVISION: readonly (DecisionVerb | GrantVerb)[] = [
  'approve',
  'reject',
  'withdraw',
  'pin',
  'grant',
]

function checkRevision({ verb, revision }: z.infer<typeof decision> | z.infer<typeof grant>): void {
  if (NEEDS_REVISION.includes(verb) && revision === undefined)
    fail(400, 'INVALID_REQUEST', `revision: ${verb} needs the whole digest of the revision that was read`)
}

/** Creates the routes for decisions, grants and rollback. */
export function createReviewRoutes(skills: SkillRuntime) {
  return new Hono()
    .post('/decide', body(decision), async context => {
      const { verb, skill, ...given } = context.req.valid('json')
      checkRevision({ verb, skill, ...given })
      return reply(context, await decideSkill({ verb, skill, ...defined(given), by: currentUser() }, skills))
    })
    .post('/grant', body(grant), async context => {
      const wish = context.req.valid('json')
      checkRevision(wish)
      const { revision, ...given } = wish
      return reply(
        context,
        await grantSkill({ ...given, ...defined({ revision }), by: currentUser() }, skills),
      )
    })
    .post('/rollback', body(rollback), async context => {
      const { skill, ...options } = context.req.valid('json')
      return reply(context, await rollBack(skill, defined(options), skills))
    })
}
