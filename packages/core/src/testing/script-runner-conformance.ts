import { SkillError } from '../index.ts'
import { portableHasher, type ScriptProgram, type ScriptRunner, type ScriptScan } from '../source-entry.ts'
import type { ConformanceCase } from './conformance.ts'

const HEAD = "import { defineCommand } from 'skillstoke/command'\n"

/**
 * The rules of `ScriptRunner` as test cases, for any test runner. Call `check` with a fresh runner for each case, and
 * close the runner.
 *
 * @example
 * ```ts
 * import { scriptRunnerConformance } from '@skillstoke/core/testing'
 * import { childProcesses } from '@skillstoke/scripts'
 *
 * for (const { check } of scriptRunnerConformance.slice(0, 2)) {
 *   const runner = childProcesses()
 *   await check(runner)
 *   await runner.close()
 * }
 * ```
 */
export const scriptRunnerConformance: readonly ConformanceCase<ScriptRunner>[] = [
  {
    name: 'finds commands without running any code',
    async check(runner) {
      const { scan } = await prepare(runner, `${HEAD}throw new Error('it ran')\n${command('one', '1')}`)
      assert(
        scan.isComplete && scan.commands.map(({ id }) => id).join() === 'skill.one',
        'the command is not found',
      )
    },
  },
  {
    name: 'loads modules, runs commands, and returns their results',
    async check(runner) {
      const loaded = await load(runner, `${HEAD}${command('echo', 'input')}`)
      const value = await loaded.call('echo', { text: 'äöü', list: [1, null] })
      assert(
        JSON.stringify(value) === '{"text":"äöü","list":[1,null]}',
        `the command returned ${JSON.stringify(value)}`,
      )
      await loaded.close()
    },
  },
  {
    name: 'reports the file and line of a module that does not load',
    async check(runner) {
      const { program, scan } = await prepare(
        runner,
        `${HEAD}\nthrow new Error('top')\n${command('one', '1')}`,
      )
      const outcome = await runner.load(program, scan)
      assert(outcome.kind === 'failed', 'it has loaded')
      const [problem] = outcome.kind === 'failed' ? outcome.diagnostics : []
      assert(
        problem?.path === 'scripts/main.js' && problem.line === 3,
        `it reported ${JSON.stringify(problem)}`,
      )
    },
  },
  {
    name: 'refuses an invalid input and names its fields',
    async check(runner) {
      const loaded = await load(
        runner,
        `${HEAD}${command('one', '1', '{ type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false }')}`,
      )
      const error = await failure(loaded.call('one', { b: 1 }), 'INPUT_INVALID')
      assert(error.message.includes('"a"') && error.message.includes('"b"'), error.message)
      await loaded.close()
    },
  },
  {
    name: 'reports the error of a command, and stays usable',
    async check(runner) {
      const loaded = await load(
        runner,
        `${HEAD}${command('one', '{ if (input.fail) throw new Error("broken"); return 1 }')}`,
      )
      const error = await failure(loaded.call('one', { fail: true }), 'SCRIPT_FAILED')
      assert(error.message.includes('broken'), error.message)
      assert((await loaded.call('one', {})) === 1, 'it does not stay usable')
      await loaded.close()
    },
  },
  {
    name: 'ends calls at their timeout, and calls that are aborted',
    async check(runner) {
      const loaded = await load(
        runner,
        `${HEAD}${command('one', 'new Promise(() => setInterval(() => undefined, 1000))')}`,
      )
      await failure(loaded.call('one', {}, { timeoutMs: 100 }), 'TIMED_OUT')
      const reason = new Error('enough')
      const controller = new AbortController()
      controller.abort(reason)
      const thrown: unknown = await loaded.call('one', {}, { signal: controller.signal }).then(
        () => undefined,
        (error: unknown) => error,
      )
      assert(thrown === reason, 'the reason of the signal is not thrown')
      await loaded.close()
    },
  },
  {
    name: 'reports progress and lines in order',
    async check(runner) {
      const loaded = await load(
        runner,
        `${HEAD}${command('one', '{ context.progress(1, 2, "half"); context.log("logged"); return 1 }')}`,
      )
      const seen: string[] = []
      await loaded.call(
        'one',
        {},
        {
          onProgress: ({ done, total, message }) => void seen.push(`${done}/${total} ${message}`),
          onLine: ({ stream, text }) => void seen.push(`${stream} ${text}`),
        },
      )
      assert(seen.join() === '1/2 half,log logged', `it reported ${seen.join()}`)
      await loaded.close()
    },
  },
  {
    name: 'ends running calls before it is closed, and accepts no further calls',
    async check(runner) {
      const loaded = await load(
        runner,
        `${HEAD}${command('one', '{ context.log("begun"); return new Promise(resolve => setTimeout(resolve, 200, "ended")) }')}`,
      )
      const begun = new Promise<void>(resolve => {
        void loaded
          .call('one', {}, { onLine: () => resolve() })
          .then(value => assert(value === 'ended', 'the call was cut off'))
      })
      await begun
      await loaded.close()
      await failure(loaded.call('one', {}), 'CLOSED')
    },
  },
  {
    name: 'runs no file outside of the skill',
    async check(runner) {
      const { program } = await prepare(runner, HEAD)
      await failure(runner.runFile(program, 'scripts/none.js', []), 'FILE_NOT_FOUND')
    },
  },
]

function command(name: string, body: string, input = '{ type: "object" }'): string {
  return `export const ${name} = defineCommand({ name: '${name}', description: 'Does ${name}.', input: ${input}, run: (input, context) => ${body} })\n`
}

async function prepare(
  runner: ScriptRunner,
  text: string,
): Promise<{ readonly program: ScriptProgram; readonly scan: ScriptScan }> {
  const bytes = new TextEncoder().encode(text)
  const revision = `sha256:${portableHasher.sha256(text)}` as const
  const file = { path: 'scripts/main.js', digest: revision, size: bytes.length, isExecutable: false }
  const program: ScriptProgram = {
    skill: 'skill',
    revision,
    files: [file],
    grants: [],
    readFile: async () => bytes,
  }
  return { program, scan: await runner.scan('skill', [{ path: file.path, text, digest: revision }]) }
}

async function load(
  runner: ScriptRunner,
  text: string,
): Promise<Extract<Awaited<ReturnType<ScriptRunner['load']>>, { kind: 'loaded' }>['program']> {
  const { program, scan } = await prepare(runner, text)
  const outcome = await runner.load(program, scan)
  if (outcome.kind === 'loaded') return outcome.program
  throw new Error(`the modules did not load: ${JSON.stringify(outcome.diagnostics)}`)
}

async function failure(work: Promise<unknown>, code: SkillError['code']): Promise<SkillError> {
  const thrown: unknown = await work.then(
    value => new Error(`the call succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  )
  if (SkillError.isInstance(thrown, code)) return thrown
  throw new Error(`expected ${code}, got ${String(thrown)}`)
}

function assert(isTrue: boolean, message: string): void {
  if (!isTrue) throw new Error(message)
}
