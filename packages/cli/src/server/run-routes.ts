import { SkillError, type SkillRuntime } from '@skillstoke/core'
import { describeScripts, MAX_LOOK_MS, renderCommandValue } from '@skillstoke/core/internal'
import type { ScriptContainment, ScriptRunOptions } from '@skillstoke/core/source'
import { Hono } from 'hono'
import { z } from 'zod'
import type { RunEvent, SkillScriptsInfo } from '../client/api-types.ts'
import { body, reply, streamJson } from './api-route.ts'
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

// Interval of blank lines, which keep the connection of a run open.
const KEEP_ALIVE_MS = 15_000

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
    .post('/run', body(request), context => {
      const signal = AbortSignal.any([end, context.req.raw.signal])
      return streamJson(context, streamRun(context.req.valid('json'), skills, signal))
    })
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

/** Streams one line per event. If the reader closes the stream, the run stops. */
function streamRun(wanted: Run, skills: SkillRuntime, outer: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const left = new AbortController()
  const signal = AbortSignal.any([outer, left.signal])
  return new ReadableStream<Uint8Array>({
    async start(controller) {
      const write = (text: string): void => {
        // If the reader is slow, drops output and progress. Never drops the result.
        if (!signal.aborted && (controller.desiredSize ?? 0) > -MAX_BACKLOG)
          controller.enqueue(encoder.encode(text))
      }
      const timer = setInterval(() => write('\n'), KEEP_ALIVE_MS)
      const tell = (event: RunEvent): void => write(`${JSON.stringify(event)}\n`)
      try {
        const last = await runOnce(wanted, skills, {
          signal,
          onProgress: progress => tell({ kind: 'progress', ...progress }),
          onLine: line => tell({ kind: 'line', ...line }),
        })
        if (!signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(last)}\n`))
        if (!left.signal.aborted) controller.close()
      } catch (thrown) {
        if (outer.aborted && !left.signal.aborted) {
          const last: RunEvent = {
            kind: 'failed',
            code: 'CLOSED',
            message: 'the server was stopped',
            durationMs: 0,
          }
          controller.enqueue(encoder.encode(`${JSON.stringify(last)}\n`))
          controller.close()
        } else if (!left.signal.aborted) controller.error(thrown)
      } finally {
        clearInterval(timer)
      }
    },
    cancel() {
      left.abort(new SkillError('CLOSED', 'the reader closed the stream'))
    },
  })
}

// Maximum number of chunks that the reader has not read yet.
const MAX_BACKLOG = 2_000

async function runOnce(wanted: Run, skills: SkillRuntime, options: ScriptRunOptions): Promise<RunEvent> {
  const start = performance.now()
  const duration = (): { readonly durationMs: number } => ({
    durationMs: Math.round(performance.now() - start),
  })
  try {
    await findContainment(skills)
    if ('command' in wanted) {
      // Accepts `skill.command` too.
      const id = `${wanted.skill}.${wanted.command.slice(wanted.command.lastIndexOf('.') + 1)}`
      const { value, revision } = await skills.scripts.execute(id, wanted.input, options)
      return { kind: 'result', text: renderCommandValue(value), revision, ...duration() }
    }
    const { exitCode, stdout, revision } = await skills.scripts.run(
      wanted.skill,
      wanted.path,
      wanted.args,
      options,
    )
    return { kind: 'result', text: stdout, exitCode: exitCode ?? null, revision, ...duration() }
  } catch (thrown) {
    if (!SkillError.isInstance(thrown)) throw thrown
    return { kind: 'failed', code: thrown.code, message: thrown.message, ...duration() }
  }
}
