import { type ChildProcess, spawn } from 'node:child_process'
import { type Duplex, PassThrough } from 'node:stream'
import { type Command, type RunOptions, type ScriptLine, SkillError } from '../../index.ts'
import type { ChildFrame, CommandFrame, HostFrame, LoadFrame } from './child/frames.ts'
import { killGroup } from './kill-group.ts'
import type { Launch } from './launch.ts'
import { Output, type OutputLimits, toLine } from './output.ts'
import { parseFrame } from './parse-frame.ts'
import { type Redact, redactValue } from './redact.ts'

/** What a call of a process came to, before anybody has looked at it. */
export type CallFrameOutcome = Extract<ChildFrame, { kind: 'result' | 'refused' | 'error' | 'too-large' }>

export type LoadFrameOutcome =
  | { readonly kind: 'loaded'; readonly commands: readonly CommandFrame[] }
  | { readonly kind: 'failed'; readonly path?: string; readonly message: string; readonly stack: string }

export interface ScriptProcessOptions {
  readonly launch: Launch
  readonly env: Readonly<Record<string, string>>
  readonly workingDirectory: string
  readonly limits: OutputLimits
  /** Takes secrets out of everything that leaves the process. */
  readonly redact: Redact
}

interface Call {
  readonly id: number
  readonly options: RunOptions
  readonly settle: (outcome: CallFrameOutcome) => void
  bytes: number
}

// What a script may send in one call beside its result: progress and log lines.
const MAX_FRAME_BYTES = 8_388_608
const STDERR_TAIL = 2_000
const LONGEST_DEADLINE_MS = 600_000
export const DEFAULT_TIMEOUT_MS = 30_000
/** How long a command may go on after it was told to stop, before its process is ended. */
const STOP_GRACE_MS = 500

const alive = new Set<ChildProcess>()
let isWatched = false

/** A process that ends without having closed anything leaves nobody behind. */
export function endWithHost(): void {
  if (isWatched) return
  isWatched = true
  process.on('exit', () => {
    for (const { pid } of alive) killGroup(pid)
  })
}

/** One process that runs the commands of one revision, one call at a time. */
export class ScriptProcess {
  readonly #child: ChildProcess
  readonly #channel: Duplex
  readonly #limits: OutputLimits
  readonly #redact: Redact
  readonly #stdout: Output
  readonly #stderr: Output
  readonly #loading = Promise.withResolvers<LoadFrameOutcome>()
  /** Resolves when the process is gone, and everything that it started in its group. */
  readonly exited: Promise<void>
  #exit: string | undefined
  #killedFor: string | undefined
  #call: Call | undefined
  #lastId = 0
  #pending = ''
  #isStopping = false
  #stopped: Promise<void> = Promise.resolve()
  #hasScratch = false
  #idleBytes = 0

  constructor({ launch, env, workingDirectory, limits, redact }: ScriptProcessOptions) {
    this.#limits = limits
    this.#redact = redact
    this.#child = spawn(launch.command, launch.args, {
      env,
      cwd: workingDirectory,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      // A group of its own, so that everything in it can be ended.
      detached: true,
    })
    alive.add(this.#child)
    // Where descriptors have run out there are no pipes, and the error comes later.
    const [, stdout, stderr, channel] = (this.#child.stdio as ChildProcess['stdio'] | undefined) ?? []
    this.#channel = (channel ?? new PassThrough()) as Duplex
    const nothing = new PassThrough().end()
    this.#stdout = new Output(stdout ?? nothing, limits.stdout, text => this.#tell('stdout', text))
    this.#stderr = new Output(stderr ?? nothing, limits.stderr, text => this.#tell('stderr', text))
    const { promise, resolve } = Promise.withResolvers<void>()
    this.exited = promise
    const onExit = (reason: string): void => {
      this.#exit ??= this.#killedFor ?? reason
      alive.delete(this.#child)
      killGroup(this.#child.pid)
      this.#end()
      resolve()
    }
    this.#child.on('error', error => onExit(`it could not be started: ${error.message}`))
    this.#child.on('exit', (code, signal) =>
      onExit(signal === null ? `exit code ${code}` : `signal ${signal}`),
    )
    this.#channel.setEncoding('utf8')
    this.#channel.on('data', (text: string) => this.#take(text))
    // The process is gone or going: its exit says the rest.
    this.#channel.on('error', () => undefined)
  }

  /** Whether the last call may have left something in its folder. */
  get hasScratch(): boolean {
    return this.#hasScratch
  }

  /** Resolves when a call that was given up has ended, or its process has. */
  get stopped(): Promise<void> {
    return this.#stopped
  }

  /** Whether it can take another call. */
  get isUsable(): boolean {
    return this.#exit === undefined && this.#call === undefined && !this.#isStopping
  }

  /** Loads the modules of a skill; resolves with what is wrong with them, too. */
  async load(frame: LoadFrame, timeoutMs: number): Promise<LoadFrameOutcome> {
    this.#send(frame)
    const timer = setTimeout(() => {
      this.#loading.resolve({
        kind: 'failed',
        message: `loading did not come to an end within ${timeoutMs} ms`,
        stack: '',
      })
    }, timeoutMs)
    const outcome = await this.#loading.promise
    clearTimeout(timer)
    this.#stdout.reset()
    this.#stderr.reset()
    return outcome
  }

  /**
   * Runs a command. When it has to be given up the process gets a moment to end the work, and is ended otherwise.
   * @throws {SkillError} TIMED_OUT, SCRIPT_FAILED; the reason of the signal when it aborts
   */
  async call(
    { id: shown, name: command }: Pick<Command, 'id' | 'name'>,
    input: unknown,
    scratchDirectory: string,
    options: RunOptions,
  ): Promise<CallFrameOutcome> {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = options
    signal?.throwIfAborted()
    const id = ++this.#lastId
    const outcome = Promise.withResolvers<CallFrameOutcome>()
    const onAbort = (): void => outcome.reject(signal?.reason)
    const deadline = setTimeout(
      () => outcome.reject(new SkillError('TIMED_OUT', `${shown}: it took longer than ${timeoutMs} ms`)),
      Math.min(timeoutMs, LONGEST_DEADLINE_MS),
    )
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#stdout.reset()
    this.#stderr.reset()
    this.#call = { id, options, settle: outcome.resolve, bytes: 0 }
    this.#idleBytes = 0
    this.#hasScratch = false
    try {
      if (this.#exit !== undefined) this.#end()
      this.#send({ kind: 'call', id, command, input, scratchDirectory })
      const settled = await outcome.promise
      // What was written to the outputs before is there by now.
      await new Promise<void>(resolve => void setImmediate(resolve))
      this.#call = undefined
      return settled
    } catch (thrown) {
      this.#giveUp(id)
      throw thrown
    } finally {
      clearTimeout(deadline)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Ends the process and its group at once; the reason is told to whoever waits for a result. */
  kill(reason?: string): void {
    this.#killedFor ??= reason
    this.#isStopping = true
    killGroup(this.#child.pid)
    this.#child.kill('SIGKILL')
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
      settle: () => {
        clearTimeout(timer)
        this.#call = undefined
        // It has stopped in time, and may be used again.
        this.#isStopping = false
        stopped.resolve()
      },
    }
  }

  #send(frame: HostFrame): void {
    if (this.#channel.writable) this.#channel.write(`${JSON.stringify(frame)}\n`)
  }

  #take(text: string): void {
    const call = this.#call
    if (call !== undefined) call.bytes += text.length
    else this.#idleBytes += text.length
    const lines = `${this.#pending}${text}`.split('\n')
    this.#pending = lines.pop() ?? ''
    const isFlood = (call?.bytes ?? 0) > MAX_FRAME_BYTES + this.#limits.stdout
    // Between calls there is nothing to say.
    const isIdleFlood = this.#idleBytes > this.#limits.stdout
    if (isFlood || isIdleFlood || this.#pending.length > this.#limits.stdout + MAX_FRAME_BYTES)
      this.kill('it sent more than it may')
    else for (const line of lines) this.#handle(line)
  }

  /** Frames come from a process that runs somebody's script: whatever they are, they are data. */
  #handle(line: string): void {
    const parsed = parseFrame(line)
    if (parsed === undefined || parsed.kind === 'ready') return
    const frame = redactFrame(parsed, this.#redact)
    const call = this.#call
    if (frame.kind === 'loaded' || frame.kind === 'failed') this.#loading.resolve(frame)
    else if (call === undefined || frame.id !== call.id) return
    else if (frame.kind === 'scratch') this.#hasScratch = true
    else if (frame.kind === 'log') call.options.onLine?.(toLine('log', frame.message))
    else if (frame.kind === 'progress') {
      const { kind: _kind, id: _id, ...progress } = frame
      call.options.onProgress?.(progress)
    } else call.settle(frame)
  }

  #tell(stream: ScriptLine['stream'], text: string): void {
    const line = toLine(stream, text)
    this.#call?.options.onLine?.({ ...line, text: this.#redact(line.text) })
  }

  /** Whoever waits for the process hears that there is nothing to wait for. */
  #end(): void {
    const said = this.#redact(this.#stderr.text.trim().slice(-STDERR_TAIL))
    const isFull = said.includes('heap out of memory')
    const message = `the process ended without a result: ${isFull ? 'it ran out of memory' : this.#exit}`
    const stack = said
    this.#loading.resolve({ kind: 'failed', message, stack })
    this.#call?.settle({ kind: 'error', id: this.#call.id, message, stack })
  }
}

/** The same frame without secrets; what we have to recognise in it stays as it is. */
function redactFrame<Frame extends ChildFrame>(frame: Frame, redact: Redact): Frame {
  const { kind } = frame
  const clean = redactValue(frame, redact) as Frame
  if (frame.kind !== 'loaded') return { ...clean, kind }
  const commands = frame.commands.map(command => ({
    ...(redactValue(command, redact) as CommandFrame),
    name: command.name,
    path: command.path,
  }))
  return { ...clean, kind, commands }
}
