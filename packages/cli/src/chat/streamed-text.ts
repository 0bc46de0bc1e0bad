import { toTerminalText } from '../terminal/output.ts'

// The next character decides whether these characters are shown as they are: invisible characters, the first half of a
// surrogate pair, and a carriage return.
const UNDECIDED = /[\p{Default_Ignorable_Code_Point}\p{Cs}\r]+$/u

/**
 * Makes text safe for a terminal while the text arrives in parts. Holds back invisible characters at the end of a part,
 * because some of them are ordinary before the right character, for example between two emoji.
 */
export class StreamedText {
  /** The current line, as it arrived. */
  #line = ''
  /** Number of characters of the safe line that were returned. */
  #shown = 0

  /** Adds a part. Returns the text that can be printed now. */
  push(part: string): string {
    this.#line += part
    const lineEnd = this.#line.lastIndexOf('\n') + 1
    const ready = lineEnd > 0 ? this.#take(this.#line.slice(0, lineEnd)) : ''
    if (lineEnd > 0) this.#begin(this.#line.slice(lineEnd))
    return ready + this.#take(this.#line.replace(UNDECIDED, ''))
  }

  /** Ends the text. Returns the part that was held back. */
  end(): string {
    const rest = this.#take(this.#line)
    this.#begin('')
    return rest
  }

  #begin(line: string): void {
    this.#line = line
    this.#shown = 0
  }

  /** Converts the line from its beginning, because the text before a character decides, too. */
  #take(line: string): string {
    const safe = toTerminalText(line.replaceAll('\r\n', '\n'))
    const fresh = safe.slice(this.#shown)
    this.#shown = Math.max(this.#shown, safe.length)
    return fresh
  }
}
