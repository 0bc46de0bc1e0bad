import { text } from 'node:stream/consumers'
import type { Diagnostic, Skill, SkillRuntime, ToolProgress } from '@skillstoke/core'
import {
  defined,
  describePlace,
  describeScripts,
  isError,
  type RunOutcome,
  type RunTarget,
  renderCommandValue,
  runTarget,
  shortDigest,
  splitCommandId,
  USAGE_CODES,
} from '@skillstoke/core/internal'
import type { ScriptLine, ScriptRunOptions } from '@skillstoke/core/source'
import type { Config } from '../config/config.ts'
import { describeJsonFault } from '../config/json-fault.ts'
import { readText } from '../config/read-text.ts'
import { openSkills } from '../skills/open-skills.ts'
import type { Answer } from '../terminal/answer.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, UsageError } from '../terminal/exit-code.ts'
import {
  formatTable,
  paint,
  printJson,
  printLine,
  shorten,
  toAdvice,
  toTerminalLine,
  toTerminalOutput,
} from '../terminal/output.ts'
import { findProgramName } from '../terminal/program-name.ts'
import { abortOnSignal } from '../terminal/signals.ts'

export interface RunFlags {
  readonly json?: boolean
  /** JSON text, or `-` for standard input, or `@` followed by a file path. */
  readonly input?: string
  /** Time limit in seconds. */
  readonly timeout?: number
  /** Whether to run the target again after each save. */
  readonly watch?: boolean
}

/**
 * Implements `stoke run`. Prints the result on standard output, and everything else on standard error. Exits with 1 if
 * the script fails, and with 130 if a signal interrupts it. Exits with 2 if the target does not exist or its input is
 * invalid.
 */
export async function run(
  config: Config,
  flags: RunFlags,
  named: string,
  path: string | undefined,
  args: readonly string[],
): Promise<Answer | number> {
  using end = abortOnSignal()
  try {
    await using skills = await openSkills(config, {
      watching: flags.watch ? 'auto' : 'off',
      polling: 'manual',
      runsScripts: 'required',
    })
    const target = await toTarget(named, path, args, flags.input, skills)
    if (target === undefined) {
      const skill = skills.current.get(named)
      // Loads the code before listing it, because some problems appear only when code is loaded.
      await skills.scripts.reload(skill.name)
      return listScripts(skill, skills, config)
    }
    await noteContainment(skills)
    const { signal } = end
    const run: Run = { target, skills, config, flags, signal }
    return flags.watch ? await watch(run) : await runOnce(run)
  } catch (thrown) {
    if (!end.signal.aborted || thrown !== end.signal.reason) throw thrown
    process.stderr.write('interrupted\n')
    return EXIT_INTERRUPTED
  }
}

/**
 * Warns if no sandbox is used. Without a sandbox, Node's permission checks do not block the network, signals or other
 * programs.
 */
async function noteContainment({ scripts }: SkillRuntime): Promise<void> {
  const { kind, detail } = await scripts.containment()
  if (kind === 'permissions')
    process.stderr.write(
      paint('yellow', `note: no sandbox, only the permissions of Node contain the script: ${detail}\n`),
    )
}

interface Run {
  readonly target: RunTarget
  readonly skills: SkillRuntime
  readonly config: Config
  readonly flags: RunFlags
  readonly signal: AbortSignal
}

/** Runs the target once, prints the result, and returns the exit code. */
async function runOnce(run: Run): Promise<number> {
  const { target, skills, flags, signal } = run
  const start = performance.now()
  const output = createOutput(run)
  const timeoutMs = flags.timeout === undefined ? undefined : flags.timeout * 1_000
  const outcome = await runTarget(target, skills, { signal, ...defined({ timeoutMs }), ...output.options })
  const durationMs = Math.round(performance.now() - start)
  output.end()
  if ('id' in target) noteProblems(run, outcome)
  const shown = 'id' in target ? target.id : `${target.skill}/${target.path}`
  if (flags.json) printJson({ target: shown, ...outcome, durationMs })
  else print(run, outcome)
  if (outcome.error !== undefined && USAGE_CODES.includes(outcome.error.code)) return EXIT_USAGE
  return outcome.ok ? EXIT_OK : EXIT_FINDINGS
}

/**
 * Runs the target now, and again after each change of the skill, until a signal arrives. If the skill changes during a
 * run, runs the target once more after that run.
 */
async function watch(run: Run): Promise<number> {
  const { target, skills, signal } = run
  let last = (await skills.fresh()).find(target.skill)
  await runOnce(run)
  for await (const generation of skills.watch(signal)) {
    const skill = generation.find(target.skill)
    if (skill === last) continue
    last = skill
    if (skill === undefined) {
      process.stderr.write(`${target.skill} was removed\n`)
      continue
    }
    process.stderr.write(paint('dim', `--- ${toTerminalLine(skill.name)} ${shortDigest(skill.revision)}\n`))
    await runOnce(run)
  }
  return EXIT_OK
}

/** Prints the problems of the newest code. If older code ran because of these problems, prints a note. */
function noteProblems({ target, skills, config }: Run, { revision, error }: RunOutcome): void {
  const { problems = [] } = skills.scripts.status().find(each => each.skill === target.skill) ?? {}
  const isTold = (text = ''): boolean => error?.message.includes(text) === true
  for (const problem of problems) {
    if (isTold(problem.message) && isTold(problem.fix)) continue
    const isInTheWay = isError(problem) || problem.code === 'CAPABILITY_NOT_GRANTED'
    printProblem(problem, isInTheWay ? 'not loaded:' : 'note:', config)
  }
  if (revision !== null && revision !== skills.current.find(target.skill)?.revision)
    process.stderr.write(
      `${paint('yellow', 'ran:')} ${shortDigest(revision)}, the last revision that worked\n`,
    )
}

function printProblem(problem: Diagnostic, title: string, { options }: Config): void {
  const { message, fix } = problem
  const note = `${toTerminalLine(describePlace(problem))} ${toTerminalLine(message)}`.trim()
  process.stderr.write(`${paint('yellow', title)} ${note}\n`)
  if (fix !== undefined) process.stderr.write(paint('dim', `  fix: ${toAdvice(fix, options)}\n`))
}

function print({ target, config }: Run, { ok, value, exitCode, error }: RunOutcome): void {
  if (error !== undefined) {
    process.stderr.write(`${paint('red', 'error')}: ${toAdvice(error.message, config.options)}\n`)
    if (error.message.includes(GRANT_EXEC)) {
      // A command that can be pasted after a review.
      const command = toTerminalLine(toCommandLine(['grant', target.skill, 'exec', ...config.options]))
      const advice = `read the script first, then decide: ${findProgramName()} ${command}`
      process.stderr.write(paint('dim', `  fix: ${advice}\n`))
    }
  }
  if ('id' in target && (error === undefined || value !== undefined))
    printLine(toTerminalOutput(renderCommandValue(value)))
  else if (error === undefined && !ok)
    process.stderr.write(`${exitCode === null ? 'ended by a signal' : `exit code ${exitCode}`}\n`)
}

/** Prints the output and the progress of a run while it runs. */
function createOutput({ target, config, flags }: Run): {
  readonly options: Pick<ScriptRunOptions, 'onProgress' | 'onLine'>
  readonly end: () => void
} {
  if (flags.json) return { options: {}, end: () => undefined }
  let hasProgress = false
  const end = (): void => {
    if (hasProgress) process.stderr.write('\r\u001b[K')
    hasProgress = false
  }
  const onProgress = ({ done, total, message = '' }: ToolProgress): void => {
    const part = total === undefined || total <= 0 ? String(done) : `${Math.round((done / total) * 100)}%`
    const line = `${part} ${shorten(message, 80)}`.trimEnd()
    process.stderr.write(config.isInteractive ? `\r\u001b[K${line}` : `${line}\n`)
    hasProgress = config.isInteractive
  }
  const onLine = ({ stream, text: line }: ScriptLine): void => {
    const shown = `${toTerminalOutput(line)}\n`
    // The output of a script is its result. The output of a command is not part of its result.
    if (!('id' in target)) (stream === 'stdout' ? process.stdout : process.stderr).write(shown)
    else {
      end()
      process.stderr.write(`${paint('dim', `${stream}:`)} ${shown}`)
    }
  }
  return { options: { onProgress, onLine }, end }
}

/** Part of the error message for a script that no sandbox can confine. Such a script runs only if "exec" is granted. */
const GRANT_EXEC = 'grant "exec" to the skill'

/** Returns what to run. Returns `undefined` if only a skill is named, whose commands and scripts are then listed. */
async function toTarget(
  target: string,
  path: string | undefined,
  args: readonly string[],
  input: string | undefined,
  skills: SkillRuntime,
): Promise<RunTarget | undefined> {
  const parts = splitCommandId(target)
  const skill = skills.current.find(target) ?? skills.current.find(parts?.skill ?? target)
  // A busy machine reads the commands of a skill later.
  if (skill !== undefined) await skills.scripts.ready(skill)
  if (path !== undefined) {
    const isCommand = (id: string): boolean => skills.scripts.find(id) !== undefined
    const meant = [target, `${target}.${path}`].find(isCommand)
    if (meant !== undefined)
      throw new UsageError(`a command takes its input as JSON; run: stoke run ${meant} --input '{...}'`)
    if (input !== undefined)
      throw new UsageError('--input is for commands; pass arguments to a script after "--"')
    return { skill: target, path, args }
  }
  if (parts === undefined || skill?.name === target) return undefined
  return { skill: parts.skill, id: target, input: await readInput(input ?? '{}') }
}

async function readInput(given: string): Promise<unknown> {
  const json =
    given === '-'
      ? await text(process.stdin)
      : given.startsWith('@')
        ? readText(given.slice(1), '--input names a file that cannot be read')
        : given
  try {
    return JSON.parse(json) as unknown
  } catch (thrown) {
    throw new UsageError(
      `--input is not valid JSON: ${describeJsonFault(thrown)}; use for example --input '{"path": "."}', @file.json, or - for standard input`,
      { cause: thrown },
    )
  }
}

/** Lists the commands and scripts of a skill. */
function listScripts(skill: Skill, skills: SkillRuntime, config: Config): Answer {
  const { commands, scripts, granted, problems } = describeScripts(skill, skills)
  return {
    json: { skill: skill.name, commands, scripts, granted, problems },
    text: function* () {
      for (const problem of problems) printProblem(problem, 'note', config)
      if (commands.length + scripts.length === 0) yield `${toTerminalLine(skill.name)} has nothing to run`
      const rows = commands.map(({ id, description, inputSchema }) => [
        paint('bold', toTerminalLine(id)),
        `${shorten(description, 100)}  ${paint('dim', shorten(JSON.stringify(inputSchema), 200))}`,
      ])
      if (rows.length > 0) yield formatTable(rows)
      yield* scripts.map(toTerminalLine)
      if (granted.length > 0) yield paint('dim', `granted: ${granted.join(' ')}`)
    },
  }
}
