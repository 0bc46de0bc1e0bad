import { defined } from '../defined.ts'
import { SkillError } from '../errors.ts'
import { type Clock, LATE, type Logger, untilAborted, waitAtMost } from '../host.ts'
import { callSafely, Listeners } from '../listeners.ts'
import { checkOptions, type KnownOptions, number } from '../options.ts'
import { quote } from '../quote.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import { type Diagnostic, isError } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { CodeRecords } from './code-records.ts'
import {
  type CommandAddress,
  isHelperModule,
  type SkillCommand,
  splitCommandId,
  withOwnSchema,
} from './command.ts'
import { toNotFound } from './command-not-found.ts'
import { findScript } from './find-script.ts'
import { toProgram } from './program-code.ts'
import { describeShadowed, isSamePlace, type ProgramSlots, type UnloadStatus } from './program-slots.ts'
import { type CommandsChange, type ScriptCall, type ScriptEvents, toCommandsChange } from './script-events.ts'
import {
  CALL_TIMEOUT_MS,
  type LoadedProgram,
  type ScriptContainment,
  type ScriptFileRun,
  type ScriptRunOptions,
} from './script-runner.ts'

export interface SkillScriptsOptions {
  readonly slots: ProgramSlots
  readonly reader: SkillReader
  readonly records: CodeRecords
  readonly clock: Clock
  readonly logger: Logger
  /** Called with each event, in the order in which the events happen. */
  readonly tell: <Name extends keyof ScriptEvents>(name: Name, payload: ScriptEvents[Name]) => void
}

/** The result of a command, with the revision of its code. */
export interface CommandResult {
  readonly value: unknown
  readonly revision: Digest
  readonly command: SkillCommand
}

/** State of the scripts of one skill. */
export interface ScriptStatus {
  readonly skill: string
  /** Revision of the serving code; absent if no code serves. */
  readonly revision?: Digest
  readonly commands: readonly SkillCommand[]
  /** Diagnostics about the newest code. */
  readonly problems: readonly Diagnostic[]
  /** True if a process was started for the code. */
  readonly isLoaded: boolean
}

// Limits how long a call waits for newer code to load.
const MAX_LOAD_WAIT_MS = 2_000

const KNOWN_RUN: KnownOptions<ScriptRunOptions> = {
  signal: true,
  timeoutMs: number(1, CALL_TIMEOUT_MS.longest),
  onProgress: true,
  onLine: true,
}

/**
 * Lists and runs the commands and scripts of all skills. Created by `SkillRuntime`.
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
 * await using skills = await createSkillRuntime({ sources: [source], scripts: childProcesses() })
 * await skills.scripts.reload('calendar') // a busy machine reads scripts in the background
 * console.log(skills.scripts.list().map(({ id }) => id)) // prints [ 'calendar.day' ]
 * ```
 */
export class SkillScripts {
  readonly #options: SkillScriptsOptions
  readonly #slots: ProgramSlots
  readonly #onError = (error: unknown): void => this.#options.logger.error('a subscriber failed', { error })
  readonly #listeners = new Listeners<[CommandsChange]>(this.#onError)
  #calls = 0
  #notedDetail: string | undefined

  constructor(options: SkillScriptsOptions) {
    this.#options = options
    this.#slots = options.slots
    this.#slots.onSwap = swap => this.#announce(toCommandsChange(swap))
  }

  /** True if this runtime runs scripts. */
  get canRun(): boolean {
    return this.#slots.runner !== undefined
  }

  /** Returns the callable commands of one skill or of all skills, sorted by id. */
  list(skill?: string): readonly SkillCommand[] {
    const served =
      skill === undefined ? this.#options.reader.current.list() : [this.#options.reader.current.get(skill)]
    return served.flatMap(each => this.#slots.find(each)?.commands ?? [])
  }

  /** Returns the command with the given id, or `undefined`. */
  find(id: string): SkillCommand | undefined {
    const parts = splitCommandId(id)
    const skill = parts === undefined ? undefined : this.#options.reader.current.find(parts.skill)
    if (parts === undefined || skill === undefined) return undefined
    return this.#slots.find(skill)?.commands.find(({ name }) => name === parts.command)
  }

  /**
   * Returns the files below `scripts/` that look like programs and are not used by a command of the skill.
   * @throws {SkillError} SKILL_NOT_FOUND
   */
  listFiles(name: string): readonly string[] {
    const skill = this.#get(name)
    const own = new Set(this.#slots.find(skill)?.sources)
    return skill.files.flatMap(({ path }) => {
      const isProgram = path.startsWith('scripts/') && this.#slots.runner?.mayRun(path) === true
      return isProgram && !isHelperModule(path) && !own.has(path) ? path : []
    })
  }

  /** True if the code of a skill may run. Code that a conversation wrote must not run before the code is approved. */
  isServed(skill: Skill): boolean {
    const served = this.#options.reader.current.find(skill.name)
    return served !== undefined && isSamePlace(served, skill)
  }

  /** Returns the state of each served skill that has code, sorted by name. */
  status(): readonly ScriptStatus[] {
    return this.#options.reader.current.list().flatMap(skill => {
      const slot = this.#slots.find(skill)
      if (slot === undefined || (slot.commands.length === 0 && slot.problems.length === 0)) return []
      const { commands, problems, loaded, revision } = slot
      const isLoaded = loaded !== undefined
      return [{ skill: skill.name, commands, problems, isLoaded, ...defined({ revision }) }]
    })
  }

  /** Resolves when the code on disk serves or has failed. Waits for the code of one skill, or of all skills. */
  async ready(skill?: Skill): Promise<void> {
    const wanted = skill === undefined ? this.#options.reader.current.list() : [skill]
    await Promise.all(wanted.map(each => this.#slots.want(each)?.ready()))
  }

  /** Adds a listener for changes of the command list. Returns a function that removes the listener. */
  subscribe(listener: (change: CommandsChange) => void): () => void {
    return this.#listeners.subscribe(listener)
  }

  /**
   * Runs the command with the given id in another process, with the code that is on disk now.
   * @throws {SkillError} COMMAND_NOT_FOUND with `data.available`; SKILL_NOT_FOUND, INPUT_INVALID, SCRIPT_FAILED,
   * TIMED_OUT, TOO_LARGE, INVALID_OPTION; `signal.reason` when the signal aborts
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
   * await using skills = await createSkillRuntime({ sources: [source], scripts: childProcesses() })
   * const { value } = await skills.scripts.execute('calendar.day', {}, { timeoutMs: 5_000 })
   * console.log(value) // prints Monday
   * ```
   */
  async execute(id: string, input: unknown = {}, options: ScriptRunOptions = {}): Promise<CommandResult> {
    checkOptions('execute()', options, KNOWN_RUN)
    this.#assertOpen()
    const parts = splitCommandId(id)
    if (parts === undefined)
      throw new SkillError('COMMAND_NOT_FOUND', `${quote(id)} is not a command id; use "skill.command"`)
    await this.#options.reader.refresh(parts.skill)
    const skill = this.#get(parts.skill)
    options.signal?.throwIfAborted()
    for (;;) {
      const { program, command } = await this.#await(parts, options, this.#start(skill.name, parts.command))
      try {
        return await this.#run(program, command, input, options)
      } catch (thrown) {
        // Newer code replaced this program just before the call began, so retry with the newer code.
        const isReplaced = SkillError.isInstance(thrown, 'CLOSED') && options.signal?.aborted !== true
        if (!isReplaced || this.#slots.isClosed) throw thrown
      }
    }
  }

  /** Waits until code is loaded, the time limit of the call is over, or the call is aborted. */
  async #await<T>(
    { skill, command }: CommandAddress,
    { signal, timeoutMs }: ScriptRunOptions,
    work: Promise<T>,
  ): Promise<T> {
    const limited = timeoutMs === undefined ? work : waitAtMost(this.#options.clock, timeoutMs, work)
    const outcome = await untilAborted(signal, limited)
    if (outcome !== LATE) return outcome
    throw new SkillError('TIMED_OUT', `${skill}.${command}: its code did not load within ${timeoutMs} ms`)
  }

  /**
   * Runs a script file with its interpreter, not as a command. Returns the output and the exit code. `path` may also
   * begin with `./`, be the path on this machine, or be a command line such as `bash scripts/add.sh`.
   * @throws {SkillError} SKILL_NOT_FOUND, FILE_NOT_FOUND, SCRIPT_REFUSED, TIMED_OUT, INVALID_OPTION; `signal.reason`
   * when the signal aborts
   *
   * @example
   * ```ts
   * import { createSkillRuntime, MemorySource } from '@skillstoke/core'
   * import { childProcesses } from '@skillstoke/scripts'
   *
   * const files = { 'scripts/add.js': 'console.log(20 + Number(process.argv[2]))' }
   * const source = new MemorySource({ label: 'mine' }, [{ name: 'sums', description: 'Use to add.', files }])
   * await using skills = await createSkillRuntime({ sources: [source], scripts: childProcesses() })
   * const { stdout, exitCode } = await skills.scripts.run('sums', 'scripts/add.js', ['22'])
   * console.log(exitCode, stdout.trim()) // prints 0 42
   * ```
   */
  async run(
    name: string,
    path: string,
    args: readonly string[] = [],
    options: ScriptRunOptions = {},
  ): Promise<ScriptFileRun & { readonly revision: Digest }> {
    checkOptions('run()', options, KNOWN_RUN)
    this.#assertOpen()
    await this.#options.reader.refresh(name)
    const skill = this.#get(name)
    options.signal?.throwIfAborted()
    const slot = this.#slots.want(skill)
    // Until the first scan, nobody knows which files are programs.
    if (slot !== undefined && slot.scan === undefined) await untilAborted(options.signal, slot.ready())
    const commands = slot?.commands ?? []
    const isName = !skill.files.some(file => file.path === path) && commands.some(each => each.name === path)
    const script = isName ? { path, args: [] } : findScript(path, skill)
    const own = commands.filter(({ path: file, name: command }) => (isName ? command : file) === script.path)
    if (own.length > 0) {
      const ids = own.map(({ id }) => id).join(', ')
      throw new SkillError(
        'SCRIPT_REFUSED',
        `${quote(path)} is not a program of ${quote(name)}; run ${ids} instead`,
      )
    }
    const runner = this.#slots.requireRunner()
    const { reader, records } = this.#options
    const grants = records.grantedTo(skill)
    const program = toProgram(skill, grants, reader)
    const call = { skill: skill.name, target: script.path, revision: skill.revision }
    const outcome = await this.#slots.runFile({ skill, grants }, options.signal, signal =>
      this.#observe(call, { ...options, signal }, observed =>
        runner.runFile(program, script.path, [...script.args, ...args], observed),
      ),
    )
    return { ...outcome, revision: skill.revision }
  }

  /**
   * Ends the code of a skill and loads the newest code, even if the code did not change.
   * @throws {SkillError} SKILL_NOT_FOUND
   */
  async reload(
    name: string,
  ): Promise<{ readonly wasLoaded: boolean; readonly problems: readonly Diagnostic[] }> {
    this.#assertOpen()
    const skill = this.#get(name)
    const { slot, wasLoaded } = await this.#slots.reload(skill)
    // Report a change even if the commands are the same, so that clients list the commands again after a reload.
    if (!slot.problems.some(isError))
      this.#announce({ skill: name, added: [], removed: [], modified: slot.commands })
    return { wasLoaded, problems: slot.problems }
  }

  /** Ends the code of a skill, and removes its commands until `reload`. */
  async unload(name: string): Promise<UnloadStatus> {
    this.#assertOpen()
    const skill = this.#options.reader.current.find(name)
    return skill === undefined ? 'not-found' : await this.#slots.unload(skill)
  }

  /**
   * Drops the processes, loaded modules and scanned commands of one skill. Then scans the code again; the next call
   * loads the scanned code. If the newest code is broken, the last good code keeps serving.
   * @throws {SkillError} SKILL_NOT_FOUND
   */
  async clear(name: string): Promise<void> {
    this.#assertOpen()
    const skill = this.#get(name)
    const slot = this.#slots.want(skill)
    // The old code serves until the new code is ready, so concurrent calls always find code to run.
    slot?.want(skill, { isEager: false, isForced: true })
    await slot?.ready()
    await slot?.drained()
  }

  /** Returns how this machine is protected against scripts. */
  async containment(): Promise<ScriptContainment> {
    return await this.#slots.requireRunner().containment()
  }

  /** Finds a command in the served revision. Returns the command and its program. */
  async #start(name: string, command: string): Promise<{ program: LoadedProgram; command: SkillCommand }> {
    const skill = this.#get(name)
    const slot = this.#slots.want(skill)
    const waited = await waitAtMost(this.#options.clock, MAX_LOAD_WAIT_MS, slot?.ready() ?? Promise.resolve())
    // Without older code, only the new code can say which commands exist.
    if (waited === LATE && slot?.loaded === undefined) await slot?.ready()
    const known = slot?.commands.find(each => each.name === command)
    // Slow new code must not delay a call that the older code can answer.
    const serving = waited === LATE ? slot?.loaded : undefined
    const program = known === undefined ? undefined : (serving ?? (await slot?.start()))
    // The loaded program, not the scan, decides which commands exist.
    const found = program?.commands.find(each => each.name === command)
    if (program !== undefined && found !== undefined) return { program, command: withOwnSchema(found) }
    throw toNotFound(skill.name, command, slot, this.#slots.isUnloaded(skill))
  }

  async #run(
    program: LoadedProgram,
    command: SkillCommand,
    input: unknown,
    options: ScriptRunOptions,
  ): Promise<CommandResult> {
    const { revision } = program
    const value = await this.#observe(
      { skill: command.skill, target: command.id, revision },
      options,
      observed => program.call(command.name, input, observed),
    )
    return { value, revision, command }
  }

  /** Runs a call, and emits events for its start, progress, output lines and end. */
  async #observe<Result>(
    target: Omit<ScriptCall, 'call'>,
    options: ScriptRunOptions,
    work: (options: ScriptRunOptions) => Promise<Result>,
  ): Promise<Result> {
    const { tell, clock } = this.#options
    const call = { call: ++this.#calls, ...target }
    await this.#noteContainment()
    const start = clock.monotonic()
    const end = (isError: boolean): void =>
      tell('command:finished', { ...call, isError, durationMs: clock.monotonic() - start })
    tell('command:started', call)
    try {
      const result = await work({
        ...options,
        onProgress: progress => {
          tell('command:progress', { ...call, ...progress })
          callSafely(this.#onError, () => options.onProgress?.(progress))
        },
        onLine: line => {
          tell('command:line', { ...call, ...line })
          callSafely(this.#onError, () => options.onLine?.(line))
        },
      })
      end(false)
      return result
    } catch (thrown) {
      end(true)
      throw thrown
    }
  }

  /** Warns once for each reason why scripts run without a sandbox. */
  async #noteContainment(): Promise<void> {
    const containment = await this.#slots.runner?.containment()
    if (containment === undefined || containment.kind === 'sandbox') return
    const { detail } = containment
    if (detail === this.#notedDetail) return
    this.#notedDetail = detail
    this.#options.logger.warn('scripts run without a sandbox', { reason: detail })
  }

  /** Returns the skill with the given name. Throws if the code of the skill must not run. */
  #get(name: string): Skill {
    const { current } = this.#options.reader
    const skill = current.get(name)
    const served = current.find(skill.name)
    if (served === undefined || isSamePlace(served, skill)) return skill
    throw new SkillError('SCRIPT_REFUSED', describeShadowed(skill, served))
  }

  #announce(change: CommandsChange): void {
    const { added, removed, modified } = change
    if (added.length + removed.length + modified.length === 0) return
    this.#options.tell('commands:changed', change)
    this.#listeners.tell(change)
  }

  #assertOpen(): void {
    this.#slots.requireRunner()
    if (this.#slots.isClosed) throw new SkillError('CLOSED', 'the scripts are closed')
  }
}
