import type { ScriptAccess } from '../access/script-access.ts'
import { providedModules } from '../provided-modules.ts'
import type { PooledProcess } from './pooled-program.ts'
import type { ProcessStarter } from './process-starter.ts'

// The call that the new code was loaded for comes first.
const START_DELAY_MS = 25

interface Waiting extends PooledProcess {
  readonly containment: string
}

/**
 * Keeps at most one contained process that knows no skill, with an empty folder of its own, for code that needs no more
 * than it has. It is there from the first `keep` until none has come for a while.
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

  /** @param keepMs how long it is kept after the last `keep`; 0 for no reserve */
  constructor(starter: ProcessStarter, keepMs: number) {
    this.#starter = starter
    this.#keepMs = keepMs
  }

  /** Takes the process if what contains it is what `access` demands. It belongs to the caller from then on. */
  async take(access: ScriptAccess): Promise<PooledProcess | undefined> {
    if (this.#waiting === undefined && this.#starting === undefined) return undefined
    const containment = await this.#starter.nameContainment(access)
    // One that is on its way is still ahead of another one.
    await this.#starting
    const waiting = this.#waiting
    if (waiting === undefined || waiting.containment !== containment) return undefined
    if (!waiting.process.isUsable) return undefined
    this.#waiting = undefined
    const { containment: _, ...taken } = waiting
    taken.process.ref()
    return taken
  }

  /** Starts a process in the background for code like this, unless one waits, and keeps it for a while from now on. */
  keep(access: ScriptAccess): void {
    if (this.#isClosed || this.#keepMs === 0) return
    this.#endLater()
    this.#startTimer ??= setTimeout(() => this.#begin(access), START_DELAY_MS).unref()
  }

  /** Ends what waits, and starts nothing any more. Idempotent. */
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
      // Without one, code is loaded as it is without a reserve.
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
    // Starting it may have taken longer than it is kept.
    this.#endLater()
    void waiting.process.exited.then(() => {
      if (this.#waiting === waiting) this.#drop()
    })
  }

  #drop(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting === undefined) return
    // Whatever fails there is tried again with the next folder that is removed.
    waiting.process.ref()
    const ending = this.#starter.end(waiting).finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }
}
