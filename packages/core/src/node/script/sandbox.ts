import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Readable } from 'node:stream'
import { type Containment, SkillError, toMessage } from '../../index.ts'
import { type Bubblewrap, type Launch, toSandboxed, type View, withLimits } from './launch.ts'

/**
 * Whether the operating system contains scripts, too. `auto`: where it can. `require`: without it nothing runs. `off`: only
 * the permissions of the runtime do.
 */
export type SandboxMode = 'auto' | 'require' | 'off'

const PROBE_MS = 10_000

// What does not work now may work later: a machine without memory for a moment has a sandbox all the same.
const RETRY_MS = 10_000

interface Found {
  readonly bubblewrap?: Bubblewrap
  readonly containment: Containment
}

/** What was found out about this machine; where a sandbox is there and does not work, that is looked at again. */
export class Sandbox {
  readonly #mode: SandboxMode
  readonly #path: string
  #probed: Promise<Found> | undefined
  #retryAt = Infinity

  /** `path` is where programs are looked for. */
  constructor(mode: SandboxMode, path: string) {
    this.#mode = mode
    this.#path = path
  }

  async containment(): Promise<Containment> {
    return (await this.#probe()).containment
  }

  /**
   * A program with limits, in the sandbox where there is one.
   * @throws {SkillError} SCRIPT_REFUSED
   */
  async wrap(launch: Launch, view: View): Promise<Launch> {
    const bubblewrap = await this.check()
    return bubblewrap === undefined
      ? withLimits(launch, { hasOwnUsers: false })
      : toSandboxed(bubblewrap, launch, view)
  }

  /** What makes the sandbox, if there is one. @throws {SkillError} SCRIPT_REFUSED when there is none and one is demanded */
  async check(): Promise<Bubblewrap | undefined> {
    const { bubblewrap, containment } = await this.#probe()
    if (bubblewrap === undefined && this.#mode === 'require')
      throw new SkillError('SCRIPT_REFUSED', `a sandbox is required and there is none: ${containment.detail}`)
    return bubblewrap
  }

  #probe(): Promise<Found> {
    if (this.#probed !== undefined && performance.now() < this.#retryAt) return this.#probed
    this.#retryAt = Infinity
    this.#probed = this.#look().catch((thrown: unknown) => {
      this.#retryAt = performance.now() + RETRY_MS
      return without(`it cannot be looked for: ${toMessage(thrown)}`)
    })
    return this.#probed
  }

  async #look(): Promise<Found> {
    if (this.#mode === 'off') return without('the sandbox is switched off')
    if (process.platform !== 'linux') return without(`there is none on ${process.platform}`)
    const path = await findProgram('bwrap', this.#path.split(delimiter))
    if (path === undefined) return without('bubblewrap (bwrap) is not installed')
    const faults: string[] = []
    // An older one does not know all options; and what fails once is tried twice.
    for (const hasSize of [true, true, false]) {
      const bubblewrap = { path, hasSize }
      const fault = await tryOut(bubblewrap)
      if (fault === undefined)
        return { bubblewrap, containment: { kind: 'sandbox', detail: `bubblewrap, ${path}` } }
      faults.push(fault)
    }
    this.#retryAt = performance.now() + RETRY_MS
    return without(`bubblewrap does not work here: ${faults.at(-1)}`)
  }
}

function without(detail: string): Found {
  return { containment: { kind: 'permissions', detail } }
}

/** The first of these folders that has a program, with its name. */
export async function findProgram(name: string, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const path = join(folder, name)
    if (folder === '') continue
    try {
      await access(path, constants.X_OK)
      return path
    } catch {
      // Not here, or not for us: the next one.
    }
  }
  return undefined
}

/** What goes wrong when the smallest program runs in it, if anything does. */
async function tryOut(bubblewrap: Bubblewrap): Promise<string | undefined> {
  const access = {
    readable: [],
    writable: [],
    hasNetwork: false,
    hasPrograms: false,
    secrets: {},
  }
  const view = { access, readable: [], scratch: tmpdir(), workingDirectory: '/' }
  const launch = toSandboxed(bubblewrap, { command: process.execPath, args: ['--version'] }, view)
  return await new Promise(resolve => {
    const child = spawn(launch.command, launch.args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: PROBE_MS,
    })
    let said = ''
    child.on('error', error => resolve(toMessage(error)))
    // Where descriptors have run out there is no pipe, and the error comes later.
    const stderr = child.stderr as Readable | null | undefined
    stderr?.on('data', (data: Buffer) => (said += data.toString()))
    child.on('exit', code => resolve(code === 0 ? undefined : (said.trim().split('\n')[0] ?? `exit ${code}`)))
  })
}
