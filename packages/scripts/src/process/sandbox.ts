import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { SkillError } from '@skillstoke/core'
import { toMessage } from '@skillstoke/core/internal'
import type { ScriptContainment } from '@skillstoke/core/source'
import { MAIN, providedModules } from '../provided-modules.ts'
import { ContainedProcess } from './contained-process.ts'
import { type Bubblewrap, type Launch, SYSTEM_PATH, toSandboxed, type View, withLimits } from './launch.ts'
import { DEFAULT_OUTPUT_LIMITS } from './output.ts'
import { createRedaction } from './redact.ts'
import { runProgram } from './run-file.ts'
import { isSuperuser, NOBODY } from './script-user.ts'
import { createSystemCallFilter } from './system-call-filter.ts'

/** The values of `SandboxMode`. */
export const SANDBOX_MODES = ['auto', 'require', 'off'] as const

/**
 * Whether scripts run in a sandbox of the operating system, in addition to Node's permissions. `auto`: scripts run in a
 * sandbox if one is available. `require`: scripts are refused if no sandbox is available. `off`: only Node's
 * permissions restrict scripts.
 */
export type SandboxMode = (typeof SANDBOX_MODES)[number]

const PROBE_MS = 10_000

const FILTER_NOTE =
  createSystemCallFilter() === undefined ? `, without a filter of system calls on ${process.arch}` : ''

// Time after which a failed check is repeated, in milliseconds. A failure may be temporary, for example if memory is short.
const RETRY_MS = 10_000

interface Found {
  readonly bubblewrap?: Bubblewrap
  readonly containment: ScriptContainment
}

/** Checks whether this machine has a working sandbox. If bubblewrap is installed but fails, checks again later. */
export class Sandbox {
  readonly #mode: SandboxMode
  readonly #path: string
  #probed: Promise<Found> | undefined
  #retryAt = Infinity

  /** @param path folders in which bubblewrap is searched, in the format of `PATH` */
  constructor(mode: SandboxMode, path: string) {
    this.#mode = mode
    this.#path = path
  }

  async containment(): Promise<ScriptContainment> {
    return (await this.#probe()).containment
  }

  /**
   * Adds limits to a program, and runs the program in a sandbox if one is available.
   * @throws {SkillError} SCRIPT_REFUSED
   */
  async wrap(launch: Launch, view: View): Promise<Launch> {
    const bubblewrap = await this.check()
    return bubblewrap === undefined
      ? withLimits(launch, { hasOwnUsers: false })
      : toSandboxed(bubblewrap, launch, view)
  }

  /**
   * Returns bubblewrap if a sandbox can be started on this machine.
   * @throws {SkillError} SCRIPT_REFUSED when a sandbox is required but not available
   */
  async check(): Promise<Bubblewrap | undefined> {
    const { bubblewrap, containment } = await this.#probe()
    if (bubblewrap === undefined && this.#mode === 'require')
      throw new SkillError('SCRIPT_REFUSED', `a sandbox is required but not available: ${containment.detail}`)
    return bubblewrap
  }

  #probe(): Promise<Found> {
    if (this.#probed !== undefined && performance.now() < this.#retryAt) return this.#probed
    this.#retryAt = Infinity
    this.#probed = this.#look().catch((thrown: unknown) => {
      this.#retryAt = performance.now() + RETRY_MS
      return without(`the search for bubblewrap failed: ${toMessage(thrown)}`)
    })
    return this.#probed
  }

  async #look(): Promise<Found> {
    if (this.#mode === 'off') return without('the sandbox is switched off')
    if (process.platform !== 'linux')
      return without(`bubblewrap is for Linux, and this is ${process.platform}`)
    const path = await findProgram('bwrap', this.#path.split(delimiter))
    if (path === undefined) return without('bubblewrap (bwrap) is not installed')
    const setpriv = isSuperuser() ? await findProgram('setpriv', SYSTEM_PATH) : undefined
    if (isSuperuser() && setpriv === undefined)
      return without(
        'the host runs as root, and setpriv, which runs scripts as another user, is not installed',
      )
    const faults: string[] = []
    // Try all options twice, because a failure may be temporary. Then try without the option that older versions of
    // bubblewrap do not have.
    for (const hasSize of [true, true, false]) {
      const bubblewrap = { path, hasSize, ...(setpriv === undefined ? {} : { setpriv }) }
      const fault = await tryOut(bubblewrap)
      if (fault === undefined)
        return { bubblewrap, containment: { kind: 'sandbox', detail: `bubblewrap, ${path}${FILTER_NOTE}` } }
      faults.push(fault)
    }
    this.#retryAt = performance.now() + RETRY_MS
    return without(`bubblewrap does not work here: ${faults.at(-1)}`)
  }
}

function without(detail: string): Found {
  return { containment: { kind: 'permissions', detail } }
}

/** Searches a list of folders for a program. Returns the path of the program in the first folder that contains it. */
export async function findProgram(
  name: string,
  folders: readonly string[],
  platform: NodeJS.Platform = process.platform,
): Promise<string | undefined> {
  const file = platform === 'win32' ? `${name}.exe` : name
  for (const folder of folders) {
    const path = join(folder, file)
    if (folder === '') continue
    try {
      await access(path, constants.X_OK)
      return path
    } catch {
      // If the file is missing or not executable, try the next folder.
    }
  }
  return undefined
}

/** Runs a minimal program in the sandbox. Returns the error message if the program cannot be run. */
async function tryOut(bubblewrap: Bubblewrap): Promise<string | undefined> {
  const access = {
    readable: [],
    writable: [],
    partial: [],
    identity: '',
    hasNetwork: false,
    hasPrograms: false,
    secrets: {},
    present: new Set<string>(),
    checkedAtMs: 0,
    ...(isSuperuser() ? { user: NOBODY } : {}),
  }
  const { readable } = providedModules()
  const view = { access, readable, scratch: tmpdir(), workingDirectory: '/' }
  // Reads a module of this package, because another user may not be allowed to read the package.
  const launch = toSandboxed(bubblewrap, { command: process.execPath, args: ['--check', MAIN] }, view)
  const program = new ContainedProcess(launch, { env: {}, workingDirectory: '/', hasChannel: false })
  const shown = { name: 'bubblewrap', limits: DEFAULT_OUTPUT_LIMITS, redaction: createRedaction({}) }
  try {
    const { exitCode, stderr } = await runProgram(program, shown, { timeoutMs: PROBE_MS })
    return exitCode === 0 ? undefined : (stderr.trim().split('\n')[0] ?? `exit ${exitCode}`)
  } catch (thrown) {
    return toMessage(thrown)
  }
}
