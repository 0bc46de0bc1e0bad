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
import { body, follow, reply, streamWork } from './api-route.ts'
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
      streamWork(context, end, signal => followRun(context.req.valid('json'), skills, { end, signal })),
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

/** Yields output and progress, then the end of the run. */
async function* followRun(
  wanted: Run,
  skills: SkillRuntime,
  { end, signal }: { readonly end: AbortSignal; readonly signal: AbortSignal },
): AsyncGenerator<RunEvent, void, undefined> {
  try {
    yield* follow<RunEvent>(report =>
      runOnce(wanted, skills, {
        signal,
        onProgress: progress => report({ kind: 'progress', ...progress }),
        onLine: line => report({ kind: 'line', ...line }),
      }),
    )
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
