import { type ScriptAccess, toEnvironment } from '../access/script-access.ts'
import { MAIN, providedModules } from '../provided-modules.ts'
import { SYSTEM_PATH, toNodeLaunch, type View } from './launch.ts'
import type { PooledProcess } from './pooled-program.ts'
import type { ProgramLoaderOptions } from './program-loader.ts'
import { createRedaction } from './redact.ts'
import { ScriptProcess } from './script-process.ts'

/** Starts processes without loading code into them. */
export class ProcessStarter {
  readonly #parts: Pick<ProgramLoaderOptions, 'options' | 'sandbox' | 'folders' | 'setAside'>

  constructor(parts: Pick<ProgramLoaderOptions, 'options' | 'sandbox' | 'folders' | 'setAside'>) {
    this.#parts = parts
  }

  /**
   * Starts a process with the given access. The process reads from `folder`, which may still be empty.
   * @throws {SkillError} SCRIPT_REFUSED
   */
  async start(folder: string, access: ScriptAccess): Promise<PooledProcess> {
    const { options, sandbox, folders, setAside } = this.#parts
    await sandbox.check()
    const scratch = await folders.createScratch(access.user)
    const view: View = {
      access,
      readable: [folder, ...providedModules().readable],
      scratch,
      workingDirectory: access.workspace ?? folder,
      hasChannel: true,
    }
    const process = new ScriptProcess({
      launch: await sandbox.wrap(toNodeLaunch([MAIN], view), view),
      env: toEnvironment(access, scratch, SYSTEM_PATH),
      workingDirectory: view.workingDirectory,
      limits: options.limits,
      redaction: createRedaction(access.secrets),
    })
    const left = setAside.checkAfter(access, process.exited)
    return { process, scratch, access, left, folder, hasOwnFolder: false, isReserved: false }
  }

  /** Starts a process whose program folder is new and empty. @throws {SkillError} SCRIPT_REFUSED */
  async startEmpty(access: ScriptAccess): Promise<PooledProcess> {
    const folder = await this.#parts.folders.create()
    try {
      return { ...(await this.start(folder, access)), hasOwnFolder: true }
    } catch (thrown) {
      await this.#parts.folders.discard(folder)
      throw thrown
    }
  }

  /** Kills a process and removes its folders. */
  async end(pooled: PooledProcess): Promise<void> {
    pooled.process.kill()
    await pooled.process.exited
    await this.discard(pooled)
  }

  /** Removes the folders of a process that has ended. Never fails. */
  async discard({ process, scratch, left, folder, hasOwnFolder }: PooledProcess): Promise<void> {
    await left
    await this.#parts.folders.discard(scratch, process.contained)
    if (hasOwnFolder) await this.#parts.folders.discard(folder)
  }

  /**
   * Returns a name for the restrictions of a process. Processes with the same name have the same restrictions, except
   * that each process has its own folders. Returns `undefined` if `access` includes secrets or granted paths.
   */
  async nameContainment(access: ScriptAccess): Promise<string | undefined> {
    const { readable, writable, partial, secrets, hasNetwork, hasPrograms } = access
    const isPlain = [...readable, ...writable, ...partial, ...Object.keys(secrets)].length === 0
    if (!isPlain) return undefined
    const { kind } = await this.#parts.sandbox.containment()
    return `${kind}${hasNetwork ? ' net' : ''}${hasPrograms ? ' exec' : ''}`
  }
}
