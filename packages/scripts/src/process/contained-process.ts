import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable, Writable } from 'node:stream'
import { hasGroup, killGroup, killProcess } from '@skillstoke/core/internal/node'
import type { Launch } from './launch.ts'
import { type ProcessStatus, readStatus } from './process-status.ts'

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
   * Resolves when the program has exited and everything in its sandbox has ended, or five seconds after it was killed. Without
   * a sandbox this covers what stayed in the process group.
   */
  readonly ended: Promise<void>
  /** Resolves when the end was seen, which a process that hangs in the kernel delays beyond `ended`. */
  readonly gone: Promise<void>
  readonly #first: Promise<FirstProcess | undefined>
  #known: FirstProcess | undefined
  #isKilled = false
  #isGone = false

  constructor({ command, args, sandbox }: Launch, options: ContainedProcessOptions) {
    const { env, workingDirectory, hasChannel } = options
    const stdio: StdioOptions = [
      'ignore',
      'pipe',
      'pipe',
      hasChannel ? 'pipe' : 'ignore',
      ...(sandbox === undefined ? [] : (['pipe', sandbox.filter === undefined ? 'ignore' : 'pipe'] as const)),
    ]
    this.child = spawn(command, args, {
      env,
      cwd: workingDirectory,
      stdio,
      // Windows has no groups: detached programs get a console window, and others end with the host.
      detached: process.platform !== 'win32',
      windowsHide: true,
    })
    alive.add(this)
    // Where descriptors have run out there are no pipes, and the error comes later.
    const pipes = this.child.stdio as readonly unknown[] | undefined
    this.#first =
      sandbox === undefined
        ? Promise.resolve(undefined)
        : readFirstProcess(pipes?.[INFO_DESCRIPTOR] as Readable | undefined, this.child.pid)
    sendFilter(pipes?.[FILTER_DESCRIPTOR] as Writable | undefined, sandbox?.filter)
    void this.#first.then(first => {
      this.#known = first
      if (this.#isKilled) this.kill()
    })
    const ended = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    this.ended = ended.promise
    this.gone = gone.promise
    void gone.promise.then(() => alive.delete(this))
    const onExit = (): void => void this.#end(ended.resolve).then(gone.resolve)
    this.child.on('error', () => {
      // An error after the start is about a signal, not an end.
      if (this.child.pid === undefined) onExit()
    })
    this.child.on('exit', onExit)
  }

  /** Whether nothing of it runs any more. While this is false, files that it can write must not be removed. */
  get isGone(): boolean {
    return this.#isGone
  }

  /** Lets the host exit while the program still runs; the program ends with it. */
  unref(): void {
    this.child.unref()
    for (const each of this.#pipes()) each?.unref()
  }

  /** Takes `unref` back. */
  ref(): void {
    this.child.ref()
    for (const each of this.#pipes()) each?.ref()
  }

  #pipes(): readonly (Socket | null | undefined)[] {
    // Where descriptors have run out there are no pipes.
    return (this.child.stdio as readonly unknown[] as readonly Socket[] | undefined) ?? []
  }

  /** Ends the program, its group and its sandbox at once. */
  kill(): void {
    if (this.#isGone) return
    const isFirstKill = !this.#isKilled
    this.#isKilled = true
    if (this.#known !== undefined) {
      // With its first process the kernel ends all others of the sandbox, and bubblewrap exits when they are gone.
      const state = stateOf(this.#known)
      if (state === 'running') killProcess(this.#known.pid)
      // Its number may belong to another process by now. The sandbox ends with bubblewrap, too.
      else if (state === 'unknown') killGroup(this.child)
      return
    }
    if (!this.#isStarting()) killGroup(this.child)
    // Bubblewrap that is killed before it has set up its sandbox leaves a process that waits for ever.
    else if (isFirstKill) setTimeout(() => killGroup(this.child), INFO_MS).unref()
  }

  /** Whether bubblewrap has not said yet what it has started. */
  #isStarting(): boolean {
    // Where descriptors have run out there are no pipes.
    const pipes = this.child.stdio as readonly unknown[] | undefined
    const info = pipes?.[INFO_DESCRIPTOR] as Readable | null | undefined
    return info?.readableEnded === false && this.child.exitCode === null && this.child.signalCode === null
  }

  async #end(onEnded: () => void): Promise<void> {
    killGroup(this.child)
    const first = await this.#first
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
    onEnded()
  }
}

/** The process with number 1 of a sandbox, as the host sees it. */
interface FirstProcess extends Pick<ProcessStatus, 'startedAt'> {
  readonly pid: number
}

/** @param bubblewrap as long as it is the parent, the number that it reported belongs to no other process */
async function readFirstProcess(
  info: Readable | undefined,
  bubblewrap: number | undefined,
): Promise<FirstProcess | undefined> {
  if (info === undefined) return undefined
  let text = ''
  info.on('data', (data: Buffer) => (text += data.toString()))
  await new Promise<void>(resolve => info.on('end', resolve).on('error', resolve).on('close', resolve))
  const pid = Number(/"child-pid": *(\d+)/.exec(text)?.[1])
  if (!(pid > 0)) return undefined
  let status = readStatus(pid)
  await waitUntil(
    () => status !== 'unknown',
    () => (status = readStatus(pid)),
  )
  if (status === undefined || status === 'unknown' || status.parent !== bubblewrap) return undefined
  return { pid, startedAt: status.startedAt }
}

function sendFilter(descriptor: Writable | undefined, filter: Uint8Array | undefined): void {
  // Bubblewrap may be gone before it has read anything; its exit says the rest.
  descriptor?.on('error', () => undefined)
  descriptor?.end(filter)
}

/** A zombie has ended, and so has everything in its namespace. */
function stateOf({ pid, startedAt }: FirstProcess): 'running' | 'ended' | 'unknown' {
  const status = readStatus(pid)
  if (status === 'unknown') return 'unknown'
  return status?.startedAt === startedAt && !/[ZX]/.test(status.state) ? 'running' : 'ended'
}

/** Repeats an attempt until `holds` returns true. Without `withinMs` it goes on, and does not keep the host running. */
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
