import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import type { Launch } from './launch.ts'

export interface ContainedProcessOptions {
  readonly env: Readonly<Record<string, string>>
  readonly workingDirectory: string
  /** Whether descriptor 3 is a channel to the host. */
  readonly hasChannel: boolean
}

// Descriptors on which bubblewrap writes what it has started, and reads its filter.
export const INFO_DESCRIPTOR = 4
export const FILTER_DESCRIPTOR = 5

/** How long bubblewrap may take to say what it has started, before it is ended without knowing. */
const INFO_MS = 1_000
/** How long to wait for the end of a sandbox that was killed: a process can hang in the kernel. */
const SANDBOX_END_MS = 5_000
/** The same for a group; where nothing reaps orphans, dead ones are counted for ever. */
const GROUP_END_MS = 250
const LONGEST_POLL_MS = 50

const alive = new Set<ContainedProcess>()
let isWatched = false

/** Kills every process and what it has started when the host exits. */
export function endWithHost(): void {
  if (isWatched) return
  isWatched = true
  process.on('exit', () => {
    for (const each of alive) each.kill()
  })
}

/** A program in a group of its own, and in the namespaces of a sandbox where it has one; with everything that it starts. */
export class ContainedProcess {
  readonly child: ChildProcess
  /**
   * Resolves when the program has exited and nothing that it started runs any more: in a sandbox without exception, elsewhere
   * as far as it stayed in its group.
   */
  readonly ended: Promise<void>
  readonly #first: Promise<FirstProcess | undefined>
  #known: FirstProcess | undefined
  #isKilled = false

  constructor({ command, args, sandbox }: Launch, options: ContainedProcessOptions) {
    const { env, workingDirectory, hasChannel } = options
    const stdio: StdioOptions = [
      'ignore',
      'pipe',
      'pipe',
      hasChannel ? 'pipe' : 'ignore',
      ...(sandbox === undefined ? [] : (['pipe', sandbox.filter === undefined ? 'ignore' : 'pipe'] as const)),
    ]
    this.child = spawn(command, args, { env, cwd: workingDirectory, stdio, detached: true })
    alive.add(this)
    // Where descriptors have run out there are no pipes, and the error comes later.
    const pipes = this.child.stdio as readonly unknown[] | undefined
    this.#first =
      sandbox === undefined
        ? Promise.resolve(undefined)
        : readFirstProcess(pipes?.[INFO_DESCRIPTOR] as Readable | undefined)
    sendFilter(pipes?.[FILTER_DESCRIPTOR] as Writable | undefined, sandbox?.filter)
    void this.#first.then(first => {
      this.#known = first
      if (this.#isKilled) this.kill()
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    const onExit = (): void => void this.#end().then(resolve)
    this.child.on('error', () => {
      // An error after the start is about a signal, not an end.
      if (this.child.pid === undefined) onExit()
    })
    this.child.on('exit', onExit)
  }

  /** Ends the program, its group and its sandbox at once. */
  kill(): void {
    const isFirstKill = !this.#isKilled
    this.#isKilled = true
    if (this.#known !== undefined) {
      // With its first process the kernel ends all others of the sandbox, and bubblewrap exits when they are gone.
      if (isRunning(this.#known)) signal(this.#known.pid)
      return
    }
    if (!this.#isStarting()) signalGroup(this.child.pid)
    // Bubblewrap that is killed before it has set up its sandbox leaves a process that waits for ever.
    else if (isFirstKill) setTimeout(() => signalGroup(this.child.pid), INFO_MS).unref()
  }

  /** Whether bubblewrap has not said yet what it has started. */
  #isStarting(): boolean {
    // Where descriptors have run out there are no pipes.
    const pipes = this.child.stdio as readonly unknown[] | undefined
    const info = pipes?.[INFO_DESCRIPTOR] as Readable | null | undefined
    return info?.readableEnded === false && this.child.exitCode === null && this.child.signalCode === null
  }

  async #end(): Promise<void> {
    signalGroup(this.child.pid)
    const first = await this.#first
    if (first !== undefined) {
      await waitUntil(
        () => !isRunning(first),
        SANDBOX_END_MS,
        () => signal(first.pid),
      )
    } else {
      const { pid } = this.child
      await waitUntil(
        () => !hasGroup(pid),
        GROUP_END_MS,
        () => signalGroup(pid),
      )
    }
    alive.delete(this)
  }
}

/** The process with number 1 of a sandbox, as the host sees it. */
interface FirstProcess {
  readonly pid: number
  /** In ticks since the machine was started: tells it from another process that gets its number later. */
  readonly startedAt: string
}

async function readFirstProcess(info: Readable | undefined): Promise<FirstProcess | undefined> {
  if (info === undefined) return undefined
  let text = ''
  info.on('data', (data: Buffer) => (text += data.toString()))
  await new Promise<void>(resolve => info.on('end', resolve).on('error', resolve).on('close', resolve))
  const pid = Number(/"child-pid": *(\d+)/.exec(text)?.[1])
  const startedAt = pid > 0 ? readStatus(pid)?.startedAt : undefined
  return startedAt === undefined ? undefined : { pid, startedAt }
}

function sendFilter(descriptor: Writable | undefined, filter: Uint8Array | undefined): void {
  // Bubblewrap may be gone before it has read anything; its exit says the rest.
  descriptor?.on('error', () => undefined)
  descriptor?.end(filter)
}

/** Whether it lives. One that nobody has taken note of yet has ended, and so has everything in its namespace. */
function isRunning({ pid, startedAt }: FirstProcess): boolean {
  const status = readStatus(pid)
  return status !== undefined && status.startedAt === startedAt && !/[ZX]/.test(status.state)
}

/** See proc_pid_stat(5): the name in parentheses may contain anything. */
function readStatus(pid: number): { readonly state: string; readonly startedAt: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0] ?? '', startedAt: fields[19] ?? '' }
  } catch {
    return undefined // gone
  }
}

function signalGroup(pid: number | undefined): void {
  if (pid !== undefined && process.platform !== 'win32') signal(-pid)
}

function hasGroup(pid: number | undefined): boolean {
  return pid !== undefined && process.platform !== 'win32' && isThere(-pid)
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (thrown) {
    // Nothing is left of it, or nothing of ours.
    if (!['ESRCH', 'EPERM'].includes((thrown as NodeJS.ErrnoException).code ?? '')) throw thrown
  }
}

/** Repeats an attempt until `holds` returns true, for `withinMs` at most. */
async function waitUntil(holds: () => boolean, withinMs: number, attempt: () => void): Promise<void> {
  const deadline = performance.now() + withinMs
  for (
    let pauseMs = 1;
    !holds() && performance.now() < deadline;
    pauseMs = Math.min(pauseMs * 2, LONGEST_POLL_MS)
  ) {
    attempt()
    await new Promise(resolve => void setTimeout(resolve, pauseMs))
  }
}
