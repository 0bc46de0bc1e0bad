import { clearLine, cursorTo } from 'node:readline'
import { StringDecoder } from 'node:string_decoder'
import { printLine } from '../terminal/output.ts'
import { LineEditor, splitKeys } from './line-editor.ts'

/** Width if the terminal reports none, or 0. */
const DEFAULT_COLUMNS = 80
const MAX_HISTORY = 100

/** A line that the user writes now. */
interface Prompt {
  readonly label: string
  readonly editor: LineEditor
  /** Called with `undefined` if the user cancelled the line. */
  readonly onEnd: (line: string | undefined) => void
}

/** The terminal of `stoke dev`: prints lines, listens for single keys, and asks for a line of text. */
export class Terminal implements Disposable {
  readonly #decoder = new StringDecoder('utf8')
  #onKey: ((key: string) => void) | undefined
  #prompt: Prompt | undefined
  /** Earlier answers, oldest first. */
  #history: readonly string[] = []

  /** Prints a line. If the user writes a line, the printed line appears above it. */
  readonly print = (line = ''): void => {
    this.#erase()
    printLine(line)
    this.#draw()
  }

  /** Calls `onKey` for each key pressed, until the terminal is closed. */
  listen(onKey: (key: string) => void): void {
    const { stdin } = process
    this.#onKey = onKey
    stdin.setRawMode(true)
    stdin.resume()
    stdin.on('data', this.#onData)
  }

  /**
   * Asks for one line of text. Meanwhile, `onKey` receives only Ctrl-C. Returns `undefined` if the user cancels with Esc,
   * Ctrl-C or an empty line. Call `ask()` only while the terminal listens.
   */
  async ask(label: string): Promise<string | undefined> {
    return await new Promise(resolve => {
      this.#prompt = { label, editor: new LineEditor(this.#history), onEnd: resolve }
      this.#draw()
    })
  }

  /** Cancels the line that the user writes, and restores the terminal. Idempotent. */
  [Symbol.dispose](): void {
    if (this.#onKey === undefined) return
    const { stdin } = process
    this.#onKey = undefined
    this.#end(undefined)
    stdin.off('data', this.#onData)
    stdin.setRawMode(false)
    stdin.pause()
  }

  readonly #onData = (data: Buffer): void => {
    for (const key of splitKeys(this.#decoder.write(data))) {
      if (this.#prompt === undefined) this.#onKey?.(key)
      // If the user pasted several lines, the other lines must not act as single keys.
      else if (this.#edit(key, this.#prompt)) return
    }
  }

  /** Applies a key to the line. Returns true if the key ended the line. */
  #edit(key: string, { label, editor }: Prompt): boolean {
    const outcome = editor.press(key)
    if (outcome === 'editing') {
      this.#draw()
      return false
    }
    const line = outcome === 'submitted' ? editor.text.trim() : ''
    this.#end(line === '' ? undefined : line)
    if (line !== '') {
      this.#history = [...this.#history, line].slice(-MAX_HISTORY)
      printLine(`${label}${line}`)
    }
    if (key === '\u0003') this.#onKey?.(key)
    return true
  }

  #end(line: string | undefined): void {
    this.#erase()
    this.#prompt?.onEnd(line)
    this.#prompt = undefined
  }

  /** Draws the label and the visible part of the line, which never take more than one row. */
  #draw(): void {
    if (this.#prompt === undefined) return
    const { label, editor } = this.#prompt
    const columns = process.stdout.columns || DEFAULT_COLUMNS
    const { text, column } = editor.view(Math.max(1, columns - label.length - 1))
    this.#erase()
    process.stdout.write(`${label}${text}`)
    cursorTo(process.stdout, label.length + column)
  }

  #erase(): void {
    if (this.#prompt === undefined) return
    cursorTo(process.stdout, 0)
    clearLine(process.stdout, 0)
  }
}
