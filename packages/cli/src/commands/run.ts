import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type Skill, SkillError, type SkillRuntime } from '@skillstoke/core'
import {
  defined,
  describePlace,
  describeScripts,
  isError,
  renderCommandValue,
  shortDigest,
  splitCommandId,
  toMessage,
} from '@skillstoke/core/internal'
import type { CommandProgress, ScriptFileRun, ScriptLine, ScriptRunOptions } from '@skillstoke/core/source'
import type { Config } from '../config/config.ts'
import { describeJsonFault } from '../config/json-fault.ts'
import { openSkills } from '../skills/open-skills.ts'
import { toCommandLine } from '../terminal/command-line.ts'
import { EXIT_FINDINGS, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, UsageError } from '../terminal/exit-code.ts'
import {
  createPaint,
  formatTable,
  type Paint,
  printJson,
  printLine,
  shorten,
  toAdvice,
  toTerminalLine,
  toTerminalOutput,
} from '../terminal/output.ts'
import { findProgramName } from '../terminal/program-name.ts'
import { listenForSignals } from '../terminal/signals.ts'

export interface RunFlags {
  readonly json?: boolean
  /** JSON text, or `-` for standard input, or `@` followed by a file path. */
  readonly input?: string
  /** Time limit in seconds. */
  readonly timeout?: number
  /** Whether to run the target again after each save. */
  readonly watch?: boolean
}

/** What `stoke run` does: run a command, run a script with arguments, or list the commands and scripts of a skill. */
type Target =
  | { readonly kind: 'command'; readonly skill: string; readonly id: string; readonly input: unknown }
  | {
      readonly kind: 'script'
      readonly skill: string
      readonly path: string
      readonly args: readonly string[]
    }
  | { readonly kind: 'list'; readonly skill: string }

/** Result of one run, as `--json` prints it. */
interface RunResult {
  readonly target: string
  readonly revision: string | null
  readonly ok: boolean
  readonly value?: unknown
  readonly exitCode?: number | null
  readonly stdout?: string
  readonly stderr?: string
  readonly error?: { readonly code: string; readonly message: string }
  readonly durationMs: number
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
): Promise<number> {
  const end = new AbortController()
  const stopSignals = listenForSignals(() => end.abort())
  try {
    await using skills = await openSkills(config, {
      watching: flags.watch ? 'auto' : 'off',
      polling: 'manual',
      runsScripts: 'required',
    })
    const target = await toTarget(named, path, args, flags.input, skills)
    if (target.kind === 'list') {
      const skill = skills.current.get(target.skill)
      // Loads the code before listing it, because some problems appear only when code is loaded.
      await skills.scripts.reload(skill.name)
      return listScripts(skill, skills, config, flags.json === true)
    }
    await noteContainment(skills, config)
    const runner = new Runner(skills, config, flags, end.signal)
    return flags.watch ? await runner.watch(target) : await runner.run(target)
  } catch (thrown) {
    if (!end.signal.aborted || thrown !== end.signal.reason) throw thrown
    process.stderr.write('interrupted\n')
    return EXIT_INTERRUPTED
  } finally {
    stopSignals()
  }
}

/**
 * Warns if no sandbox is used. Without a sandbox, Node's permission checks do not block the network, signals or other
 * programs.
 */
async function noteContainment({ scripts }: SkillRuntime, { hasColor }: Config): Promise<void> {
  const { kind, detail } = await scripts.containment()
  if (kind === 'permissions')
    process.stderr.write(
      createPaint(hasColor)(
        'yellow',
        `note: no sandbox, only the permissions of Node contain the script: ${detail}\n`,
      ),
    )
}

class Runner {
  readonly #skills: SkillRuntime
  readonly #config: Config
  readonly #flags: RunFlags
  readonly #paint: Paint
  readonly #signal: AbortSignal
  #hasProgress = false

  constructor(skills: SkillRuntime, config: Config, flags: RunFlags, signal: AbortSignal) {
    this.#skills = skills
    this.#config = config
    this.#flags = flags
    this.#paint = createPaint(config.hasColor)
    this.#signal = signal
  }

  /** Runs the target once, prints the result, and returns the exit code. */
  async run(target: Exclude<Target, { kind: 'list' }>): Promise<number> {
    const start = performance.now()
    const { json, timeout } = this.#flags
    const options: ScriptRunOptions = {
      signal: this.#signal,
      ...defined({ timeoutMs: timeout === undefined ? undefined : timeout * 1_000 }),
      onProgress: progress => this.#showProgress(progress),
      onLine: line => (target.kind === 'command' ? this.#showLine(line) : this.#passLine(line)),
    }
    const shown = target.kind === 'command' ? target.id : `${target.skill}/${target.path}`
    const result = await this.#attempt(target, options)
    const durationMs = Math.round(performance.now() - start)
    this.#endProgress()
    this.#noteProblems(target, result)
    if (json) printJson({ target: shown, ...result, durationMs } satisfies RunResult)
    else this.#print(target, result)
    return result.error !== undefined && USAGE_CODES.includes(result.error.code)
      ? EXIT_USAGE
      : result.ok
        ? EXIT_OK
        : EXIT_FINDINGS
  }

  /**
   * Runs the target now, and again after each change of the skill, until a signal arrives. If the skill changes during
   * a run, runs the target once more after that run.
   */
  async watch(target: Exclude<Target, { kind: 'list' }>): Promise<number> {
    let last = (await this.#skills.fresh()).find(target.skill)
    await this.run(target)
    for await (const generation of this.#skills.watch(this.#signal)) {
      const skill = generation.find(target.skill)
      if (skill === last) continue
      last = skill
      if (skill === undefined) {
        process.stderr.write(`${target.skill} was removed\n`)
        continue
      }
      process.stderr.write(
        this.#paint('dim', `--- ${toTerminalLine(skill.name)} ${shortDigest(skill.revision)}\n`),
      )
      await this.run(target)
    }
    return EXIT_OK
  }

  /** Prints the problems of the newest code. If older code ran because of these problems, prints a note. */
  #noteProblems(
    target: Exclude<Target, { kind: 'list' }>,
    { revision: ran, error }: Pick<RunResult, 'revision' | 'error'>,
  ): void {
    if (target.kind !== 'command') return
    const { problems = [] } = this.#skills.scripts.status().find(each => each.skill === target.skill) ?? {}
    const isTold = (text = ''): boolean => error?.message.includes(text) === true
    for (const problem of problems) {
      const { message, fix } = problem
      if (isTold(message) && isTold(fix)) continue
      const isInTheWay = isError(problem) || problem.code === 'CAPABILITY_NOT_GRANTED'
      const note = `${toTerminalLine(describePlace(problem))} ${toTerminalLine(message)}`.trim()
      process.stderr.write(`${this.#paint('yellow', isInTheWay ? 'not loaded:' : 'note:')} ${note}\n`)
      if (fix !== undefined)
        process.stderr.write(this.#paint('dim', `  fix: ${toAdvice(fix, this.#config.options)}\n`))
    }
    if (ran !== null && ran !== this.#skills.current.find(target.skill)?.revision)
      process.stderr.write(
        `${this.#paint('yellow', 'ran:')} ${shortDigest(ran as `sha256:${string}`)}, the last revision that worked\n`,
      )
  }

  async #attempt(
    target: Exclude<Target, { kind: 'list' }>,
    options: ScriptRunOptions,
  ): Promise<Omit<RunResult, 'target' | 'durationMs'>> {
    try {
      if (target.kind === 'command') {
        const { value, revision } = await this.#skills.scripts.execute(target.id, target.input, options)
        return { ok: true, revision, value: value ?? null }
      }
      const { exitCode, revision, stdout, stderr } = await this.#skills.scripts.run(
        target.skill,
        target.path,
        target.args,
        options,
      )
      return { ok: exitCode === 0, revision, exitCode: exitCode ?? null, stdout, stderr }
    } catch (thrown) {
      if (!SkillError.isInstance(thrown)) throw thrown
      const revision = this.#findRevision(target, thrown)
      const error = { code: thrown.code, message: thrown.message }
      return { ...toKeptResult(thrown), ok: false, revision, error }
    }
  }

  /** Returns the revision of the failed code, or `null` if no code was started. */
  #findRevision(target: Exclude<Target, { kind: 'list' }>, { code }: SkillError): string | null {
    if (USAGE_CODES.includes(code)) return null
    if (target.kind === 'script') return this.#skills.current.find(target.skill)?.revision ?? null
    return this.#skills.scripts.status().find(each => each.skill === target.skill)?.revision ?? null
  }

  #print(target: Target, { ok, value, exitCode, error }: Omit<RunResult, 'target' | 'durationMs'>): void {
    if (error !== undefined) {
      process.stderr.write(
        `${this.#paint('red', 'error')}: ${toAdvice(error.message, this.#config.options)}\n`,
      )
      if (error.message.includes(GRANT_EXEC)) this.#printGrant(target.skill, 'exec')
    }
    if (target.kind === 'command' && (error === undefined || value !== undefined))
      printLine(toTerminalOutput(renderCommandValue(value)))
    else if (error === undefined && !ok)
      process.stderr.write(`${exitCode === null ? 'ended by a signal' : `exit code ${exitCode}`}\n`)
  }

  /** Prints the `stoke grant` command, ready to paste after a review. */
  #printGrant(skill: string, capability: string): void {
    const command = toCommandLine(['grant', skill, capability, ...this.#config.options])
    process.stderr.write(
      this.#paint(
        'dim',
        `  fix: read the script first, then decide: ${findProgramName()} ${toTerminalLine(command)}\n`,
      ),
    )
  }

  /** Prints an output line of a command to standard error, because the line is not part of the result. */
  #showLine({ stream, text: line }: ScriptLine): void {
    if (this.#flags.json) return
    this.#endProgress()
    process.stderr.write(`${this.#paint('dim', `${stream}:`)} ${toTerminalOutput(line)}\n`)
  }

  /**
   * Prints an output line of a script to the stream that the script used, because the output of a script is its result.
   */
  #passLine({ stream, text: line }: ScriptLine): void {
    if (this.#flags.json) return
    const output = stream === 'stdout' ? process.stdout : process.stderr
    output.write(`${toTerminalOutput(line)}\n`)
  }

  #showProgress({ done, total, message = '' }: CommandProgress): void {
    if (this.#flags.json) return
    const part = total === undefined || total <= 0 ? String(done) : `${Math.round((done / total) * 100)}%`
    const line = `${part} ${shorten(message, 80)}`.trimEnd()
    if (!this.#config.isInteractive) process.stderr.write(`${line}\n`)
    else {
      process.stderr.write(`\r\u001b[K${line}`)
      this.#hasProgress = true
    }
  }

  #endProgress(): void {
    if (this.#hasProgress) process.stderr.write('\r\u001b[K')
    this.#hasProgress = false
  }
}

/** Part of the error message for a script that no sandbox can confine. Such a script runs only if "exec" is granted. */
const GRANT_EXEC = 'grant "exec" to the skill'

/** Codes of errors that are caused by the input of the user and not by the script. */
const USAGE_CODES: readonly string[] = [
  'INPUT_INVALID',
  'COMMAND_NOT_FOUND',
  'SKILL_NOT_FOUND',
  'FILE_NOT_FOUND',
  'SCRIPT_REFUSED',
]

async function toTarget(
  target: string,
  path: string | undefined,
  args: readonly string[],
  input: string | undefined,
  skills: SkillRuntime,
): Promise<Target> {
  if (path !== undefined) {
    const isCommand = (id: string): boolean => skills.scripts.find(id) !== undefined
    const meant = [target, `${target}.${path}`].find(isCommand)
    if (meant !== undefined)
      throw new UsageError(`a command takes its input as JSON; run: stoke run ${meant} --input '{...}'`)
    if (input !== undefined)
      throw new UsageError('--input is for commands; pass arguments to a script after "--"')
    return { kind: 'script', skill: target, path, args }
  }
  const parts = splitCommandId(target)
  if (skills.current.find(target) !== undefined || parts === undefined) return { kind: 'list', skill: target }
  return { kind: 'command', skill: parts.skill, id: target, input: await readInput(input ?? '{}') }
}

async function readInput(given: string): Promise<unknown> {
  const json =
    given === '-' ? await text(process.stdin) : given.startsWith('@') ? await readText(given.slice(1)) : given
  try {
    return JSON.parse(json) as unknown
  } catch (thrown) {
    throw new UsageError(
      `--input is not valid JSON: ${describeJsonFault(thrown)}; use for example --input '{"path": "."}', @file.json, or - for standard input`,
      { cause: thrown },
    )
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    throw new UsageError(`--input names a file that cannot be read: ${toMessage(thrown)}`, { cause: thrown })
  }
}

/** Prints the commands and scripts of a skill. */
function listScripts(
  skill: Skill,
  skills: SkillRuntime,
  { hasColor, options }: Config,
  isJson: boolean,
): number {
  const { commands, scripts, granted, problems } = describeScripts(skill, skills)
  if (isJson) {
    printJson({ skill: skill.name, commands, scripts, granted, problems })
    return EXIT_OK
  }
  const paint = createPaint(hasColor)
  for (const problem of problems) {
    const { message, fix } = problem
    process.stderr.write(
      `${paint('yellow', 'note')} ${toTerminalLine(describePlace(problem))} ${toTerminalLine(message)}\n`,
    )
    if (fix !== undefined) process.stderr.write(paint('dim', `  fix: ${toAdvice(fix, options)}\n`))
  }
  if (commands.length + scripts.length === 0) printLine(`${toTerminalLine(skill.name)} has nothing to run`)
  const rows = commands.map(({ id, description, inputSchema }) => [
    paint('bold', toTerminalLine(id)),
    `${shorten(description, 100)}  ${paint('dim', shorten(JSON.stringify(inputSchema), 200))}`,
  ])
  if (rows.length > 0) printLine(formatTable(rows))
  for (const path of scripts) printLine(toTerminalLine(path))
  if (granted.length > 0) printLine(paint('dim', `granted: ${granted.join(' ')}`))
  return EXIT_OK
}

/** If a script succeeded but left what no script may leave, its result is in the error. */
function toKeptResult({ data }: SkillError): Pick<RunResult, 'value' | 'exitCode' | 'stdout' | 'stderr'> {
  const result = data['result'] as { readonly value: unknown } | ScriptFileRun | undefined
  if (result === undefined) return {}
  if (!('stdout' in result)) return { value: result.value ?? null }
  const { exitCode, stdout, stderr } = result
  return { exitCode: exitCode ?? null, stdout, stderr }
}
