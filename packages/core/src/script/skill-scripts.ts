import { checkNumber, SkillError } from '../errors.ts'
import { type Clock, LATE, untilAborted, waitAtMost } from '../host.ts'
import { checkOptions, type KnownOptions } from '../options.ts'
import type { SkillReader } from '../reader/skill-reader.ts'
import { type Diagnostic, isError } from '../skill/diagnostic.ts'
import type { Digest } from '../skill/digest.ts'
import type { Skill } from '../skill/skill.ts'
import type { SkillStore } from '../store/skill-store.ts'
import type { CodeRecords } from './code-records.ts'
import {
  type CommandAddress,
  isHelperModule,
  type SkillCommand,
  splitCommandId,
  withOwnSchema,
} from './command.ts'
import { toNotFound } from './command-not-found.ts'
import { callSafely, ObservedCalls, type ObservedCallsOptions } from './observed-calls.ts'
import { toProgram } from './program-code.ts'
import { describeShadowed, isSamePlace, type ProgramSlots, type UnloadStatus } from './program-slots.ts'
import { type CommandsChange, toCommandsChange } from './script-events.ts'
import {
  LONGEST_CALL_MS,
  type LoadedProgram,
  type ScriptContainment,
  type ScriptFileRun,
  type ScriptRunOptions,
} from './script-runner.ts'

export interface SkillScriptsOptions extends ObservedCallsOptions {
  readonly slots: ProgramSlots
  readonly reader: SkillReader
  readonly store: SkillStore
  readonly records: CodeRecords
  readonly clock: Clock
}

/** What a command answered, and the revision of the code that did. */
export interface CommandResult {
  readonly value: unknown
  readonly revision: Digest
  readonly command: SkillCommand
}

/** How the code of one skill is doing. */
export interface ScriptStatus {
  readonly skill: string
  /** Of the code that serves; absent when none does. */
  readonly revision?: Digest
  readonly commands: readonly SkillCommand[]
  /** What is wrong with the newest code. */
  readonly problems: readonly Diagnostic[]
  /** Whether a process of it was started. */
  readonly isLoaded: boolean
}

// A call waits for newer code, but not for a script that does not come to an end of loading.
const MAX_LOAD_WAIT_MS = 2_000

const KNOWN_RUN: KnownOptions<ScriptRunOptions> = {
  signal: true,
  timeoutMs: true,
  onProgress: true,
  onLine: true,
}

/** The code of all skills: which commands there are, and calling them. Made by `SkillRuntime`. */
export class SkillScripts {
  readonly #options: SkillScriptsOptions
  readonly #slots: ProgramSlots
  readonly #listeners = new Set<(change: CommandsChange) => void>()
  readonly #calls: ObservedCalls

  constructor(options: SkillScriptsOptions) {
    this.#options = options
    this.#slots = options.slots
    this.#calls = new ObservedCalls(options)
    this.#slots.subscribe(swap => this.#announce(toCommandsChange(swap)))
  }

  /** Whether scripts are run at all. */
  get canRun(): boolean {
    return this.#slots.runner !== undefined
  }

  /** Every command that can be called, sorted by id; of one skill, or of all. */
  list(skill?: string): readonly SkillCommand[] {
    const served =
      skill === undefined ? this.#options.reader.current.list() : [this.#options.reader.current.get(skill)]
    return served.flatMap(each => this.#slots.find(each)?.commands ?? [])
  }

  /** The command of an id, or `undefined`. */
  find(id: string): SkillCommand | undefined {
    const parts = splitCommandId(id)
    const skill = parts === undefined ? undefined : this.#options.reader.current.find(parts.skill)
    if (parts === undefined || skill === undefined) return undefined
    return this.#slots.find(skill)?.commands.find(({ name }) => name === parts.command)
  }

  /**
   * The files below `scripts/` that look like programs and are no part of its commands.
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

  /** Whether code of a skill may run: what one conversation wrote and nobody has approved may not. */
  isServed(skill: Skill): boolean {
    const served = this.#options.reader.current.find(skill.name)
    return served !== undefined && isSamePlace(served, skill)
  }

  /** How the code of each served skill is doing that has any, in the order of their names. */
  status(): readonly ScriptStatus[] {
    return this.#options.reader.current.list().flatMap(skill => {
      const slot = this.#slots.find(skill)
      if (slot === undefined || (slot.commands.length === 0 && slot.problems.length === 0)) return []
      const { commands, problems, loaded, revision } = slot
      return [
        {
          skill: skill.name,
          commands,
          problems,
          isLoaded: loaded !== undefined,
          ...(revision === undefined ? {} : { revision }),
        },
      ]
    })
  }

  /** Resolves when the code of a skill that is on disk now serves, or does not for a reason; of one skill, or of all. */
  async ready(skill?: Skill): Promise<void> {
    const wanted = skill === undefined ? this.#options.reader.current.list() : [skill]
    await Promise.all(wanted.map(each => this.#slots.want(each)?.ready()))
  }

  /** Calls back when commands are others; returns a function that unsubscribes. */
  subscribe(listener: (change: CommandsChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Runs a command by its id, at the code that is on disk now, outside this process.
   * @throws {SkillError} COMMAND_NOT_FOUND with `data.available`; SKILL_NOT_FOUND, INPUT_INVALID, SCRIPT_FAILED, TIMED_OUT,
   * TOO_LARGE, INVALID_OPTION; the reason of the signal when it aborts
   */
  async execute(id: string, input: unknown = {}, options: ScriptRunOptions = {}): Promise<CommandResult> {
    checkRunOptions('execute()', options)
    this.#assertOpen()
    const parts = splitCommandId(id)
    if (parts === undefined)
      throw new SkillError('COMMAND_NOT_FOUND', `${JSON.stringify(id)} is no command; use "skill.command"`)
    await this.#options.reader.refresh(parts.skill)
    const skill = this.#get(parts.skill)
    options.signal?.throwIfAborted()
    for (;;) {
      const { program, command } = await this.#await(parts, options, this.#start(skill.name, parts.command))
      try {
        return await this.#run(program, command, input, options)
      } catch (thrown) {
        // Newer code took its place just before the call began.
        const isReplaced = SkillError.isInstance(thrown, 'CLOSED') && options.signal?.aborted !== true
        if (!isReplaced || this.#slots.isClosed) throw thrown
      }
    }
  }

  /** Waits for code that is loading, but no longer than the caller does. */
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
   * Runs a script that is no command with its interpreter: arguments in, outputs and exit code out.
   * @throws {SkillError} SKILL_NOT_FOUND, FILE_NOT_FOUND, SCRIPT_REFUSED, TIMED_OUT, INVALID_OPTION; the reason of the signal
   * when it aborts
   */
  async run(
    name: string,
    path: string,
    args: readonly string[] = [],
    options: ScriptRunOptions = {},
  ): Promise<ScriptFileRun & { readonly revision: Digest }> {
    checkRunOptions('run()', options)
    this.#assertOpen()
    await this.#options.reader.refresh(name)
    const skill = this.#get(name)
    options.signal?.throwIfAborted()
    const commands = this.#slots.find(skill)?.commands ?? []
    const isFile = skill.files.some(file => file.path === path)
    const own = commands.filter(command => command.path === path || (!isFile && command.name === path))
    if (own.length > 0) {
      const ids = own.map(({ id }) => id).join(', ')
      throw new SkillError(
        'SCRIPT_REFUSED',
        `${JSON.stringify(path)} is no program of ${JSON.stringify(name)}, but commands; run ${ids}`,
      )
    }
    const runner = this.#slots.requireRunner()
    const { store, records } = this.#options
    const grants = records.grantedTo(skill)
    const program = toProgram(skill, grants, store)
    const call = { skill: skill.name, target: path, revision: skill.revision }
    const outcome = await this.#slots.files.run({ skill, grants }, options.signal, signal =>
      this.#calls.observe(call, { ...options, signal }, observed =>
        runner.runFile(program, path, args, observed),
      ),
    )
    return { ...outcome, revision: skill.revision }
  }

  /**
   * Ends the code of a skill and starts it again from what is there now, whether or not it changed.
   * @throws {SkillError} SKILL_NOT_FOUND
   */
  async reload(
    name: string,
  ): Promise<{ readonly wasLoaded: boolean; readonly problems: readonly Diagnostic[] }> {
    this.#assertOpen()
    const skill = this.#get(name)
    const { slot, wasLoaded } = await this.#slots.reload(skill)
    // Whoever asks for it wants clients to look again, whether or not the commands are the same.
    if (!slot.problems.some(isError))
      this.#announce({ skill: name, added: [], removed: [], modified: slot.commands })
    return { wasLoaded, problems: slot.problems }
  }

  /** Ends the code of a skill and takes its commands away until `reload`. */
  async unload(name: string): Promise<UnloadStatus> {
    this.#assertOpen()
    const skill = this.#options.reader.current.find(name)
    return skill === undefined ? 'not-found' : await this.#slots.unload(skill)
  }

  /**
   * Forgets everything that was made from the scripts of one skill: processes, modules in them, scanned commands. What is
   * there is scanned again, and loaded by the next call; where that is broken, what is good goes on.
   * @throws {SkillError} SKILL_NOT_FOUND
   */
  async clear(name: string): Promise<void> {
    this.#assertOpen()
    const skill = this.#get(name)
    const slot = this.#slots.want(skill)
    // Calls that come meanwhile find the one or the other, and never nothing.
    slot?.want(skill, { isEager: false, isForced: true })
    await slot?.ready()
    await slot?.drained()
  }

  /** What stands between scripts and this machine. */
  async containment(): Promise<ScriptContainment> {
    return await this.#slots.requireRunner().containment()
  }

  /** The code and the command for a call, of the skill as it is served now. */
  async #start(name: string, command: string): Promise<{ program: LoadedProgram; command: SkillCommand }> {
    const skill = this.#get(name)
    const slot = this.#slots.want(skill)
    const waited = await waitAtMost(this.#options.clock, MAX_LOAD_WAIT_MS, slot?.ready() ?? Promise.resolve())
    const known = slot?.commands.find(each => each.name === command)
    // Newer code that takes so long does not hold up what the older one can do.
    const serving = waited === LATE ? slot?.loaded : undefined
    const program = known === undefined ? undefined : (serving ?? (await slot?.start()))
    // Once it is loaded, the script itself says which commands there are.
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
    const value = await this.#calls.observe(
      { skill: command.skill, target: command.id, revision },
      options,
      observed => program.call(command.name, input, observed),
    )
    return { value, revision, command }
  }

  /** Finds the skill of a name, if its code is the one that runs. */
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
    for (const listener of this.#listeners) callSafely(this.#options.logger, () => listener(change))
  }

  #assertOpen(): void {
    this.#slots.requireRunner()
    if (this.#slots.isClosed) throw new SkillError('CLOSED', 'the scripts are closed')
  }
}

function checkRunOptions(owner: string, options: ScriptRunOptions): void {
  checkOptions(owner, options, KNOWN_RUN)
  checkNumber('timeoutMs', options.timeoutMs, 1, LONGEST_CALL_MS)
}
