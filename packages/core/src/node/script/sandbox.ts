import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type Containment, SkillError, toMessage } from '../../index.ts'
import { type Launch, toSandboxed, type View } from './launch.ts'

/**
 * Whether the operating system contains scripts, too. `auto`: where it can. `require`: without it nothing runs. `off`: only
 * the permissions of the runtime do.
 */
export type SandboxMode = 'auto' | 'require' | 'off'

const PROBE_MS = 10_000

/** What was found out about this machine, once. */
export class Sandbox {
  readonly #mode: SandboxMode
  readonly #path: string
  #probed: Promise<{ readonly bubblewrap?: string; readonly containment: Containment }> | undefined

  /** `path` is where programs are looked for. */
  constructor(mode: SandboxMode, path: string) {
    this.#mode = mode
    this.#path = path
  }

  async containment(): Promise<Containment> {
    return (await this.#probe()).containment
  }

  /**
   * A program in the sandbox, or as it is where there is none and none is demanded.
   * @throws {SkillError} SCRIPT_REFUSED
   */
  async wrap(launch: Launch, view: View): Promise<Launch> {
    const bubblewrap = await this.check()
    return bubblewrap === undefined ? launch : toSandboxed(bubblewrap, launch, view)
  }

  /** Where the sandbox is, if there is one. @throws {SkillError} SCRIPT_REFUSED when there is none and one is demanded */
  async check(): Promise<string | undefined> {
    const { bubblewrap, containment } = await this.#probe()
    if (bubblewrap === undefined && this.#mode === 'require')
      throw new SkillError('SCRIPT_REFUSED', `a sandbox is required and there is none: ${containment.detail}`)
    return bubblewrap
  }

  #probe(): Promise<{ readonly bubblewrap?: string; readonly containment: Containment }> {
    this.#probed ??= this.#look()
    return this.#probed
  }

  async #look(): Promise<{ readonly bubblewrap?: string; readonly containment: Containment }> {
    const without = (detail: string): { readonly containment: Containment } => ({
      containment: { kind: 'permissions', detail },
    })
    if (this.#mode === 'off') return without('the sandbox is switched off')
    if (process.platform !== 'linux') return without(`there is none on ${process.platform}`)
    const bubblewrap = await findProgram('bwrap', this.#path.split(delimiter))
    if (bubblewrap === undefined) return without('bubblewrap (bwrap) is not installed')
    const fault = await tryOut(bubblewrap)
    if (fault !== undefined) return without(`bubblewrap does not work here: ${fault}`)
    return { bubblewrap, containment: { kind: 'sandbox', detail: `bubblewrap, ${bubblewrap}` } }
  }
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
async function tryOut(bubblewrap: string): Promise<string | undefined> {
  const access = { readable: [], writable: [], hasNetwork: false, hasPrograms: false, secrets: {} }
  const view = { access, readable: [], scratch: tmpdir(), workingDirectory: '/' }
  const launch = toSandboxed(bubblewrap, { command: process.execPath, args: ['--version'] }, view)
  return await new Promise(resolve => {
    const child = spawn(launch.command, launch.args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: PROBE_MS,
    })
    let said = ''
    child.stderr.on('data', (data: Buffer) => (said += data.toString()))
    child.on('error', error => resolve(toMessage(error)))
    child.on('exit', code => resolve(code === 0 ? undefined : (said.trim().split('\n')[0] ?? `exit ${code}`)))
  })
}
