/// <reference lib="esnext.disposable" preserve="true" />

import type { SessionState, SkillSession } from '@skillstoke/core'

/**
 * Work that may load skills before its messages are stored. Unless it is kept, its end stops the tools that still run, and
 * makes the session forget what they loaded, because no stored message contains it.
 */
export class Attempt implements Disposable {
  readonly #session: SkillSession
  readonly #before: SessionState
  readonly #stop = new AbortController()
  #isKept = false

  constructor(session: SkillSession) {
    this.#session = session
    this.#before = session.state()
  }

  /** Aborts with the given signal, and when the attempt ends. */
  signal(given: AbortSignal): AbortSignal {
    return AbortSignal.any([this.#stop.signal, given])
  }

  keep(): void {
    this.#isKept = true
  }

  [Symbol.dispose](): void {
    if (this.#isKept) return
    this.#stop.abort()
    if (!this.#session.isClosed) this.#session.revert(this.#before)
  }
}
