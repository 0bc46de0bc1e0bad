import { toMessage } from '@skillstoke/core/internal'

/**
 * Closes the parts of a program in the reverse order of their start. Replaces `AsyncDisposableStack`, which Node 22
 * does not have.
 */
export class Parts implements AsyncDisposable {
  readonly #closers: (() => unknown)[] = []

  /** Adds a disposable part. Returns the part. */
  use<T extends AsyncDisposable | Disposable>(part: T): T {
    this.#closers.push(() =>
      Symbol.asyncDispose in part ? part[Symbol.asyncDispose]() : part[Symbol.dispose](),
    )
    return part
  }

  /** Adds a function that is called to close a part. */
  defer(close: () => unknown): void {
    this.#closers.push(close)
  }

  /**
   * Closes every part, even if closing another part fails.
   * @throws {AggregateError} after the last part was closed, with the errors of all parts that failed to close
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = []
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close()
      } catch (thrown) {
        failures.push(thrown)
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(toMessage).join('; '))
  }
}
