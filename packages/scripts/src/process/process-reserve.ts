import type { ScriptAccess } from '../access/script-access.ts'
import { providedModules } from '../provided-modules.ts'
import type { PooledProcess } from './pooled-program.ts'
import type { ProcessStarter } from './process-starter.ts'

// Delay before a reserve process starts, so that the call that waits for new code runs first.
const START_DELAY_MS = 25

interface Waiting extends PooledProcess {
  readonly containment: string
}

/**
 * Keeps at most one reserve process: a contained process that has an empty folder and has loaded no skill. `keep()` starts the process. The process ends when `keep()` has not been called for some time.
 */
export class ProcessReserve {
  readonly #starter: ProcessStarter
  readonly #keepMs: number
  #waiting: Waiting | undefined
  #starting: Promise<void> | undefined
  readonly #ending = new Set<Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #startTimer: NodeJS.Timeout | undefined
  #isClosed = false

  /**
   * @param keepMs how long the process is kept after the last call of `keep()`, in milliseconds; 0 disables the reserve
   */
  constructor(starter: ProcessStarter, keepMs: number) {
    this.#starter = starter
    this.#keepMs = keepMs
  }

  /** Returns the reserve process if its restrictions match `access`. The caller then owns the process. */
  async take(access: ScriptAccess): Promise<PooledProcess | undefined> {
    if (this.#waiting === undefined && this.#starting === undefined) return undefined
    const containment = await this.#starter.nameContainment(access)
    // If a reserve process is already starting, wait for it, because it is ready sooner than a new process.
    await this.#starting
    const waiting = this.#waiting
    if (waiting === undefined || waiting.containment !== containment) return undefined
    if (!waiting.process.isUsable) return undefined
    this.#waiting = undefined
    const { containment: _, ...taken } = waiting
    taken.process.ref()
    return taken
  }

  /** Starts a reserve process with this access in the background, unless there already is one. Restarts the timer that ends the reserve process. */
  keep(access: ScriptAccess): void {
    if (this.#isClosed || this.#keepMs === 0) return
    this.#endLater()
    this.#startTimer ??= setTimeout(() => this.#begin(access), START_DELAY_MS).unref()
  }

  /** Ends the reserve process, and starts no further process. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#startTimer)
    await this.#starting
    this.#drop()
    await Promise.all(this.#ending)
  }

  #endLater(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => this.#drop(), this.#keepMs).unref()
  }

  #begin(access: ScriptAccess): void {
    this.#startTimer = undefined
    this.#starting ??= this.#start(access)
      // Ignore the failure: without a reserve process, code is loaded into a new process.
      .catch(() => undefined)
      .finally(() => (this.#starting = undefined))
  }

  async #start(access: ScriptAccess): Promise<void> {
    const containment = await this.#starter.nameContainment(access)
    if (containment === undefined || this.#waiting?.containment === containment || this.#isClosed) return
    this.#drop()
    const waiting = { ...(await this.#starter.startEmpty(access)), isReserved: true, containment }
    waiting.process.unref()
    const { modules, validator } = providedModules()
    waiting.process.prepare([modules['skillstoke/command'], validator, modules.zod])
    this.#waiting = waiting
    // Restart the timer, because it may have expired while the process was starting.
    this.#endLater()
    void waiting.process.exited.then(() => {
      if (this.#waiting === waiting) this.#drop()
    })
  }

  #drop(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined) return
    // If a folder cannot be removed now, the next call of `discard()` tries again.
    waiting.process.ref()
    const ending = this.#starter.end(waiting).finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }
}
