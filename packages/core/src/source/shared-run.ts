/**
 * Runs a function for many callers. Runs never overlap. Callers that arrive during a run share the next run, because
 * the current run may miss their latest changes.
 */
export class SharedRun {
  readonly #work: () => Promise<void>
  #current: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  /** Resolves at the end of a run that began after this call. */
  run(): Promise<void> {
    this.#next ??= this.#start()
    return this.#next
  }

  async #start(): Promise<void> {
    await this.#current.catch(() => undefined)
    this.#next = undefined
    this.#current = this.#work()
    await this.#current
  }
}
