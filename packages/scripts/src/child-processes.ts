import { SkillError } from '@skillstoke/core'
import { defined, quote, Turns } from '@skillstoke/core/internal'
import { defaultStateDirectory } from '@skillstoke/core/node'
import type {
  ProgramLoad,
  ScriptCapability,
  ScriptContainment,
  ScriptFileRun,
  ScriptProgram,
  ScriptRunner,
  ScriptRunOptions,
  ScriptScan,
  ScriptText,
} from '@skillstoke/core/source'
import { FolderLooks } from './access/folder-looks.ts'
import {
  type AccessInUse,
  defaultProtectedPaths,
  type ScriptAccess,
  toEnvironment,
  toScriptAccess,
} from './access/script-access.ts'
import { SetAside, withLeft } from './access/set-aside.ts'
import { ProgramFolders } from './folders/program-folders.ts'
import { ContainedProcess, endWithHost } from './process/contained-process.ts'
import { toFileLaunch } from './process/file-launch.ts'
import { mayHaveInterpreter } from './process/interpreter.ts'
import { SYSTEM_PATH, type View } from './process/launch.ts'
import { ProgramLoader, type ProgramLoaderOptions } from './process/program-loader.ts'
import { createRedaction } from './process/redact.ts'
import { runProgram } from './process/run-file.ts'
import { Sandbox } from './process/sandbox.ts'
import { mayHaveCommands, NO_COMMANDS, toUnreadable } from './scan/command-texts.ts'
import { ScriptReaders } from './scan/script-readers.ts'
import { resolveScriptRunnerOptions, type ScriptRunnerOptions } from './script-runner-options.ts'

/**
 * Returns a runner that executes scripts of skills in separate processes. Node's permissions confine these processes.
 * If bubblewrap is installed, it also confines them. Pass the runner to `createSkillRuntime` as `scripts`.
 * @throws {SkillError} INVALID_OPTION
 * @throws {SkillError} UNSUPPORTED_RUNTIME on Bun and Deno, which do not have the permission model of Node
 *
 * @example
 * ```ts
 * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
 * import { childProcesses } from '@skillstoke/scripts'
 *
 * const script = `import { defineCommand } from 'skillstoke/command'
 * export const day = defineCommand({ name: 'day', description: 'Names the day.', run: () => 'Monday' })`
 * const source = new MemorySource({ label: 'mine' }, [
 *   { name: 'calendar', description: 'Use for dates.', files: { 'scripts/day.ts': script } },
 * ])
 * await using skills = await createSkillRuntime({ sources: [source], scripts: childProcesses({ maxProcesses: 2 }) })
 * console.log((await skills.scripts.execute('calendar.day')).value) // prints Monday
 * ```
 */
export function childProcesses(options: ScriptRunnerOptions = {}): ChildProcesses {
  const { bun, deno } = process.versions
  const other = bun === undefined ? deno && `Deno ${deno}` : `Bun ${bun}`
  if (other !== undefined)
    throw new SkillError(
      'UNSUPPORTED_RUNTIME',
      `scripts of skills need Node 22.16 or newer; this is ${other}`,
    )
  return new ChildProcessRunner(options)
}

/** A script runner that can report which grants it refuses before a script runs. */
export interface ChildProcesses extends ScriptRunner {
  /** Returns the reason why this runner refuses these grants, or `undefined` if the runner accepts them. */
  findRefusal(grants: readonly ScriptCapability[]): Promise<string | undefined>
}

const MAX_LOADS = 4
/** How long a host waits after its start before it removes the folders of killed hosts, in milliseconds. */
const SWEEP_MS = 1_000

class ChildProcessRunner implements ChildProcesses {
  readonly #parts: ProgramLoaderOptions
  readonly #loader: ProgramLoader
  readonly #runs = new Set<Promise<unknown>>()
  readonly #looks = new FolderLooks()
  readonly #stop = new AbortController()
  /** Maximum number of simultaneous background loads, because a host may have many skills and few cores. */
  readonly #loads = new Turns(MAX_LOADS)
  readonly #sweep: NodeJS.Timeout

  constructor(given: ScriptRunnerOptions) {
    const options = resolveScriptRunnerOptions(given)
    const folders = new ProgramFolders(options.directory)
    this.#parts = {
      options,
      sandbox: new Sandbox(options.sandbox, options.env['PATH'] ?? SYSTEM_PATH.join(':')),
      folders,
      readers: new ScriptReaders(),
      inUse: new Set(),
      setAside: new SetAside(this.#looks, async () => await folders.lastingFolder()),
      check: (program, use) => this.#openAccess(program, use),
    }
    this.#loader = new ProgramLoader(this.#parts)
    this.#sweep = setTimeout(() => folders.sweep(), SWEEP_MS).unref()
    refuseInspection()
    endWithHost()
  }

  async containment(): Promise<ScriptContainment> {
    return await this.#parts.sandbox.containment()
  }

  async scan(
    skill: string,
    files: readonly ScriptText[],
    known: readonly string[] = [],
    signal?: AbortSignal,
  ): Promise<ScriptScan> {
    if (!mayHaveCommands(files, known)) return NO_COMMANDS
    const digests = files.map(({ path, digest }) => `${path} ${digest}`)
    const answer = await this.#parts.readers.ask({
      skill,
      identity: ['scan', ...known, ...digests].join('\n'),
      question: { kind: 'scan', skill, files, known },
      ...defined({ signal }),
    })
    return answer.kind === 'scan' ? answer.scan : toUnreadable(files, known)
  }

  async load(
    program: ScriptProgram,
    scan: ScriptScan,
    { isUrgent = true, signal }: { readonly isUrgent?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<ProgramLoad> {
    // Background loads are queued so that they do not delay urgent loads.
    if (isUrgent) return await this.#loader.load(program, scan, signal)
    return await this.#loads.run(() => this.#loader.load(program, scan, signal))
  }

  mayRun(path: string): boolean {
    return mayHaveInterpreter(path)
  }

  async runFile(
    program: ScriptProgram,
    path: string,
    args: readonly string[],
    options: ScriptRunOptions = {},
  ): Promise<ScriptFileRun> {
    const file = program.files.find(each => each.path === path)
    if (file === undefined) {
      const scripts = program.files.filter(each => each.path.startsWith('scripts/')).map(each => each.path)
      const known = scripts.length === 0 ? 'it has no scripts' : `its scripts are ${scripts.join(', ')}`
      throw new SkillError('FILE_NOT_FOUND', `${quote(program.skill)} has no file ${quote(path)}; ${known}`)
    }
    const run = this.#runFile(program, path, args, options).finally(() => this.#runs.delete(run))
    this.#runs.add(run)
    return await run
  }

  async #runFile(
    program: ScriptProgram,
    path: string,
    args: readonly string[],
    options: ScriptRunOptions,
  ): Promise<ScriptFileRun> {
    const { sandbox, folders, inUse, setAside } = this.#parts
    await sandbox.check()
    const folder = await folders.take(program)
    let scratch: string | undefined
    let contained: ContainedProcess | undefined
    const use: AccessInUse = { skill: program.skill }
    inUse.add(use)
    try {
      const access = await this.#openAccess(program, use)
      scratch = await folders.createScratch(access.user)
      const workingDirectory = access.workspace ?? folder
      const view: View = { access, readable: [folder], scratch, workingDirectory }
      const { launch, searched } = await toFileLaunch(path, args, {
        folder,
        bytes: await program.readFile(path),
        view,
        containment: await this.containment(),
        path: this.#parts.options.env['PATH'],
      })
      const wrapped = await sandbox.wrap(launch, view)
      const env = { ...toEnvironment(access, scratch, searched), SKILL_DIRECTORY: folder }
      const signal = AbortSignal.any([this.#stop.signal, ...(options.signal ? [options.signal] : [])])
      signal.throwIfAborted()
      contained = new ContainedProcess(wrapped, { env, workingDirectory, hasChannel: false })
      const { limits } = this.#parts.options
      const shown = { name: `${program.skill}/${path}`, limits, redaction: createRedaction(access.secrets) }
      const run = runProgram(contained, shown, { ...options, signal })
      const left = setAside.checkAfter(access, run)
      const [outcome] = await Promise.allSettled([run])
      return withLeft(outcome, await left)
    } finally {
      inUse.delete(use)
      if (scratch !== undefined) await folders.discard(scratch, contained)
      await folders.giveBack(program.revision)
    }
  }

  async close(): Promise<void> {
    this.#stop.abort(new SkillError('CLOSED', 'the runner of scripts is closed'))
    clearTimeout(this.#sweep)
    await this.#loader.close()
    await Promise.allSettled(this.#runs)
    await this.#parts.readers.close()
    await this.#parts.folders.close()
  }

  async findRefusal(grants: readonly ScriptCapability[]): Promise<string | undefined> {
    const { directory } = this.#parts.options
    try {
      await this.#toAccess({ skill: '', grants }, directory === undefined ? [] : [directory], { skill: '' })
      return undefined
    } catch (thrown) {
      if (!SkillError.isInstance(thrown, 'SCRIPT_REFUSED')) throw thrown
      return thrown.message
    }
  }

  async #openAccess(program: ScriptProgram, use: AccessInUse): Promise<ScriptAccess> {
    return await this.#toAccess(program, [await this.#parts.folders.root()], use)
  }

  /** @param programs folders that contain the written revisions */
  async #toAccess(
    { skill, grants }: Pick<ScriptProgram, 'skill' | 'grants'>,
    programs: readonly string[],
    use: AccessInUse,
  ): Promise<ScriptAccess> {
    const { workspace, protectedPaths = [], hiddenPaths = [] } = this.#parts.options
    const access = await toScriptAccess(grants, {
      workspace: workspace ?? process.cwd(),
      protectedPaths: [...protectedPaths, ...programs, ...defaultProtectedPaths(workspace)],
      hiddenPaths: [defaultStateDirectory(this.#parts.options.env), ...hiddenPaths],
      isSandboxed: (await this.#parts.sandbox.check()) !== undefined,
      looks: this.#looks,
      others: [...this.#parts.inUse].filter(each => each.skill !== skill),
      env: this.#parts.options.env,
    })
    use.access = access
    return access
  }
}

/**
 * Prevents scripts from opening the Node inspector of the host. A script can send SIGUSR1 to its parent process, the
 * host. This signal opens the inspector, and a client of the inspector can run code in the host. A handler for SIGUSR1
 * keeps the inspector closed.
 */
function refuseInspection(): void {
  if (process.platform === 'win32' || process.listenerCount('SIGUSR1') > 0) return
  process.on('SIGUSR1', () => undefined)
}
