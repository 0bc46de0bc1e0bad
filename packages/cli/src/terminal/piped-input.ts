import { createInterface, type Interface } from 'node:readline'
import type { ChatInput, Typed } from './chat-input.ts'
import { UsageError } from './exit-code.ts'
import { MessageComposer } from './message-composer.ts'

/** Reads one message per line from standard input, when no person types at a terminal. */
export class PipedInput implements ChatInput, Disposable {
  readonly isInteractive = false
  readonly canAnswer = true
  readonly #signal: AbortSignal
  readonly #reader: Interface
  readonly #lines: AsyncIterator<string>
  readonly #composer = new MessageComposer()
  /** Resolves when the signal aborts. */
  readonly #aborted: Promise<undefined>

  constructor(signal: AbortSignal) {
    this.#signal = signal
    this.#reader = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })
    this.#lines = this.#reader[Symbol.asyncIterator]()
    this.#aborted = new Promise(resolve =>
      signal.addEventListener('abort', () => resolve(undefined), { once: true }),
    )
  }

  async readMessage(): Promise<Typed> {
    for (;;) {
      const typed = await this.readAnswer()
      if (typed.kind === 'message') {
        const text = this.#composer.push(typed.text)
        if (text !== undefined) return { kind: 'message', text }
        continue
      }
      if (typed.kind === 'end' && this.#composer.isInBlock)
        throw new UsageError('the input ended inside a block; end the block with a line """')
      if (typed.kind === 'end' && this.#composer.isOpen)
        return { kind: 'message', text: this.#composer.end() }
      return typed
    }
  }

  async readAnswer(): Promise<Typed> {
    const next = this.#signal.aborted ? undefined : await Promise.race([this.#lines.next(), this.#aborted])
    if (next === undefined) return { kind: 'interrupted' }
    return next.done === true ? { kind: 'end' } : { kind: 'message', text: next.value }
  }

  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return await work(this.#signal)
  }

  [Symbol.dispose](): void {
    this.#reader.close()
    process.stdin.pause()
  }
}
