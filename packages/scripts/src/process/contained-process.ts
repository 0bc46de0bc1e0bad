import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, readSync, unlinkSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex, Writable } from 'node:stream'
import { hasGroup, killGroup, killProcess } from '@skillstoke/core/internal/node'
import type { Launch } from './launch.ts'
import { type ProcessStatus, readStatus } from './process-status.ts'

export interface ContainedProcessOptions {
  readonly env: Readonly<Record<string, string>>
  readonly workingDirectory: string
  /** Whether descriptor 3 is a channel to the host. */
  readonly hasChannel: boolean
}

/** The channel of a script process. Other programs in a sandbox use this descriptor only to wait for the host. */
export const CHANNEL_DESCRIPTOR = 3
// Two file descriptors of bubblewrap. On the first, bubblewrap reports the process that it started. From the second,
// bubblewrap reads its filter.
export const INFO_DESCRIPTOR = 4
export const FILTER_DESCRIPTOR = 5

/** How long `kill()` waits until bubblewrap reports the first process of the sandbox, in milliseconds. */
const INFO_MS = 1_000
/** How long to wait until a killed sandbox has ended, in milliseconds. The wait is limited, because a process can hang in the kernel. */
const SANDBOX_END_MS = 5_000
/** How long to wait until a killed process group has ended, in milliseconds. The wait is limited, because dead processes still count as members of the group on systems that never reap orphans. */
const GROUP_END_MS = 250
const LONGEST_POLL_MS = 50

const alive = new Set<ContainedProcess>()
let isWatched = false

/** Kills all child processes and their descendants when the host exits. */
export function endWithHost(): void {
  if (isWatched) return
  isWatched = true
  process.on('exit', () => {
    for (const each of alive) each.kill()
  })
}

/** A program and all processes that it starts. The processes have their own process group and, where available, a sandbox. */
export class ContainedProcess {
  readonly child: ChildProcess
  /**
   * Resolves when the program and all processes of its sandbox have ended, or five seconds after the program was
   * killed. Without a sandbox, waits only for processes that stayed in the process group.
   */
  readonly ended: Promise<void>
  /** Resolves when the host has seen that all processes ended. If a process hangs in the kernel, `gone` resolves later than `ended`. */
  readonly gone: Promise<void>
  /** Descriptor of the file in which bubblewrap reports the first process of the sandbox. */
  #info: number | undefined
  #known: FirstProcess | undefined
  #isKilled = false
  #isGone = false

  constructor({ command, args, sandbox }: Launch, options: ContainedProcessOptions) {
    const { env, workingDirectory, hasChannel } = options
    this.#info = sandbox === undefined ? undefined : openInfo(sandbox.folder)
    const hasGate = sandbox !== undefined && !hasChannel
    const stdio: StdioOptions = [
      'ignore',
      'pipe',
      'pipe',
      hasChannel || hasGate ? 'pipe' : 'ignore',
      ...(sandbox === undefined
        ? []
        : ([this.#info ?? 'ignore', sandbox.filter === undefined ? 'ignore' : 'pipe'] as const)),
    ]
    this.child = spawn(command, args, {
      env,
      cwd: workingDirectory,
      stdio,
      // On Windows, which has no process groups, a detached program would open a console window. A program that is not detached ends with the host.
      detached: process.platform !== 'win32',
      windowsHide: true,
    })
    alive.add(this)
    // If no file descriptor is free, `stdio` is missing here, and an `error` event follows.
    const pipes = this.child.stdio as readonly unknown[] | undefined
    sendFilter(pipes?.[FILTER_DESCRIPTOR] as Writable | undefined, sandbox?.filter)
    if (hasGate) this.#openGate(pipes?.[CHANNEL_DESCRIPTOR] as Duplex | undefined)
    const ended = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    this.ended = ended.promise
    this.gone = gone.promise
    void gone.promise.then(() => alive.delete(this))
    const onExit = (): void => void this.#end(ended.resolve).then(gone.resolve)
    this.child.on('error', () => {
      // An `error` event after the start means that a signal could not be sent, not that the process has ended.
      if (this.child.pid === undefined) onExit()
    })
    this.child.on('exit', onExit)
  }

  /** Whether the host has seen that all processes ended. While `isGone` is false, files that the processes can write to must not be removed. */
  get isGone(): boolean {
    return this.#isGone
  }

  /** Allows the host to exit while the program still runs. The exit of the host then ends the program. */
  unref(): void {
    this.child.unref()
    for (const each of this.#pipes()) each?.unref()
  }

  /** Reverts `unref`. */
  ref(): void {
    this.child.ref()
    for (const each of this.#pipes()) each?.ref()
  }

  #pipes(): readonly (Socket | null | undefined)[] {
    // If no file descriptor is free, `stdio` is missing.
    return (this.child.stdio as readonly unknown[] as readonly Socket[] | undefined) ?? []
  }

  /** Call this when the program has started, while bubblewrap still runs: then `kill()` can end the sandbox at once. */
  noteStart(): void {
    this.#find()
  }

  /**
   * Lets a program in a sandbox begin when it asks. If the host has been killed, nothing answers and the program does not
   * begin, even if bubblewrap missed the death of the host.
   */
  #openGate(gate: Duplex | undefined): void {
    gate?.on('error', () => undefined)
    gate?.once('data', () => {
      this.noteStart()
      gate.end('\n')
    })
  }

  /** Returns the first process of the sandbox, as soon as bubblewrap has reported it. */
  #find(): FirstProcess | undefined {
    if (this.#info === undefined) return this.#known
    this.#known = readFirstProcess(this.#info, this.child.pid)
    if (this.#known !== undefined) this.#closeInfo()
    return this.#known
  }

  #closeInfo(): void {
    if (this.#info !== undefined) closeSync(this.#info)
    this.#info = undefined
  }

  /** Kills the program, its process group and its sandbox immediately. */
  kill(): void {
    if (this.#isGone) return
    const isFirstKill = !this.#isKilled
    this.#isKilled = true
    const first = this.#find()
    if (first !== undefined) {
      // If process 1 of the sandbox is killed, the kernel kills all other processes of the sandbox, and then bubblewrap exits.
      const state = stateOf(first)
      if (state === 'running') killProcess(first.pid)
      // If the state is unknown, the process ID may now belong to another process. Kill bubblewrap instead, because
      // this also ends the sandbox.
      else if (state === 'unknown') killGroup(this.child)
      return
    }
    if (!this.#isStarting()) killGroup(this.child)
    // Wait before killing bubblewrap. If bubblewrap is killed before its sandbox is set up, it leaves a process that
    // never ends.
    else if (isFirstKill) void this.#killStarting()
  }

  async #killStarting(): Promise<void> {
    await waitUntil(
      () => this.#find() !== undefined || !this.#isStarting(),
      () => undefined,
      INFO_MS,
    )
    if (this.#find() !== undefined) this.kill()
    else if (!this.#isGone) killGroup(this.child)
  }

  /** Whether bubblewrap still runs and has not reported the first process of the sandbox yet. */
  #isStarting(): boolean {
    const isRunning = this.child.exitCode === null && this.child.signalCode === null
    return this.#info !== undefined && isRunning
  }

  async #end(onEnded: () => void): Promise<void> {
    killGroup(this.child)
    const first = this.#find()
    if (first === undefined) {
      const { pid } = this.child
      await waitUntil(
        () => !hasGroup(pid),
        () => killGroup(this.child),
        GROUP_END_MS,
      )
    } else {
      const hasEnded = (): boolean => stateOf(first) === 'ended'
      const end = (): void => {
        if (stateOf(first) === 'running') killProcess(first.pid)
      }
      await waitUntil(hasEnded, end, SANDBOX_END_MS)
      if (!hasEnded()) {
        onEnded()
        await waitUntil(hasEnded, end)
      }
    }
    this.#isGone = true
    this.#closeInfo()
    onEnded()
  }
}

/** The first process in a sandbox, which has process ID 1 there. `pid` is its process ID on the host. */
interface FirstProcess extends Pick<ProcessStatus, 'startedAt'> {
  readonly pid: number
}

/**
 * Opens a file without a name for the report of bubblewrap. With a pipe, bubblewrap would be ended by its write after
 * the host was killed, and leave a process that waits for it forever.
 */
function openInfo(folder: string): number | undefined {
  const path = join(folder, `.info-${randomUUID()}`)
  try {
    const descriptor = openSync(path, 'wx+', 0o600)
    unlinkSync(path)
    return descriptor
  } catch {
    return undefined // starting bubblewrap will fail, too, or its end is found by the process group
  }
}

const MAX_INFO = 1_024

/**
 * @param bubblewrap the expected parent of the reported process. While bubblewrap is the parent, the reported ID
 * belongs to no other process
 */
function readFirstProcess(info: number, bubblewrap: number | undefined): FirstProcess | undefined {
  const buffer = Buffer.alloc(MAX_INFO)
  const text = buffer.toString('latin1', 0, readSync(info, buffer, 0, MAX_INFO, 0))
  const pid = Number(/"child-pid": *(\d+)\D/.exec(text)?.[1])
  if (!(pid > 0)) return undefined
  const status = readStatus(pid)
  if (status === undefined || status === 'unknown' || status.parent !== bubblewrap) return undefined
  return { pid, startedAt: status.startedAt }
}

function sendFilter(descriptor: Writable | undefined, filter: Uint8Array | undefined): void {
  // Ignore write errors: if bubblewrap exits before it reads the filter, its exit code reports the failure.
  descriptor?.on('error', () => undefined)
  descriptor?.end(filter)
}

/** Returns the state of the first process in a sandbox. If this process is a zombie, all processes of the sandbox have ended. */
function stateOf({ pid, startedAt }: FirstProcess): 'running' | 'ended' | 'unknown' {
  const status = readStatus(pid)
  if (status === 'unknown') return 'unknown'
  return status?.startedAt === startedAt && !/[ZX]/.test(status.state) ? 'running' : 'ended'
}

/**
 * Calls `holds` repeatedly until `holds` returns true. Without `withinMs`, there is no deadline, and the timer does not
 * keep the host running.
 */
async function waitUntil(holds: () => boolean, attempt: () => void, withinMs = Infinity): Promise<void> {
  const deadline = performance.now() + withinMs
  for (
    let pauseMs = 1;
    !holds() && performance.now() < deadline;
    pauseMs = Math.min(pauseMs * 2, LONGEST_POLL_MS)
  ) {
    attempt()
    await new Promise(resolve => {
      const timer = setTimeout(resolve, pauseMs)
      if (withinMs === Infinity) timer.unref()
    })
  }
}
