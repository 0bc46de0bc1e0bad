import {
  clearLine,
  clearScreenDown,
  createInterface,
  cursorTo,
  type Interface,
  type Key,
  moveCursor,
} from 'node:readline'
import { Readable } from 'node:stream'
import type { ChatInput, Typed } from './chat-input.ts'
import { EXIT_INTERRUPTED } from './exit-code.ts'
import { MessageComposer } from './message-composer.ts'
import { paint } from './output.ts'

export interface ChatTerminalOptions {
  /** Completes a line, in the form of `node:readline`. @default no completion */
  readonly complete?: (line: string) => [string[], string]
  /** @default '> ' */
  readonly prompt?: string
  /**
   * Gets each key that is pressed while nothing is read. Esc and an empty line then cancel a message, and Ctrl-C
   * interrupts at once. @default keys are text for the next message
   */
  readonly onKey?: (key: string) => void
  /** Ends the chat when a signal other than Ctrl-C arrives. */
  readonly signal: AbortSignal
}

const CONTINUED_PROMPT = '… '
const HISTORY_SIZE = 1_000
// A key, or an escape sequence.
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
const KEY = /^(?:\u001b\[[0-?]*[ -/]*[@-~]|\u001bO.|\u001b[^[O]|[\s\S])/u
const CTRL_C = '\u0003'
// With bracketed paste, the terminal marks the beginning and the end of pasted text.
const PASTE_ON = '\u001b[?2004h'
const PASTE_OFF = '\u001b[?2004l'
// The line editor completes only if Tab is the last character that it gets.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the terminal sends these characters
const END_OF_PIECE = /[\r\n\t]|\u001b\[20[01]~/
// biome-ignore lint/suspicious/noControlCharactersInRegex: the terminal sends these characters
const END_OF_PASTED_PIECE = /[\r\n]|\u001b\[201~/

/**
 * A terminal at which a person types messages, with history and completion. While an answer is printed, typed text is
 * held and appears at the next prompt.
 */
export class ChatTerminal implements ChatInput, Disposable {
  readonly isInteractive = true
  readonly canAnswer = true
  readonly #options: ChatTerminalOptions
  /** The keys that the line editor gets. It gets none while nothing is read. */
  readonly #keys = new TerminalKeys()
  readonly #lines: Interface
  readonly #composer = new MessageComposer()
  #held = ''
  #reading: { readonly isMessage: boolean; readonly resolve: (typed: Typed) => void } | undefined
  #work: AbortController | undefined
  /** How often Ctrl-C was pressed during the current work. */
  #interrupts = 0
  #isPasting = false
  /** Whether the last key at an empty prompt was Ctrl-C. */
  #isLeaving = false
  #isEnded = false

  constructor(options: ChatTerminalOptions) {
    this.#options = options
    this.#lines = createInterface({
      input: this.#keys,
      output: process.stdout,
      terminal: true,
      historySize: HISTORY_SIZE,
      removeHistoryDuplicates: true,
      crlfDelay: Number.POSITIVE_INFINITY,
      // A pasted tab is text.
      completer: (line: string) =>
        this.#isPasting ? [['\t'], ''] : (options.complete?.(line) ?? [[], line]),
    })
    this.#keys.prependListener('keypress', (_text: string | undefined, { name }: Key) => {
      if (name === 'paste-start' || name === 'paste-end') this.#isPasting = name === 'paste-start'
      if (name === 'escape' && options.onKey !== undefined) this.#cancel()
    })
    this.#lines.on('line', line => this.#onLine(line))
    this.#lines.on('history', (history: string[]) => {
      // Answers to questions are no messages.
      if (this.#reading?.isMessage === false) history.shift()
    })
    this.#lines.on('SIGINT', () => this.#onInterrupt())
    this.#lines.on('close', () => this.#onEnd())
    process.stdin.setEncoding('utf8')
    process.stdin.on('data', this.#onData)
    process.stdin.on('end', this.#onInputEnd)
    options.signal.addEventListener('abort', this.#onSignal, { once: true })
    process.stdout.write(PASTE_ON)
  }

  async readMessage(): Promise<Typed> {
    return await this.#read(true, this.#prompt)
  }

  async readAnswer(question: string): Promise<Typed> {
    return await this.#read(false, paint('yellow', `${question} `))
  }

  async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    this.#work = controller
    this.#interrupts = 0
    try {
      return await work(AbortSignal.any([controller.signal, this.#options.signal]))
    } finally {
      this.#work = undefined
    }
  }

  /** Prints text above the prompt, or at the cursor if there is no prompt. */
  print(text: string): void {
    if (this.#reading === undefined) {
      process.stdout.write(text)
      return
    }
    const { rows } = this.#lines.getCursorPos()
    moveCursor(process.stdout, 0, -rows)
    cursorTo(process.stdout, 0)
    clearScreenDown(process.stdout)
    // The line editor moves the cursor up by the number of rows before it draws the prompt again.
    process.stdout.write(text + '\n'.repeat(rows))
    this.#lines.prompt(true)
  }

  [Symbol.dispose](): void {
    this.#options.signal.removeEventListener('abort', this.#onSignal)
    process.stdin.off('data', this.#onData)
    process.stdin.off('end', this.#onInputEnd)
    this.#lines.close()
    process.stdin.pause()
    process.stdout.write(PASTE_OFF)
  }

  get #prompt(): string {
    const { prompt = '> ' } = this.#options
    return paint('cyan', prompt)
  }

  async #read(isMessage: boolean, prompt: string): Promise<Typed> {
    if (this.#options.signal.aborted) return { kind: 'interrupted' }
    if (this.#isEnded) return { kind: 'end' }
    return await new Promise(resolve => {
      this.#reading = { isMessage, resolve }
      this.#lines.setPrompt(prompt)
      this.#lines.prompt()
      this.#feed()
    })
  }

  #finish(typed: Typed): void {
    const reading = this.#reading
    this.#reading = undefined
    // If the user pasted several lines, the other lines must not act as single keys.
    if (this.#options.onKey !== undefined) this.#held = ''
    reading?.resolve(typed)
  }

  /** Removes the line that the user writes. */
  #cancel(): void {
    if (this.#reading === undefined) return
    this.#composer.clear()
    this.#lines.write(null, { ctrl: true, name: 'e' })
    this.#lines.write(null, { ctrl: true, name: 'u' })
    cursorTo(process.stdout, 0)
    clearLine(process.stdout, 0)
    this.#finish({ kind: 'end' })
  }

  /** Gives pressed keys to the listener, until one of them asks for a message. */
  #pressKeys(onKey: (key: string) => void): void {
    while (this.#reading === undefined && this.#held !== '') {
      const [key = ''] = KEY.exec(this.#held) ?? []
      this.#held = this.#held.slice(key.length)
      onKey(key)
    }
  }

  readonly #onData = (text: string): void => {
    const { onKey } = this.#options
    if (onKey !== undefined && this.#reading === undefined) {
      this.#held += text
      this.#pressKeys(onKey)
    } else if (this.#reading === undefined && text.includes(CTRL_C)) {
      // As in a shell, Ctrl-C also discards what was typed before it.
      this.#held = text.slice(text.lastIndexOf(CTRL_C) + 1)
      this.#interruptWork()
    } else this.#held += text
    this.#feed()
  }

  /** Gives typed text to the line editor until a message is complete. */
  #feed(): void {
    while (this.#reading !== undefined && this.#held !== '') {
      const end = (this.#isPasting ? END_OF_PASTED_PIECE : END_OF_PIECE).exec(this.#held)
      const piece = end === null ? this.#held : this.#held.slice(0, end.index + end[0].length)
      this.#held = this.#held.slice(piece.length)
      this.#keys.emit('data', piece)
    }
  }

  #onLine(line: string): void {
    this.#isLeaving = false
    if (this.#reading?.isMessage !== true) {
      this.#finish({ kind: 'message', text: line })
      return
    }
    const text = this.#composer.push(line, { isPasted: this.#isPasting })
    if (text !== undefined && text !== '') this.#finish({ kind: 'message', text })
    else if (this.#options.onKey !== undefined && !this.#composer.isOpen) this.#finish({ kind: 'end' })
    else this.#promptAgain()
  }

  #promptAgain(): void {
    this.#lines.setPrompt(this.#composer.isOpen ? paint('cyan', CONTINUED_PROMPT) : this.#prompt)
    this.#lines.prompt()
  }

  /** Ctrl-C at a prompt discards the message. At an empty prompt, a second Ctrl-C ends the chat. */
  #onInterrupt(): void {
    const isEmpty = this.#lines.line === '' && !this.#composer.isOpen
    const { onKey } = this.#options
    const ends = onKey !== undefined || this.#reading?.isMessage === false || (isEmpty && this.#isLeaving)
    this.#isLeaving = isEmpty
    this.#composer.clear()
    // Moves the cursor to the end of the line, and removes the line.
    this.#lines.write(null, { ctrl: true, name: 'e' })
    this.#lines.write(null, { ctrl: true, name: 'u' })
    process.stdout.write('^C\n')
    if (ends) {
      this.#finish({ kind: 'interrupted' })
      return
    }
    if (isEmpty) process.stdout.write(paint('dim', 'press Ctrl-C again to end, or Ctrl-D\n'))
    this.#promptAgain()
  }

  /** The first Ctrl-C aborts the work. If the work does not stop, the third Ctrl-C ends the process. */
  #interruptWork(): void {
    if (this.#work === undefined) return
    this.#interrupts++
    this.#work.abort()
    if (this.#interrupts === 2)
      process.stdout.write(paint('dim', '\nstill stopping; press Ctrl-C again to end at once\n'))
    if (this.#interrupts < 3) return
    this[Symbol.dispose]()
    process.exit(EXIT_INTERRUPTED)
  }

  #onEnd(): void {
    this.#isEnded = true
    if (this.#reading === undefined) return
    process.stdout.write('\n')
    this.#finish({ kind: 'end' })
  }

  readonly #onInputEnd = (): void => this.#lines.close()

  readonly #onSignal = (): void => {
    if (this.#reading !== undefined) process.stdout.write('\n')
    this.#finish({ kind: 'interrupted' })
  }
}

/** Gives the line editor the keys of the terminal, in pieces. */
class TerminalKeys extends Readable {
  override _read(): void {
    // Nothing is buffered here, because ChatTerminal emits the pieces itself.
  }

  /** Called by the line editor, which reads single keys instead of lines. */
  setRawMode(isRaw: boolean): this {
    process.stdin.setRawMode(isRaw)
    return this
  }
}
