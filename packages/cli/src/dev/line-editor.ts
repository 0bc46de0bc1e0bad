/** What a key did: it edited the line, submitted the line, or cancelled the line. */
export type LineOutcome = 'editing' | 'submitted' | 'cancelled'

/** The part of a line that fits into a terminal, and the column of the cursor in that part. */
export interface LineView {
  readonly text: string
  readonly column: number
}

const graphemes = new Intl.Segmenter()
/** Characters that take two columns: emoji, and the scripts of East Asia. */
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/u

/** A line of text that a person edits with the keys of a terminal. */
export class LineEditor {
  readonly #history: readonly string[]
  /** The entry of the history that is shown. Equals the length of the history while the user writes a new line. */
  #entry: number
  /** The text to the left of the cursor. */
  #before = ''
  /** The text to the right of the cursor. */
  #after = ''

  /** @param history earlier lines, oldest first */
  constructor(history: readonly string[]) {
    this.#history = history
    this.#entry = history.length
  }

  get text(): string {
    return `${this.#before}${this.#after}`
  }

  /** Applies a key, as `splitKeys` returns it. Ignores unknown keys. */
  press(key: string): LineOutcome {
    switch (key) {
      case '\r':
      case '\n':
        return 'submitted'
      case '\u001b': // Esc
      case '\u0003': // Ctrl-C
        return 'cancelled'
      case '\u0004': // Ctrl-D
        return this.text === '' ? 'cancelled' : 'editing'
      case '\u007f':
      case '\b':
        this.#before = this.#before.slice(0, this.#before.length - lastOf(this.#before).length)
        break
      case '\u001b[3~': // Delete
        this.#after = this.#after.slice(firstOf(this.#after).length)
        break
      case '\u0015': // Ctrl-U
        this.#before = ''
        break
      case '\u001b[D': // left
        this.#moveTo(this.#before.length - lastOf(this.#before).length)
        break
      case '\u001b[C': // right
        this.#moveTo(this.#before.length + firstOf(this.#after).length)
        break
      case '\u001b[H': // Home
      case '\u001b[1~':
      case '\u0001': // Ctrl-A
        this.#moveTo(0)
        break
      case '\u001b[F': // End
      case '\u001b[4~':
      case '\u0005': // Ctrl-E
        this.#moveTo(this.text.length)
        break
      case '\u001b[A': // up
        this.#show(this.#entry - 1)
        break
      case '\u001b[B': // down
        this.#show(this.#entry + 1)
        break
      case '\t':
        this.#before += ' '
        break
      default:
        if (!/\p{Cc}/u.test(key)) this.#before += key
    }
    return 'editing'
  }

  /** Returns the part of the line around the cursor that fits into `columns`. */
  view(columns: number): LineView {
    let left = ''
    let column = 0
    for (const each of split(this.#before).reverse()) {
      if (column + widthOf(each) > columns) break
      left = `${each}${left}`
      column += widthOf(each)
    }
    let right = ''
    let width = column
    for (const each of split(this.#after)) {
      width += widthOf(each)
      if (width > columns) break
      right += each
    }
    return { text: `${left}${right}`, column }
  }

  #moveTo(position: number): void {
    const { text } = this
    this.#before = text.slice(0, position)
    this.#after = text.slice(position)
  }

  #show(entry: number): void {
    if (entry < 0 || entry > this.#history.length) return
    this.#entry = entry
    this.#before = this.#history[entry] ?? ''
    this.#after = ''
  }
}

/** Splits the input of a terminal into keys. An escape sequence is one key. */
export function splitKeys(input: string): readonly string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
  return input.match(/\u001b\[[0-?]*[ -/]*[@-~]|\u001bO.|\u001b[^[O]|[\s\S]/gu) ?? []
}

function split(text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment)
}

function firstOf(text: string): string {
  return split(text)[0] ?? ''
}

function lastOf(text: string): string {
  return split(text).at(-1) ?? ''
}

function widthOf(grapheme: string): number {
  return WIDE.test(grapheme) ? 2 : 1
}
