/** Splits a stream of text chunks into lines. Only a line feed ends a line, because JSON may contain the line separator U+2028. */
export class Lines {
  readonly #parts: string[] = []
  #length = 0

  /** Number of characters in the unfinished line. */
  get pending(): number {
    return this.#length
  }

  /** Adds a chunk and returns the lines that it completes. */
  take(piece: string): readonly string[] {
    const [head = '', ...others] = piece.split('\n')
    const rest = others.pop()
    this.#parts.push(head)
    this.#length += head.length
    if (rest === undefined) return []
    const first = this.#parts.splice(0).join('')
    this.#parts.push(rest)
    this.#length = rest.length
    return [first, ...others]
  }
}
