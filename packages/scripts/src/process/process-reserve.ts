import type { ScriptAccess } from '../access/script-access.ts'
import { providedModules } from '../provided-modules.ts'
import type { PooledProcess } from './pooled-program.ts'
import type { ProcessStarter } from './process-starter.ts'

// Lets the call that waits for the new code run first.
const START_DELAY_MS = 25

interface Waiting extends PooledProcess {
  readonly containment: string
}

/**
 * Keeps at most one contained process without a skill, in its own empty folder, for code with ordinary access. The
 * first `keep` starts it; it ends when no `keep` has followed for a while.
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

  /** Returns the reserved process if its containment matches `access`. The caller then owns it. */
  async take(access: ScriptAccess): Promise<PooledProcess | undefined> {
    if (this.#waiting === undefined && this.#starting === undefined) return undefined
    const containment = await this.#starter.nameContainment(access)
    // A process that is starting is ready sooner than a new one.
    await this.#starting
    const waiting = this.#waiting
    if (waiting === undefined || waiting.containment !== containment) return undefined
    if (!waiting.process.isUsable) return undefined
    this.#waiting = undefined
    const { containment: _, ...taken } = waiting
    taken.process.ref()
    return taken
  }

  /** Starts a process for such code in the background unless one waits, and restarts its timer. */
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
    // The start may have taken longer than the timer.
    this.#endLater()
    void waiting.process.exited.then(() => {
      if (this.#waiting === waiting) this.#drop()
    })
  }

  #drop(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined) return
    // A folder that cannot be removed is retried with the next removal.
    waiting.process.ref()
    const ending = this.#starter.end(waiting).finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }
}
