import { SkillError, type SkillRuntime } from '@skillstoke/core'
import {
  defined,
  describeScripts,
  MAX_LOOK_MS,
  type RunTarget,
  renderCommandValue,
  runTarget,
} from '@skillstoke/core/internal'
import type { ScriptContainment, ScriptRunOptions } from '@skillstoke/core/source'
import { Hono } from 'hono'
import { z } from 'zod'
import type { RunEvent, SkillScriptsInfo } from '../client/api-types.ts'
import { body, reply, streamWork } from './api-route.ts'
import { skillName } from './review-routes.ts'

const request = z.union([
  z.strictObject({
    skill: skillName,
    command: z.string().min(1).max(64),
    input: z.record(z.string(), z.unknown()).default({}),
  }),
  z.strictObject({
    skill: skillName,
    path: z.string().min(1).max(1_000),
    args: z.array(z.string().max(10_000)).max(100).readonly().default([]),
  }),
])
type Run = z.infer<typeof request>

/** Creates the routes that list and run commands and scripts. */
export function createRunRoutes(skills: SkillRuntime, end: AbortSignal) {
  return new Hono()
    .get('/skills/:name/scripts', async context => {
      await skills.fresh({ maxWaitMs: MAX_LOOK_MS })
      const skill = skills.current.get(context.req.param('name'))
      const containment = await findContainment(skills)
      await skills.scripts.ready(skill)
      return reply<SkillScriptsInfo>(context, { ...describeScripts(skill, skills), containment })
    })
    .post('/run', body(request), context =>
      streamWork(context, end, signal => follow(context.req.valid('json'), skills, { end, signal })),
    )
}

/** @throws {SkillError} UNSUPPORTED_RUNTIME if this server cannot run scripts */
async function findContainment({ scripts }: SkillRuntime): Promise<ScriptContainment> {
  try {
    return await scripts.containment()
  } catch (cause) {
    if (!SkillError.isInstance(cause, 'INVALID_OPTION')) throw cause
    const message = 'this server does not run scripts; to run scripts, start "stoke dev" with Node'
    throw new SkillError('UNSUPPORTED_RUNTIME', message, { cause })
  }
}

// Maximum number of events that the reader has not read yet.
const MAX_BACKLOG = 2_000

/** Yields output and progress, then the end of the run. If the reader is slow, drops output and progress. */
async function* follow(
  wanted: Run,
  skills: SkillRuntime,
  { end, signal }: { readonly end: AbortSignal; readonly signal: AbortSignal },
): AsyncGenerator<RunEvent, void, undefined> {
  const start = (controller: ReadableStreamDefaultController<RunEvent>): void => {
    const tell = (event: RunEvent): void => {
      if ((controller.desiredSize ?? 0) > 0) controller.enqueue(event)
    }
    runOnce(wanted, skills, {
      signal,
      onProgress: progress => tell({ kind: 'progress', ...progress }),
      onLine: line => tell({ kind: 'line', ...line }),
    })
      .then(event => {
        controller.enqueue(event)
        controller.close()
      })
      .catch((thrown: unknown) => controller.error(thrown)) // without effect if the reader has left
  }
  try {
    yield* new ReadableStream<RunEvent>({ start }, { highWaterMark: MAX_BACKLOG })
  } catch (thrown) {
    if (!signal.aborted) throw thrown
    if (end.aborted)
      yield { kind: 'failed', code: 'CLOSED', message: 'the server was stopped', durationMs: 0 }
  }
}

async function runOnce(wanted: Run, skills: SkillRuntime, options: ScriptRunOptions): Promise<RunEvent> {
  const start = performance.now()
  const durationMs = (): number => Math.round(performance.now() - start)
  try {
    await findContainment(skills)
  } catch (thrown) {
    if (!SkillError.isInstance(thrown)) throw thrown
    return { kind: 'failed', code: thrown.code, message: thrown.message, durationMs: durationMs() }
  }
  const { revision, value, stdout, exitCode, error } = await runTarget(toTarget(wanted), skills, options)
  if (error !== undefined || revision === null)
    return { kind: 'failed', code: '', message: '', ...error, durationMs: durationMs() }
  const text = stdout ?? renderCommandValue(value)
  return { kind: 'result', text, ...defined({ exitCode }), revision, durationMs: durationMs() }
}

function toTarget(wanted: Run): RunTarget {
  if (!('command' in wanted)) return wanted
  const { skill, command, input } = wanted
  // Accepts `skill.command` too.
  return { skill, id: `${skill}.${command.slice(command.lastIndexOf('.') + 1)}`, input }
}
