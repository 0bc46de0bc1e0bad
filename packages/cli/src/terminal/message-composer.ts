const FENCE = '"""'
const CONTINUED = /(?<!\\)(?:\\\\)*\\$/

export interface LineOptions {
  /** Whether the line was pasted together with the following line. A pasted line never ends a message. */
  readonly isPasted?: boolean
}

/**
 * Joins lines to messages. A line that ends with `\` continues on the next line. Lines between two `"""` are one
 * message. Pasted lines are one message, and their text is not changed.
 */
export class MessageComposer {
  #lines: string[] = []
  #isInBlock = false

  /** True if a message has begun and is not complete. */
  get isOpen(): boolean {
    return this.#lines.length > 0 || this.#isInBlock
  }

  /** True after `"""`, until the closing `"""`. */
  get isInBlock(): boolean {
    return this.#isInBlock
  }

  /** Adds a line. Returns the message if the line completes it. */
  push(line: string, { isPasted = false }: LineOptions = {}): string | undefined {
    if (isPasted) {
      this.#lines.push(line)
      return undefined
    }
    if (this.#isInBlock) return this.#pushToBlock(line)
    if (this.#lines.length === 0 && line.trimStart().startsWith(FENCE)) {
      this.#isInBlock = true
      const rest = line.trimStart().slice(FENCE.length)
      return rest.trim() === '' ? undefined : this.#pushToBlock(rest)
    }
    if (CONTINUED.test(line)) {
      this.#lines.push(line.slice(0, -1))
      return undefined
    }
    this.#lines.push(line)
    return this.end()
  }

  /** Returns the message so far, and starts a new message. */
  end(): string {
    const message = this.#lines.join('\n')
    this.clear()
    return message.replace(/\s+$/, '')
  }

  /** Discards the message. */
  clear(): void {
    this.#lines = []
    this.#isInBlock = false
  }

  #pushToBlock(line: string): string | undefined {
    const text = line.trimEnd()
    if (!text.endsWith(FENCE)) {
      this.#lines.push(line)
      return undefined
    }
    const last = text.slice(0, -FENCE.length)
    if (last !== '') this.#lines.push(last)
    return this.end()
  }
}
