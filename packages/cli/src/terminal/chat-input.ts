/** What a person typed, or why nothing more comes. */
export type Typed =
  | { readonly kind: 'message'; readonly text: string }
  /** The input ended, for example with Ctrl-D. */
  | { readonly kind: 'end' }
  /** Ctrl-C or a signal ended the chat. While a question is asked, Ctrl-C ends only the question. */
  | { readonly kind: 'interrupted' }

/** Where the messages of a chat come from. */
export interface ChatInput {
  /** Whether a person can be asked again after a wrong answer. */
  readonly isInteractive: boolean
  /** Whether `readAnswer` can return an answer. */
  readonly canAnswer: boolean
  /** Returns the next message, which may have several lines. */
  readMessage(): Promise<Typed>
  /** Asks a question. Returns the answer, which has one line. */
  readAnswer(question: string): Promise<Typed>
  /** Runs work that Ctrl-C or a signal aborts. */
  run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T>
}

/** The input of `--ask`: one message, without a person who could answer questions. */
export class OneMessage implements ChatInput {
  readonly isInteractive = false
  readonly canAnswer = false
  readonly #signal: AbortSignal
  #text: string | undefined

  constructor(text: string, signal: AbortSignal) {
    this.#text = text
    this.#signal = signal
  }

  async readMessage(): Promise<Typed> {
    const text = this.#text
    this.#text = undefined
    if (this.#signal.aborted) return { kind: 'interrupted' }
    return text === undefined ? { kind: 'end' } : { kind: 'message', text }
  }

  async readAnswer(): Promise<Typed> {
    return { kind: 'end' }
  }

  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return await work(this.#signal)
  }
}
