const INTERVAL_MS = 100

/** One line on standard error that shows how far a long operation is. Writes nothing if standard error is no terminal. */
export class ProgressLine implements Disposable {
  readonly #isShown = process.stderr.isTTY === true
  #writtenAt = 0
  #isOpen = false

  show(step: string, done: number, total?: number): void {
    const now = performance.now()
    if (!this.#isShown || (now - this.#writtenAt < INTERVAL_MS && done !== total)) return
    this.#writtenAt = now
    this.#isOpen = true
    process.stderr.write(`\r\u001b[K${step}: ${done}${total === undefined ? '' : ` of ${total}`}`)
  }

  /** Removes the line. */
  end(): void {
    if (this.#isOpen) process.stderr.write('\r\u001b[K')
    this.#isOpen = false
  }

  [Symbol.dispose](): void {
    this.end()
  }
}
