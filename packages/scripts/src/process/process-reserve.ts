import type { ScriptAccess } from '../access/script-access.ts'
import { providedModules } from '../provided-modules.ts'
import type { PooledProcess } from './pooled-program.ts'
import type { ProcessStarter } from './process-starter.ts'

// Delay of the start, so that the call that needs the new code runs first.
const START_DELAY_MS = 25

interface Waiting extends PooledProcess {
  readonly containment: string
}

/**
 * Keeps at most one contained process without a skill, in its own empty folder, for code with ordinary access. The first call of `keep` starts the process. The process ends when `keep` has not been called for some time.
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

  /** @param keepMs how long the process is kept after the last `keep`, in milliseconds; 0 disables the reserve */
  constructor(starter: ProcessStarter, keepMs: number) {
    this.#starter = starter
    this.#keepMs = keepMs
  }

  /** Returns the reserve process if its containment matches `access`. The caller then owns it. */
  async take(access: ScriptAccess): Promise<PooledProcess | undefined> {
    if (this.#waiting === undefined && this.#starting === undefined) return undefined
    const containment = await this.#starter.nameContainment(access)
    // Wait for the process that is already starting, because it is ready sooner than a new one.
    await this.#starting
    const waiting = this.#waiting
    if (waiting === undefined || waiting.containment !== containment) return undefined
    if (!waiting.process.isUsable) return undefined
    this.#waiting = undefined
    const { containment: _, ...taken } = waiting
    taken.process.ref()
    return taken
  }

  /** Starts a process with this access in the background, unless a process already waits. Restarts the timer that ends the waiting process. */
  keep(access: ScriptAccess): void {
    if (this.#isClosed || this.#keepMs === 0) return
    this.#endLater()
    this.#startTimer ??= setTimeout(() => this.#begin(access), START_DELAY_MS).unref()
  }

  /** Ends the waiting process and prevents further starts. Idempotent. */
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
      // Without a reserve, code is loaded into a new process.
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
    // Start the timer again, because it may have expired before the process had started.
    this.#endLater()
    void waiting.process.exited.then(() => {
      if (this.#waiting === waiting) this.#drop()
    })
  }

  #drop(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined) return
    // If the folder cannot be removed, the next removal retries it.
    waiting.process.ref()
    const ending = this.#starter.end(waiting).finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }
}
