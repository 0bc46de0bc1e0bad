import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { Redaction } from './redact.ts'
import { withoutControls } from './without-controls.ts'

/** Maximum amount of script output that is kept, in bytes per stream. */
export interface OutputLimits {
  readonly stdout: number
  readonly stderr: number
}

export const DEFAULT_OUTPUT_LIMITS: Readonly<OutputLimits> = Object.freeze({
  stdout: 1_048_576,
  stderr: 262_144,
})

const MAX_LINE = 65_536

/**
 * Reads one output stream. Emits complete lines, and stores the output up to a limit. Removes control characters and
 * secrets from the emitted lines and from the stored output. Reads and discards all output beyond the limit.
 */
export class Output {
  readonly #limit: number
  readonly #redaction: Redaction
  readonly #onLine: (text: string) => void
  readonly #decoder = new StringDecoder('utf8')
  readonly #kept: string[] = []
  #size = 0
  #line = ''
  #isTruncated = false
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>

  constructor(stream: Readable, limit: number, redaction: Redaction, onLine: (text: string) => void) {
    this.#limit = limit
    this.#redaction = redaction
    this.#onLine = onLine
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    stream.on('data', (data: Buffer) => this.#take(data))
    // A broken pipe counts as the end of the stream.
    stream.on('error', () => resolve())
    stream.on('close', () => resolve())
    stream.on('end', () => {
      if (this.#line !== '') this.#onLine(this.#clean(this.#line))
      this.#line = ''
      resolve()
    })
  }

  get text(): string {
    const clean = this.#clean(this.#kept.join(''))
    return this.#isTruncated ? clean.slice(0, clean.length - this.#redaction.partAtEnd(clean)) : clean
  }

  get isTruncated(): boolean {
    return this.#isTruncated
  }

  /** Discards the stored output. Called before the same process runs the next command. */
  reset(): void {
    this.#kept.length = 0
    this.#size = 0
    this.#line = ''
    this.#isTruncated = false
  }

  #take(data: Buffer): void {
    const room = this.#limit - this.#size
    this.#size += data.length
    if (room <= 0) {
      this.#cut()
      return
    }
    const text = this.#decoder.write(data.length > room ? data.subarray(0, room) : data)
    this.#kept.push(text)
    const lines = `${this.#line}${text}`.split('\n')
    this.#line = lines.pop() ?? ''
    for (const line of lines) this.#onLine(this.#clean(line))
    if (this.#line.length > MAX_LINE) this.#break()
    if (data.length > room) this.#cut()
  }

  /** Emits the beginning of an unfinished line. Leaves out the last characters if they could be the beginning of a secret. */
  #break(): void {
    const clean = this.#clean(this.#line)
    const end = clean.length - this.#redaction.partAtEnd(clean)
    if (end > 0) this.#onLine(clean.slice(0, end))
    this.#line = clean.slice(end)
  }

  #cut(): void {
    if (this.#isTruncated) return
    this.#break()
    this.#line = ''
    this.#isTruncated = true
    this.#onLine(`... more than ${this.#limit} bytes; the rest is not kept`)
  }

  // Removes control characters first, because they could split a secret.
  #clean(text: string): string {
    return this.#redaction.text(withoutControls(text))
  }
}
