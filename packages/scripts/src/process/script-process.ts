import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { type Duplex, PassThrough, type Readable } from 'node:stream'
import { type SkillCommand, SkillError } from '@skillstoke/core'
import {
  CALL_TIMEOUT_MS,
  defined,
  LATE,
  toMessage,
  untilAborted,
  waitAtMost,
} from '@skillstoke/core/internal'
import { type ScriptLine, type ScriptRunOptions, systemClock } from '@skillstoke/core/source'
import type { CallFrame, ChildFrame, CommandFrame, HostFrame, LoadFrame } from '../child/frames.ts'
import { Lines } from '../child/lines.ts'
import { ContainedProcess } from './contained-process.ts'
import type { Launch } from './launch.ts'
import { Output, type OutputLimits } from './output.ts'
import { parseFrame } from './parse-frame.ts'
import type { Redaction } from './redact.ts'
import { withoutControls } from './without-controls.ts'

/** The outcome of a call, as the process reports it. */
export type CallFrameOutcome =
  | Extract<ChildFrame, { kind: 'result' | 'refused' | 'error' | 'too-large' }>
  /** The process ended before the call began, so another process can run the call. */
  | { readonly kind: 'lost'; readonly message: string; readonly stack: string }

export interface LoadLimits {
  readonly timeoutMs: number
  /** Time limit until the first module begins to load. @default `timeoutMs` */
  readonly silenceMs?: number
  readonly signal?: AbortSignal | undefined
}

export type LoadFrameOutcome =
  | { readonly kind: 'loaded'; readonly commands: readonly CommandFrame[] }
  /** A load failure. If `path` is missing, the load failed before any module began to run. */
  | { readonly kind: 'failed'; readonly path?: string; readonly message: string; readonly stack: string }

export interface ScriptProcessOptions {
  readonly launch: Launch
  readonly env: Readonly<Record<string, string>>
  readonly workingDirectory: string
  readonly limits: OutputLimits
  /** Removes secrets from all output of the process. */
  readonly redaction: Redaction
}

interface Call {
  readonly id: number
  readonly options: ScriptRunOptions
  readonly settle: (outcome: CallFrameOutcome) => void
  bytes: number
  hasBegun: boolean
}

// Maximum bytes of the progress and log lines of one call, in addition to the limit of its result.
const MAX_FRAME_BYTES = 8_388_608
const STDERR_TAIL = 2_000
const MAX_ID = 2 ** 48 - 1
/** How long a cancelled command may continue before its process is killed, in milliseconds. */
const STOP_GRACE_MS = 500

/**
 * One process that runs the commands of one revision, one call at a time.
 *
 * ```text
 * starting --ready--> loading --loaded, failed--> idle --call()--> calling --result--> idle
 *                                                                  calling --abort, deadline--> stopping
 *                                                                                   stopping --stopped--> idle
 * every state --kill(), exit--> ended
 * ```
 */
export class ScriptProcess {
  readonly #process: ContainedProcess
  readonly #channel: Duplex
  readonly #limits: OutputLimits
  readonly #redaction: Redaction
  readonly #stdout: Output
  readonly #stderr: Output
  readonly #loading = Promise.withResolvers<LoadFrameOutcome>()
  /**
   * Resolves when the process, and all processes that the process started, have ended; see `ContainedProcess.ended`.
   */
  readonly exited: Promise<void>
  #exit: string | undefined
  #killedFor: string | undefined
  #call: Call | undefined
  readonly #lines = new Lines()
  /** Path of the module that is loading. */
  #module: string | undefined
  #isStopping = false
  #stopped: Promise<void> = Promise.resolve()
  #idleBytes = 0
  #isLoading = true
  /** Frames that wait until the process is ready. If the host is killed before, the process never gets code to run. */
  #held: string[] | undefined = []

  constructor({ launch, env, workingDirectory, limits, redaction }: ScriptProcessOptions) {
    this.#limits = limits
    this.#redaction = redaction
    this.#process = new ContainedProcess(launch, { env, workingDirectory, hasChannel: true })
    this.exited = this.#process.ended
    const { child } = this.#process
    // If no file descriptor is free, the output streams are missing here, and an `error` event follows.
    const [, stdout, stderr, channel] = (child.stdio as ChildProcess['stdio'] | undefined) ?? []
    this.#channel = (channel ?? new PassThrough()) as Duplex
    const nothing = new PassThrough().end()
    const follow = (stream: Readable | null | undefined, kind: 'stdout' | 'stderr'): Output =>
      new Output(stream ?? nothing, limits[kind], redaction, text => this.#tell({ stream: kind, text }))
    this.#stdout = follow(stdout, 'stdout')
    this.#stderr = follow(stderr, 'stderr')
    const onExit = (reason: string): void => {
      this.#exit ??= this.#killedFor ?? reason
      this.#end()
    }
    child.on('error', error => onExit(`it could not be started: ${error.message}`))
    child.on('exit', (code, signal) => onExit(signal === null ? `exit code ${code}` : `signal ${signal}`))
    this.#channel.setEncoding('utf8')
    this.#channel.on('data', (text: string) => this.#take(text))
    // Ignore errors of the channel: the process is ending, and its `exit` event reports the reason.
    this.#channel.on('error', () => undefined)
  }

  /** Allows the host to exit while the process waits for a call. */
  unref(): void {
    this.#process.unref()
  }

  /** Reverts `unref`. */
  ref(): void {
    this.#process.ref()
  }

  /** The process, and all processes that the process started. */
  get contained(): ContainedProcess {
    return this.#process
  }

  /** Resolves when a cancelled call has stopped, or the process has ended. */
  get stopped(): Promise<void> {
    return this.#stopped
  }

  /** Whether the process can run another call. */
  get isUsable(): boolean {
    return this.#exit === undefined && this.#call === undefined && !this.#isStopping
  }

  /**
   * Makes the process import the modules of this project that every skill needs. Called before the process gets a
   * skill.
   */
  prepare(modules: readonly string[]): void {
    this.#send({ kind: 'prepare', modules })
  }

  /** Loads the modules of a skill. If a module is faulty, does not reject, but resolves with a failure outcome. */
  async load(
    frame: LoadFrame,
    { timeoutMs, silenceMs = timeoutMs, signal }: LoadLimits,
  ): Promise<LoadFrameOutcome> {
    const onAbort = (): void => this.kill('the load was cancelled')
    if (signal?.aborted === true) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#send(frame)
    const timer = setTimeout(() => {
      this.#failLoading(`loading did not finish within ${timeoutMs} ms`)
    }, timeoutMs)
    const silence = setTimeout(() => {
      if (this.#module === undefined) this.#failLoading(`it did not begin to load within ${silenceMs} ms`)
    }, silenceMs)
    const outcome = await this.#loading.promise
    clearTimeout(timer)
    clearTimeout(silence)
    signal?.removeEventListener('abort', onAbort)
    this.#module = undefined
    this.#isLoading = false
    this.#idleBytes = 0
    this.#stdout.reset()
    this.#stderr.reset()
    return outcome
  }

  /**
   * Runs a command. The input is passed as JSON. If the call is cancelled or times out, the command gets a short time to stop. If the command does not stop in time, the process is killed.
   * @throws {SkillError} TIMED_OUT, SCRIPT_FAILED; the reason of the signal when the signal aborts
   */
  async call(
    { id: shown, name: command }: Pick<SkillCommand, 'id' | 'name'>,
    input: string,
    scratchDirectory: string,
    options: ScriptRunOptions,
  ): Promise<CallFrameOutcome> {
    const { signal, timeoutMs = CALL_TIMEOUT_MS.default } = options
    signal?.throwIfAborted()
    // Random id, so a script cannot forge the answer to a later call.
    const id = randomInt(MAX_ID)
    const outcome = Promise.withResolvers<CallFrameOutcome>()
    const limitMs = Math.min(timeoutMs, CALL_TIMEOUT_MS.longest)
    this.#stdout.reset()
    this.#stderr.reset()
    this.#call = { id, options, settle: outcome.resolve, bytes: 0, hasBegun: false }
    this.#idleBytes = 0
    try {
      if (this.#exit !== undefined) this.#end()
      const frame: Omit<CallFrame, 'input'> = { kind: 'call', id, command, scratchDirectory }
      this.#write(`${JSON.stringify(frame).slice(0, -1)},"input":${input}}`)
      const settled = await waitAtMost(systemClock, limitMs, untilAborted(signal, outcome.promise))
      if (settled === LATE) throw new SkillError('TIMED_OUT', `${shown}: it took longer than ${timeoutMs} ms`)
      // Wait until pending data from stdout and stderr has arrived.
      await new Promise<void>(resolve => void setImmediate(resolve))
      this.#call = undefined
      return settled
    } catch (thrown) {
      this.#giveUp(id)
      throw thrown
    }
  }

  /** Kills the process and all processes that it started. Pending calls fail with `reason`. */
  kill(reason?: string): void {
    this.#killedFor ??= reason
    this.#isStopping = true
    this.#process.kill()
  }

  #giveUp(id: number): void {
    if (this.#exit !== undefined || this.#call?.id !== id) return
    this.#isStopping = true
    this.#send({ kind: 'cancel', id })
    const timer = setTimeout(() => this.kill(), STOP_GRACE_MS)
    const stopped = Promise.withResolvers<void>()
    this.#stopped = Promise.race([stopped.promise, this.exited])
    this.#call = {
      id,
      options: {},
      bytes: 0,
      hasBegun: true,
      settle: () => {
        clearTimeout(timer)
        this.#call = undefined
        // A cancelled command stopped in time, so the process can run another call.
        this.#isStopping = false
        stopped.resolve()
      },
    }
  }

  #send(frame: HostFrame): void {
    this.#write(JSON.stringify(frame))
  }

  #write(line: string): void {
    if (this.#held !== undefined) this.#held.push(line)
    else if (this.#channel.writable) this.#channel.write(`${line}\n`)
  }

  /** Sends the held frames when the process is ready. */
  #begin(): void {
    this.#process.noteStart()
    const held = this.#held ?? []
    this.#held = undefined
    for (const line of held) this.#write(line)
  }

  #take(text: string): void {
    const call = this.#call
    if (call !== undefined) call.bytes += text.length
    else this.#idleBytes += text.length
    const lines = this.#lines.take(text)
    const isFlood = (call?.bytes ?? 0) > MAX_FRAME_BYTES + this.#limits.stdout
    // A process that works correctly sends no lines between two calls.
    const isIdleFlood = !this.#isLoading && this.#idleBytes > this.#limits.stdout
    if (isFlood || isIdleFlood || this.#lines.pending > this.#limits.stdout + MAX_FRAME_BYTES)
      this.kill('it sent more data than the limit')
    else for (const line of lines) this.#receive(line)
  }

  /**
   * Handles a line from the process. A script controls the content of the line. If handling the line fails, the process is killed, and no error is thrown.
   */
  #receive(line: string): void {
    try {
      this.#handle(line)
    } catch (thrown) {
      this.kill(`the script sent data that could not be handled: ${toMessage(thrown)}`)
    }
  }

  #handle(line: string): void {
    const frame = parseFrame(line, { redaction: this.#redaction, maxBytes: this.#limits.stdout })
    if (frame === undefined) return
    const call = this.#call
    if (frame.kind === 'ready') this.#begin()
    else if (frame.kind === 'loading') this.#module = frame.path
    else if (frame.kind === 'loaded' || frame.kind === 'failed') this.#loading.resolve(frame)
    else if (call === undefined) this.kill('it sent more after its result')
    else if (frame.id !== call.id) return
    else if (frame.kind === 'begun') call.hasBegun = true
    else if (frame.kind === 'log') this.#tell({ stream: 'log', text: withoutControls(frame.message) })
    else if (frame.kind === 'progress') {
      const { kind: _kind, id: _id, ...progress } = frame
      call.options.onProgress?.(progress)
    } else call.settle(frame)
  }

  #tell(line: ScriptLine): void {
    this.#call?.options.onLine?.(line)
  }

  /** Settles the pending load and the pending call. Called when the process has ended. */
  #end(): void {
    const { text } = this.#stderr
    const stack = text.trim().slice(-STDERR_TAIL)
    const isFull = text.includes('heap out of memory')
    const message = `the process ended without a result: ${isFull ? 'it ran out of memory' : this.#exit}`
    this.#failLoading(message, stack)
    const call = this.#call
    call?.settle(
      call.hasBegun ? { kind: 'error', id: call.id, message, stack } : { kind: 'lost', message, stack },
    )
  }

  #failLoading(message: string, stack = ''): void {
    this.#loading.resolve({ kind: 'failed', ...defined({ path: this.#module }), message, stack })
  }
}
