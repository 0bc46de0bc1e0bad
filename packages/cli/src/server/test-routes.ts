import { estimateTriggers, type SkillTests } from '@skillstoke/author'
import { listCompeting, rankSkills, readTestsOf } from '@skillstoke/author/internal'
import { defined, MAX_LOOK_MS, toMessage } from '@skillstoke/core/internal'
import { Hono } from 'hono'
import { z } from 'zod'
import type { TestRunEvent } from '../client/api-types.ts'
import { writeTest } from '../trial/add-test.ts'
import type { ModelTests } from '../trial/model-tests.ts'
import type { ApiOptions } from './api.ts'
import { body, follow, lookFirst, query, reply, streamWork } from './api-route.ts'
import { skillName } from './review-routes.ts'

/** A message of a conversation, as a test of a skill. */
const newTest = z.strictObject({
  skill: skillName,
  kind: z.enum(['fires', 'silent']),
  message: z.string().min(1).max(4_000),
})

/** Creates the routes that show, add and run the tests of a skill. */
export function createTestRoutes({ answering, state, playground, signal: end }: ApiOptions) {
  const { skills, scope } = answering
  const reader = skills.forConversation(defined({ scope }))
  const model = state.modelTests
  const isOffline = playground.model === 'offline'

  const readTests = async (name: string): Promise<SkillTests> => {
    await skills.fresh({ maxWaitMs: MAX_LOOK_MS })
    return await readTestsOf(skills.current.get(name), skills)
  }

  const run = async (name: string, options: Parameters<ModelTests['run']>[1]): Promise<TestRunEvent> => {
    try {
      const { passed, total, error } = await model.run(await readTests(name), options)
      const reason = error === undefined ? undefined : toMessage(error)
      return { kind: 'result', passed, total, ...defined({ reason }) }
    } catch (thrown) {
      return { kind: 'failed', message: toMessage(thrown) }
    }
  }

  return new Hono()
    .get('/skills/:name/tests', async context => {
      const tests = await readTests(context.req.param('name'))
      const { cases } = estimateTriggers(listCompeting(reader), tests)
      const trials = isOffline ? [] : (await model.known(tests, skills)).trials
      return reply(context, {
        /** Name of the model. Null if no model is named, so that only words can be compared. */
        model: isOffline ? null : playground.model,
        /** Number of model calls that a run would make. */
        calls: trials.filter(({ runs }) => runs === 0).length,
        faults: tests.faults,
        cases: cases.map(({ kind, message, verdict, winner, runnerUp }) => ({
          ...{ kind, message, verdict },
          /** The skill that shares most words with the message, and the next one. */
          first: winner?.skill ?? null,
          second: runnerUp?.skill ?? null,
          /** What a model did with the message, and the present catalog. Null if no model was asked. */
          trial: trials.find(each => each.kind === kind && each.message === message && each.runs > 0) ?? null,
        })),
      })
    })
    .get('/rank', lookFirst(skills), query('message'), context => {
      const { message = '' } = context.req.valid('query')
      const { ranking, isEstimated } = rankSkills(message, listCompeting(reader))
      return reply(context, { skills: isEstimated ? ranking.map(({ skill }) => skill) : [] })
    })
    .post('/tests', body(newTest), lookFirst(skills), context => {
      const { skill, ...test } = context.req.valid('json')
      return reply(context, { path: writeTest(skills.current.get(skill), test, skills) })
    })
    .post('/tests/run', body(z.strictObject({ skill: skillName })), context =>
      streamWork(context, end, signal =>
        follow<TestRunEvent>(report =>
          run(context.req.valid('json').skill, {
            signal,
            onProgress: progress => report({ kind: 'progress', ...progress }),
          }),
        ),
      ),
    )
}
