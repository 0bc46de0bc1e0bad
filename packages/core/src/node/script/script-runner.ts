import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  type Command,
  type Containment,
  checkCommandName,
  type Diagnostic,
  type FileRun,
  type ProgramLoad,
  type RunOptions,
  type ScriptProgram,
  type ScriptRunner,
  type ScriptScan,
  type ScriptText,
  SkillError,
} from '../../index.ts'
import type { CommandFrame, LoadFrame } from './child/frames.ts'
import { findInterpreter } from './interpreter.ts'
import { type Launch, SYSTEM_PATH, toNodeLaunch, type View, withLimits } from './launch.ts'
import { DEFAULT_OUTPUT_LIMITS, type OutputLimits } from './output.ts'
import type { PlainJavaScript } from './plain-javascript.ts'
import { IdleProcesses, type PooledProcess, PooledProgram } from './pooled-program.ts'
import type { ProgramFolder } from './program-folder.ts'
import { ProgramFolders } from './program-folders.ts'
import { createRedaction } from './redact.ts'
import { runProgram } from './run-file.ts'
import { findProgram, Sandbox, type SandboxMode } from './sandbox.ts'
import { scanScripts } from './scan.ts'
import { type ScriptAccess, toEnvironment, toScriptAccess } from './script-access.ts'
import { type LoadFrameOutcome, ScriptProcess } from './script-process.ts'
import { Turns } from './turns.ts'

export interface ScriptRunnerOptions {
  /** Whether the operating system contains scripts besides the permissions of Node. @default 'auto' */
  readonly sandbox?: SandboxMode
  /** What `fs.read` and `fs.write` without a path are about. @default the working directory */
  readonly workspace?: string
  /** Where revisions are written for processes to read. @default a folder for temporary files */
  readonly directory?: string
  /** Where granted variables are taken from, and `PATH`. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** How many calls of one skill run at the same time; others wait. @default 4 */
  readonly maxProcesses?: number
  /** How many processes of all skills are kept that do nothing. @default 8 */
  readonly maxIdleProcesses?: number
  /** How long they are kept, in milliseconds. @default 60,000 */
  readonly idleMs?: number
  /** After how many calls a process is replaced. @default 1,000 */
  readonly maxCalls?: number
  /** How long the modules of a skill may take to load, in milliseconds. @default 5,000 */
  readonly loadTimeoutMs?: number
  /** How long calls may go on after newer code has taken the place of theirs, in milliseconds. @default 30,000 */
  readonly drainMs?: number
  readonly limits?: Partial<OutputLimits>
}

type Defaults = Required<Omit<ScriptRunnerOptions, 'workspace' | 'directory' | 'env' | 'limits'>>

export const DEFAULT_SCRIPT_RUNNER_OPTIONS: Readonly<Defaults> = Object.freeze({
  sandbox: 'auto',
  maxProcesses: 4,
  maxIdleProcesses: 8,
  idleMs: 60_000,
  maxCalls: 1_000,
  loadTimeoutMs: 5_000,
  drainMs: 30_000,
})

const MAIN = fileURLToPath(
  new URL(`./child/main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url),
)
/** What scripts may import by name, and what a process reads of us. */
const PROVIDED = once(() => {
  const command = new URL(`../../script/define-command${MAIN.slice(MAIN.lastIndexOf('.'))}`, import.meta.url)
  return {
    modules: {
      'skillstoke/command': command.href,
      zod: import.meta.resolve('zod'),
      'zod/mini': import.meta.resolve('zod/mini'),
      'zod/v4': import.meta.resolve('zod/v4'),
    },
    validator: import.meta.resolve('@cfworker/json-schema'),
    readable: [
      dirname(MAIN),
      fileURLToPath(command),
      packageFolder(import.meta.resolve('zod/package.json')),
      packageFolder(import.meta.resolve('@cfworker/json-schema/package.json')),
    ],
  }
})

/**
 * Runs the code of skills in processes of their own: contained by the permissions of Node, and by bubblewrap where the
 * machine has it. To be passed to `createSkillRuntime` as `scripts`.
 * @throws {SkillError} INVALID_OPTION
 */
export function childProcesses(options: ScriptRunnerOptions = {}): ScriptRunner {
  return new ChildProcessRunner(options)
}

class ChildProcessRunner implements ScriptRunner {
  readonly #options: ScriptRunnerOptions & Readonly<Defaults>
  readonly #env: Readonly<Record<string, string | undefined>>
  readonly #limits: OutputLimits
  readonly #sandbox: Sandbox
  readonly #folders: ProgramFolders
  readonly #idle: IdleProcesses
  readonly #programs = new Set<PooledProgram>()
  readonly #stop = new AbortController()
  /** Many skills may want to be loaded at once; a machine has few cores. */
  readonly #loads = new Turns(MAX_LOADS)
  #plain: Promise<PlainJavaScript> | undefined

  constructor(options: ScriptRunnerOptions) {
    checkOptions(options)
    this.#options = { ...DEFAULT_SCRIPT_RUNNER_OPTIONS, ...options }
    this.#env = options.env ?? process.env
    this.#limits = { ...DEFAULT_OUTPUT_LIMITS, ...options.limits }
    this.#sandbox = new Sandbox(this.#options.sandbox, this.#env['PATH'] ?? SYSTEM_PATH.join(':'))
    this.#folders = new ProgramFolders(options.directory)
    this.#idle = new IdleProcesses(this.#options.maxIdleProcesses, this.#options.idleMs)
    refuseInspection()
  }

  async containment(): Promise<Containment> {
    return await this.#sandbox.containment()
  }

  async scan(skill: string, files: readonly ScriptText[]): Promise<ScriptScan> {
    return await scanScripts(skill, files)
  }

  async load(program: ScriptProgram, scan: ScriptScan): Promise<ProgramLoad> {
    return await this.#loads.run(() => this.#load(program, scan))
  }

  async #load(program: ScriptProgram, scan: ScriptScan): Promise<ProgramLoad> {
    const folder = await this.#folders.take(program, await this.#openPlain())
    let isKept = false
    try {
      const faults = folder.diagnostics.filter(({ path }) => scan.sources.includes(path ?? ''))
      if (faults.length > 0) return { kind: 'failed', diagnostics: faults }
      const access = toScriptAccess(program.grants, this.#accessOptions())
      const start = (): Promise<Started> => this.#start(folder, scan, access)
      const { outcome, pooled } = await start()
      if (outcome.kind === 'failed') return { kind: 'failed', diagnostics: [toDiagnostic(outcome, folder)] }
      const { commands, diagnostics } = toCommands(program, scan, outcome.commands)
      if (diagnostics.length > 0) {
        pooled.process.kill()
        return { kind: 'failed', diagnostics }
      }
      isKept = true
      return { kind: 'loaded', program: this.#pool(program, folder, commands, access, pooled, start) }
    } catch (thrown) {
      if (!SkillError.isInstance(thrown, 'SCRIPT_REFUSED')) throw thrown
      const diagnostic = { code: 'SCRIPT_FAILED', severity: 'error', message: thrown.message } as const
      return { kind: 'failed', diagnostics: [diagnostic] }
    } finally {
      if (!isKept) await this.#folders.giveBack(program.revision)
    }
  }

  async runFile(
    program: ScriptProgram,
    path: string,
    args: readonly string[],
    options: RunOptions = {},
  ): Promise<FileRun> {
    const file = program.files.find(each => each.path === path)
    if (file === undefined) {
      const scripts = program.files.filter(each => each.path.startsWith('scripts/')).map(each => each.path)
      const known = scripts.length === 0 ? 'it has no scripts' : `its scripts are ${scripts.join(', ')}`
      throw new SkillError(
        'FILE_NOT_FOUND',
        `${JSON.stringify(program.skill)} has no file ${JSON.stringify(path)}; ${known}`,
      )
    }
    await this.#sandbox.check()
    const folder = await this.#folders.take(program, await this.#openPlain())
    const scratch = await this.#folders.createScratch()
    try {
      const access = toScriptAccess(program.grants, this.#accessOptions())
      const workingDirectory = access.workspace ?? folder.files
      const view: View = { access, readable: [folder.files], scratch, workingDirectory }
      const { launch, searched } = await this.#toFileLaunch(path, folder, args, view, program)
      return await runProgram(
        {
          name: `${program.skill}/${path}`,
          launch: withLimits(await this.#sandbox.wrap(launch, view)),
          env: { ...toEnvironment(access, scratch, searched), SKILL_DIRECTORY: folder.files },
          workingDirectory,
          limits: this.#limits,
          redact: createRedaction(access.secrets),
        },
        {
          ...options,
          signal: AbortSignal.any([this.#stop.signal, ...(options.signal ? [options.signal] : [])]),
        },
      )
    } finally {
      await rm(scratch, { recursive: true, force: true })
      await this.#folders.giveBack(program.revision)
    }
  }

  async close(): Promise<void> {
    this.#stop.abort(new SkillError('CLOSED', 'the runner of scripts is closed'))
    await Promise.all([...this.#programs].map(program => program.close({ withinMs: 0 })))
    await this.#folders.close()
  }

  /** By what a file is run, and where that is looked for. */
  async #toFileLaunch(
    path: string,
    folder: ProgramFolder,
    args: readonly string[],
    view: View,
    { readFile }: ScriptProgram,
  ): Promise<{ launch: Launch; searched: readonly string[] }> {
    const containment = await this.containment()
    const absolute = `${folder.files}/${path}`
    const interpreter = findInterpreter(path, await readFile(path))
    const shown = JSON.stringify(path)
    if (interpreter === undefined)
      throw new SkillError(
        'SCRIPT_REFUSED',
        `nobody knows how to run ${shown}: its name has no known ending, and its first line names no interpreter`,
      )
    if (interpreter.kind === 'node')
      return { launch: toNodeLaunch([absolute, ...args], view), searched: SYSTEM_PATH }
    if (containment.kind !== 'sandbox' && !view.access.hasPrograms)
      throw new SkillError(
        'SCRIPT_REFUSED',
        `${shown} would run as you, with nothing to contain it (${containment.detail}); grant "exec" to the skill if you trust it`,
      )
    const searched =
      containment.kind === 'sandbox' ? SYSTEM_PATH : (this.#env['PATH']?.split(':') ?? SYSTEM_PATH)
    for (const name of interpreter.names) {
      const program = await findProgram(name, searched)
      if (program !== undefined)
        return {
          launch: { command: program, args: [...interpreter.args, absolute, ...args] },
          searched,
        }
    }
    throw new SkillError(
      'SCRIPT_REFUSED',
      `${interpreter.names.join(' or ')} is needed to run ${shown}, and not in ${searched.join(':')}`,
    )
  }

  #accessOptions(): { workspace: string; env: Readonly<Record<string, string | undefined>> } {
    return { workspace: this.#options.workspace ?? process.cwd(), env: this.#env }
  }

  async #openPlain(): Promise<PlainJavaScript> {
    this.#plain ??= import('./plain-javascript.ts').then(({ PlainJavaScript }) => new PlainJavaScript())
    return await this.#plain
  }

  #pool(
    { revision }: ScriptProgram,
    folder: ProgramFolder,
    commands: readonly Command[],
    { secrets }: ScriptAccess,
    first: PooledProcess,
    start: () => Promise<Started>,
  ): PooledProgram {
    const { maxProcesses, maxCalls, drainMs } = this.#options
    const program: PooledProgram = new PooledProgram(first, {
      revision,
      commands,
      start: async () => {
        const { outcome, pooled } = await start()
        if (outcome.kind === 'loaded') return pooled
        const { message, path = '', line } = toDiagnostic(outcome, folder)
        throw new SkillError('SCRIPT_FAILED', `${[path, line].filter(Boolean).join(':')}: ${message}`)
      },
      redact: createRedaction(secrets),
      maxProcesses,
      maxCalls,
      idle: this.#idle,
      drainMs,
      onClosed: async () => {
        this.#programs.delete(program)
        await this.#folders.giveBack(revision)
      },
    })
    this.#programs.add(program)
    return program
  }

  /** One process, with the modules of a scan loaded in it. */
  async #start(folder: ProgramFolder, scan: ScriptScan, access: ScriptAccess): Promise<Started> {
    const scratch = await this.#folders.createScratch()
    const view: View = {
      access,
      readable: [folder.files, folder.code, ...PROVIDED().readable],
      scratch,
      workingDirectory: access.workspace ?? folder.files,
    }
    const launch = withLimits(await this.#sandbox.wrap(toNodeLaunch([MAIN], view), view))
    const process = new ScriptProcess({
      launch,
      env: toEnvironment(access, scratch, SYSTEM_PATH),
      workingDirectory: view.workingDirectory,
      limits: this.#limits,
    })
    const frame: LoadFrame = {
      kind: 'load',
      files: folder.filesUrl,
      code: folder.codeUrl,
      modules: scan.modules,
      provided: PROVIDED().modules,
      validator: PROVIDED().validator,
      skillDirectory: folder.files,
      maxBytes: this.#limits.stdout,
    }
    const outcome = await process.load(frame, this.#options.loadTimeoutMs)
    if (outcome.kind === 'failed') {
      process.kill()
      await process.exited
      await rm(scratch, { recursive: true, force: true })
    }
    return { outcome, pooled: { process, scratch } }
  }
}

interface Started {
  readonly outcome: LoadFrameOutcome
  readonly pooled: PooledProcess
}

/**
 * A script can send signals to the process that started it, and this one would open Node's inspector to it: whoever is
 * connected there runs code as the host. A handler keeps it shut.
 */
function refuseInspection(): void {
  if (process.platform === 'win32' || process.listenerCount('SIGUSR1') > 0) return
  process.on('SIGUSR1', () => undefined)
}

/** @throws {SkillError} INVALID_OPTION */
function checkOptions({
  sandbox,
  workspace: _w,
  directory: _d,
  env: _e,
  limits = {},
  ...numbers
}: ScriptRunnerOptions): void {
  const refuse = (name: string, value: unknown, right: string): never => {
    throw new SkillError('INVALID_OPTION', `${name} is ${JSON.stringify(value)}; use ${right}`)
  }
  if (sandbox !== undefined && !['auto', 'require', 'off'].includes(sandbox))
    refuse('sandbox', sandbox, 'one of "auto", "require", "off"')
  for (const [name, value] of Object.entries({ ...numbers, ...limits }))
    if (typeof value !== 'number' || !(value >= 0 && value <= MAX_OPTION))
      refuse(name, value, `a number from 0 to ${MAX_OPTION}`)
  for (const name of ['maxProcesses', 'maxCalls'] as const)
    if (numbers[name] !== undefined && numbers[name] < 1) refuse(name, numbers[name], 'a number from 1 on')
}

const MAX_OPTION = 2 ** 31 - 1

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function packageFolder(manifestUrl: string): string {
  return dirname(fileURLToPath(manifestUrl))
}

/** What did not load, where that is in the file as its author wrote it. */
function toDiagnostic(
  { path, message, stack }: Extract<LoadFrameOutcome, { kind: 'failed' }>,
  { filesUrl, codeUrl }: ProgramFolder,
): Diagnostic {
  // Types were taken out and nothing was moved, so lines and columns are those of the text.
  const urls = [filesUrl, codeUrl].map(url => url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')
  const frame = new RegExp(`(?:${urls})([^\\s:)?]+)(?::(\\d+))?(?::(\\d+))?`).exec(stack)
  const [, file = path, line, column] = frame ?? []
  return {
    code: 'SCRIPT_FAILED',
    severity: 'error',
    message,
    ...(file === undefined ? {} : { path: decodeURIComponent(file) }),
    ...(line === undefined ? {} : { line: Number(line) }),
    ...(column === undefined ? {} : { column: Number(column) }),
  }
}

const MAX_LOADS = 4
const MAX_DESCRIPTION = 4_096
const MAX_SCHEMA = 65_536

/** What the loaded modules say of their commands: somebody's script says it, so it is looked at. */
function toCommands(
  { skill, files }: ScriptProgram,
  scan: ScriptScan,
  frames: readonly CommandFrame[],
): { readonly commands: readonly Command[]; readonly diagnostics: readonly Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const commands = new Map<string, Command>()
  for (const { name, description, hints, inputSchema, isDynamic, path } of frames) {
    const refuse = (message: string): void =>
      void diagnostics.push({ code: 'COMMAND_INVALID', severity: 'error', message, path })
    const shown = JSON.stringify(`${skill}.${String(name)}`)
    const fault = checkCommandName(name)
    const schema = isObjectSchema(inputSchema) ? inputSchema : undefined
    if (fault !== undefined) refuse(fault)
    else if (commands.has(String(name))) refuse(`the command ${shown} is there twice`)
    else if (schema === undefined || JSON.stringify(schema).length > MAX_SCHEMA)
      refuse(`the input of ${shown} is no JSON Schema of an object, or a very long one`)
    else {
      const scanned = scan.commands.find(each => each.name === name)
      const own = typeof description === 'string' ? description.trim().slice(0, MAX_DESCRIPTION) : ''
      commands.set(String(name), {
        id: `${skill}.${String(name)}`,
        skill,
        name: String(name),
        description: own || (scanned?.description ?? `Execute ${skill}.${String(name)}`),
        inputSchema: schema,
        isDynamic: isDynamic || scanned === undefined,
        hints: typeof hints === 'object' && hints !== null ? hints : {},
        path,
        ...(scanned?.line === undefined ? {} : { line: scanned.line }),
        digest: files.find(file => file.path === path)?.digest ?? 'sha256:',
      })
    }
  }
  return { commands: [...commands.values()].sort((a, b) => (a.name < b.name ? -1 : 1)), diagnostics }
}

function isObjectSchema(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && (value as Record<string, unknown>)['type'] === 'object'
  )
}
