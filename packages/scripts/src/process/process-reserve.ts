import type { ScriptAccess } from '../access/script-access.ts'
import { providedModules } from '../provided-modules.ts'
import type { PooledProcess } from './pooled-program.ts'
import type { ProcessStarter } from './process-starter.ts'

// Delay before a reserve process starts, so that the call that waits for new code runs first.
const START_DELAY_MS = 25

/** A reserve process, which may still be starting. */
interface Waiting {
  readonly containment: string
  /** `undefined` if the process could not be started. */
  readonly pooled: Promise<PooledProcess | undefined>
}

/**
 * Keeps at most one reserve process: a contained process that has an empty folder and has loaded no skill. `keep()` starts the process. The process ends when `keep()` has not been called for some time.
 */
export class ProcessReserve {
  readonly #starter: ProcessStarter
  readonly #keepMs: number
  #waiting: Waiting | undefined
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
    const waiting = this.#waiting
    if (waiting === undefined) return undefined
    if (waiting.containment !== (await this.#starter.nameContainment(access))) return undefined
    // If the reserve process is still starting, wait for it, because it is ready sooner than a new process.
    const pooled = await waiting.pooled
    if (this.#waiting !== waiting || pooled?.process.isUsable !== true) return undefined
    this.#waiting = undefined
    pooled.process.ref()
    return pooled
  }

  /** Starts a reserve process with this access in the background, unless there already is one. Restarts the timer that ends the reserve process. */
  keep(access: ScriptAccess): void {
    if (this.#isClosed || this.#keepMs === 0) return
    this.#endLater()
    this.#startTimer ??= setTimeout(() => void this.#begin(access), START_DELAY_MS).unref()
  }

  /** Ends the reserve process, and starts no further process. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#startTimer)
    this.#drop()
    await Promise.all(this.#ending)
  }

  #endLater(): void {
    clearTimeout(this.#timer)
    if (!this.#isClosed) this.#timer = setTimeout(() => this.#drop(), this.#keepMs).unref()
  }

  async #begin(access: ScriptAccess): Promise<void> {
    this.#startTimer = undefined
    const containment = await this.#starter.nameContainment(access)
    if (containment === undefined || this.#waiting?.containment === containment || this.#isClosed) return
    this.#drop()
    // Without a reserve process, code is loaded into a new process.
    const waiting = { containment, pooled: this.#start(access).catch(() => undefined) }
    this.#waiting = waiting
    const pooled = await waiting.pooled
    // Restart the timer, because much of its time may have passed while the process was starting.
    this.#endLater()
    await pooled?.process.exited
    if (this.#waiting === waiting) this.#drop()
  }

  async #start(access: ScriptAccess): Promise<PooledProcess> {
    const pooled = { ...(await this.#starter.startEmpty(access)), isReserved: true }
    pooled.process.unref()
    const { modules, validator } = providedModules()
    pooled.process.prepare([modules['skillstoke/command'], validator, modules.zod])
    return pooled
  }

  #drop(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined) return
    const ending = waiting.pooled
      .then(async pooled => {
        pooled?.process.ref()
        // If a folder cannot be removed now, the next call of `discard()` tries again.
        if (pooled !== undefined) await this.#starter.end(pooled)
      })
      .finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }
}
