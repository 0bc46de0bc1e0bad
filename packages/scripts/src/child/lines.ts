/** Makes lines of what comes in pieces. Only a line feed ends one: U+2028 is a character like others in JSON. */
export class Lines {
  readonly #parts: string[] = []
  #length = 0

  /** How many characters there are of a line that has not ended. */
  get pending(): number {
    return this.#length
  }

  /** The lines that end in a piece. */
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
