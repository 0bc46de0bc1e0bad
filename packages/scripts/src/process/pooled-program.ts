import { join } from 'node:path'
import { type Digest, type SkillCommand, SkillError } from '@skillstoke/core'
import {
  CALL_TIMEOUT_MS,
  LATE,
  listFields,
  quote,
  quoteAll,
  showValue,
  toMessage,
  untilAborted,
  waitAtMost,
} from '@skillstoke/core/internal'
import { type LoadedProgram, type ScriptRunOptions, systemClock } from '@skillstoke/core/source'
import type { ScriptAccess } from '../access/script-access.ts'
import { withLeft } from '../access/set-aside.ts'
import type { InputFaults } from '../child/frames.ts'
import type { ResolvedScriptRunnerOptions } from '../script-runner-options.ts'
import type { CallFrameOutcome, ScriptProcess } from './script-process.ts'

/** A process for scripts, with the folder that the process may write to. */
export interface PooledProcess {
  readonly process: ScriptProcess
  readonly scratch: string
  /** What the process may access, as set at its start. */
  readonly access: ScriptAccess
  /** Resolves after the process has ended, with a description of what it left in granted folders; see `SetAside.checkAfter`. */
  readonly left: Promise<string | undefined>
  /** Folder from which the process reads the files of the skill. */
  readonly folder: string
  /** Whether `folder` belongs to this process only. */
  readonly hasOwnFolder: boolean
  /** Whether the process was a reserve process. */
  readonly isReserved: boolean
}

/**
 * Whether a process may run one call only. A process that may write to folders ends with its call, so that no code of
 * the script runs when the folders are checked, or between two calls.
 */
export function isForOneCall({ access }: Pick<PooledProcess, 'access'>): boolean {
  return access.writable.length > 0
}

export interface PooledProgramOptions {
  readonly revision: Digest
  readonly commands: readonly SkillCommand[]
  /** Whether the sandbox blocks the network access of the program. */
  readonly isOffline: boolean
  /**
   * Returns the position in the skill's files where an error was thrown, or an empty text if the error was thrown
   * elsewhere.
   */
  readonly locate: (stack: string, each: Pick<PooledProcess, 'folder'>) => string
  /**
   * Checks granted paths again. Resolves with the access that a new process would have. If the access of a running
   * process has another `identity`, the process must not be used. Missing if no path is granted.
   * @throws {SkillError} SCRIPT_REFUSED
   */
  readonly check?: () => Promise<ScriptAccess>
  /**
   * Starts one more process and loads the code into the process. `isRefill` is true if all earlier processes of the
   * program have ended. @throws {SkillError} SCRIPT_FAILED
   */
  readonly start: (signal: AbortSignal, isRefill: boolean) => Promise<PooledProcess>
  readonly limits: Pick<ResolvedScriptRunnerOptions, 'maxProcesses' | 'drainMs'>
  readonly idle: IdleProcesses
  /** Removes the folders of a process that has ended. Never fails. */
  readonly discard: (each: PooledProcess) => Promise<void>
  /** Called after the last process has ended. */
  readonly onClosed: () => Promise<void>
}

interface Member extends PooledProcess {
  /** Number of the process; processes of one program are counted in the order of their start. */
  readonly number: number
  calls: number
}

/**
 * The processes that run one revision. Each process runs one call at a time. An idle process is kept for some time,
 * unless it may write to folders.
 */
export class PooledProgram implements LoadedProgram {
  readonly revision: Digest
  readonly commands: readonly SkillCommand[]
  readonly #options: PooledProgramOptions
  readonly #members = new Set<Member>()
  readonly #idle: Member[] = []
  readonly #waiting: Waiter[] = []
  #started = 0
  #starting = 0
  #running = 0
  #scratches = 0
  #closing: Promise<void> | undefined
  #onDrained: (() => void) | undefined
  readonly #end = new AbortController()

  constructor(idle: readonly PooledProcess[], options: PooledProgramOptions) {
    this.#options = options
    this.revision = options.revision
    this.commands = options.commands
    for (const each of idle) this.#keep(this.#add(each))
  }

  async call(name: string, input: unknown, options: ScriptRunOptions = {}): Promise<unknown> {
    const command = this.commands.find(each => each.name === name)
    if (command === undefined) throw new SkillError('COMMAND_NOT_FOUND', `there is no command ${quote(name)}`)
    if (this.#closing !== undefined) throw replacedError()
    const written = toJson(command, input)
    options.signal?.throwIfAborted()
    if (this.#waiting.length >= MAX_WAITING)
      throw new SkillError('SCRIPT_REFUSED', `${this.#waiting.length} calls of the skill are waiting already`)
    const { timeoutMs = CALL_TIMEOUT_MS.default } = options
    const deadline = performance.now() + timeoutMs
    this.#running++
    try {
      for (let attempt = 1; ; attempt++) {
        const member = await this.#acquire(command, options.signal, timeoutMs)
        const left = deadline - performance.now()
        if (left <= 0) {
          this.#release(member)
          throw lateError(command, timeoutMs)
        }
        const limited = { ...options, timeoutMs: left }
        const result = await this.#run(member, async () => {
          const outcome = await this.#call(member, command, written, limited, timeoutMs)
          // The process ended before the call began, so the call did not cause the end of the process.
          const isTriedAgain =
            outcome.kind === 'lost' && attempt < MAX_ATTEMPTS && this.#closing === undefined
          if (isTriedAgain) return undefined
          const locate = (stack: string): string => this.#options.locate(stack, member)
          return { value: toValue(outcome, command, input, { isOffline: this.#options.isOffline, locate }) }
        })
        if (result !== undefined) return result.value
      }
    } finally {
      this.#running--
      if (this.#running === 0) this.#onDrained?.()
    }
  }

  close({ withinMs = this.#options.limits.drainMs }: { readonly withinMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#drain()
    // A later call of `close()` may shorten the time that running calls have left.
    const timer = setTimeout(() => this.#onDrained?.(), withinMs)
    return this.#closing.finally(() => clearTimeout(timer))
  }

  async #run<T>(member: Member, call: () => Promise<T>): Promise<T> {
    const [outcome] = await Promise.allSettled([call()])
    member.calls++
    // Release the process only when the cancelled command has stopped.
    const released = member.process.stopped.then(() => this.#release(member))
    if (!isForOneCall(member)) return withLeft(outcome, undefined)
    await released
    return withLeft(outcome, await member.left)
  }

  async #call(
    member: Member,
    command: SkillCommand,
    input: string,
    options: ScriptRunOptions,
    timeoutMs: number,
  ): Promise<CallFrameOutcome> {
    const scratch = join(member.scratch, `call-${++this.#scratches}`)
    try {
      return await member.process.call(command, input, scratch, options)
    } catch (thrown) {
      if (!SkillError.isInstance(thrown, 'TIMED_OUT')) throw thrown
      throw new SkillError('TIMED_OUT', `${command.id}: it took longer than ${timeoutMs} ms`)
    }
  }

  /** Returns a process whose access matches the current grants. */
  async #acquire(command: SkillCommand, signal: AbortSignal | undefined, timeoutMs: number): Promise<Member> {
    for (;;) {
      const started = this.#started
      const member = await this.#take(command, signal, timeoutMs)
      // Was started for this call, after a check of its grants.
      if (isForOneCall(member)) return member
      const access = await this.#check(member)
      // If a process was started for this call, use that process even if granted folders changed again.
      if (access.identity === member.access.identity || member.number > started) return member
      member.process.kill()
      await member.process.exited
    }
  }

  /** Checks the grants again. Ends the process if a grant was revoked or changed. */
  async #check({ process, access }: Member): Promise<ScriptAccess> {
    try {
      return (await this.#options.check?.()) ?? access
    } catch (thrown) {
      process.kill()
      throw thrown
    }
  }

  async #take(command: SkillCommand, signal: AbortSignal | undefined, timeoutMs: number): Promise<Member> {
    const kept = this.#takeIdle()
    if (kept !== undefined) return kept
    if (this.#members.size + this.#starting < this.#options.limits.maxProcesses) return await this.#start()
    const turn: Waiter = Promise.withResolvers()
    this.#waiting.push(turn)
    try {
      const member = await waitAtMost(systemClock, timeoutMs, untilAborted(signal, turn.promise))
      if (member === LATE) throw lateError(command, timeoutMs)
      return member ?? (await this.#start())
    } finally {
      const index = this.#waiting.indexOf(turn)
      if (index >= 0) this.#waiting.splice(index, 1)
    }
  }

  async #start(): Promise<Member> {
    const isRefill = this.#members.size + this.#starting === 0
    this.#starting++
    try {
      const started = await this.#options.start(this.#end.signal, isRefill).catch((thrown: unknown) => {
        // If the program was closed while the process loaded, the code did not cause the failure.
        throw this.#end.signal.aborted ? replacedError() : thrown
      })
      if (!this.#end.signal.aborted) return this.#add(started)
      started.process.kill()
      void started.process.exited.then(() => this.#options.discard(started))
      throw replacedError()
    } catch (thrown) {
      // Wake the next waiting call, so that it can start a process.
      this.#waiting.shift()?.resolve(undefined)
      throw thrown
    } finally {
      this.#starting--
    }
  }

  #add(each: PooledProcess): Member {
    const member = { ...each, number: ++this.#started, calls: 0 }
    this.#members.add(member)
    void each.process.exited.then(() => this.#remove(member))
    return member
  }

  #takeIdle(): Member | undefined {
    for (let member = this.#idle.pop(); member !== undefined; member = this.#idle.pop()) {
      this.#options.idle.delete(member.process)
      if (member.process.isUsable) return member
    }
    return undefined
  }

  #release(member: Member): void {
    const { process } = member
    const isReusable = !isForOneCall(member) && member.calls < MAX_CALLS
    if (isReusable && process.isUsable) {
      const next = this.#waiting.shift()
      if (next !== undefined) next.resolve(member)
      else if (this.#closing === undefined) this.#keep(member)
      else process.kill()
    } else process.kill()
  }

  #keep(member: Member): void {
    this.#idle.push(member)
    this.#options.idle.add(member.process)
  }

  /** Removes an ended process from the pool, so that the next waiting call can start another process. */
  #remove(member: Member): void {
    this.#members.delete(member)
    const index = this.#idle.indexOf(member)
    if (index >= 0) this.#idle.splice(index, 1)
    this.#options.idle.delete(member.process)
    void this.#options.discard(member)
    this.#waiting.shift()?.resolve(undefined)
  }

  async #drain(): Promise<void> {
    const { onClosed } = this.#options
    // Reject the calls that have not begun. The caller then repeats these calls with the newer code.
    for (const waiter of this.#waiting.splice(0)) waiter.reject(replacedError())
    for (let member = this.#takeIdle(); member !== undefined; member = this.#takeIdle()) member.process.kill()
    if (this.#running > 0) {
      const drained = Promise.withResolvers<void>()
      this.#onDrained = drained.resolve
      await drained.promise
    }
    this.#end.abort()
    const left = [...this.#members]
    for (const { process } of left)
      process.kill('newer code replaced it or the runner was closed, and the call did not end in time')
    await Promise.all(left.map(each => each.left))
    await onClosed()
  }
}

/** Limits how many idle processes of all skills are kept, and for how long. */
export class IdleProcesses {
  readonly #most: number
  readonly #idleMs: number
  readonly #timers = new Map<ScriptProcess, NodeJS.Timeout>()

  constructor(most: number, idleMs: number) {
    this.#most = most
    this.#idleMs = idleMs
  }

  add(process: ScriptProcess): void {
    const timer = setTimeout(() => process.kill(), this.#idleMs).unref()
    this.#timers.set(process, timer)
    const [oldest] = this.#timers.keys()
    if (this.#timers.size <= this.#most || oldest === undefined) return
    this.delete(oldest)
    oldest.kill()
  }

  delete(process: ScriptProcess): void {
    clearTimeout(this.#timers.get(process))
    this.#timers.delete(process)
  }
}

const MAX_WAITING = 1_000
/** Number of calls after which a process is replaced by a new process. */
const MAX_CALLS = 1_000
const MAX_ATTEMPTS = 3

type Waiter = PromiseWithResolvers<Member | undefined>

function replacedError(): SkillError {
  return new SkillError('CLOSED', 'newer code has replaced this code')
}

function lateError({ id }: SkillCommand, timeoutMs: number): SkillError {
  return new SkillError('TIMED_OUT', `${id}: no process was free within ${Math.round(timeoutMs)} ms`)
}

/** @throws {SkillError} INPUT_INVALID */
function toJson({ id }: SkillCommand, input: unknown): string {
  try {
    return JSON.stringify(input ?? {})
  } catch (thrown) {
    // The value contains a cycle, a bigint, or too many levels.
    throw new SkillError('INPUT_INVALID', `${id}: the input cannot be written as JSON: ${toMessage(thrown)}`)
  }
}

function toValue(
  outcome: CallFrameOutcome,
  command: SkillCommand,
  input: unknown,
  { locate, isOffline }: { readonly locate: (stack: string) => string; readonly isOffline: boolean },
): unknown {
  const { id } = command
  switch (outcome.kind) {
    case 'result':
      return outcome.value
    case 'refused':
      throw new SkillError('INPUT_INVALID', `${id}: ${describeFaults(outcome.faults, command, input)}`, {
        data: { ...outcome.faults },
      })
    case 'too-large':
      throw new SkillError('TOO_LARGE', `${id}: the result has ${outcome.bytes} bytes, more than the limit`)
    case 'lost':
    case 'error': {
      const { message, stack } = outcome
      const place = locate(stack)
      const hint = describePermission(message, isOffline)
      throw new SkillError(
        'SCRIPT_FAILED',
        `${id}: ${message}${place === '' ? '' : ` (${place})`}${hint === undefined ? '' : `; ${hint}`}`,
        { data: { stack } },
      )
    }
    default:
      return outcome satisfies never
  }
}

function describeFaults(
  { missing, unknown, wrong }: InputFaults,
  command: SkillCommand,
  input: unknown,
): string {
  const given = typeof input === 'object' && input !== null ? Object.keys(input) : []
  const properties = command.inputSchema['properties']
  const known = typeof properties === 'object' && properties !== null ? Object.keys(properties) : []
  const parts = [
    ...(missing.length === 0 ? [] : [`missing: ${quoteAll(missing)}`]),
    ...(unknown.length === 0 ? [] : [`there is no field ${quoteAll(unknown)}`]),
    ...wrong.map(({ field, message }) => (field === '' ? message : `${quote(field)}: ${message}`)),
    `given: ${given.length === 0 ? 'nothing' : quoteAll(given)}`,
    listFields(known),
  ]
  return parts.join('; ')
}

/**
 * Describes a missing permission with the name of its capability, because skill authors do not know the permission
 * flags of Node.
 */
function describePermission(message: string, isOffline: boolean): string | undefined {
  const flag = /Use --allow-(fs-read|fs-write|child-process) to manage permissions/.exec(message)?.[1]
  const isNetwork = isOffline && OFFLINE.test(message)
  if (flag === undefined && !isNetwork) return undefined
  const word = { 'fs-read': 'fs.read', 'fs-write': 'fs.write', 'child-process': 'exec', '': 'net' }[
    flag ?? ''
  ]
  return `metadata.capabilities can ask for ${showValue(word)}, and the user can grant it`
}

/** Network error codes that occur in a sandbox without network access. */
const OFFLINE = /\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND|ECONNREFUSED|EADDRNOTAVAIL)\b/
