import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'
import type { ScriptLine } from '../../index.ts'

/** How much of what a script writes is kept, in bytes. */
export interface OutputLimits {
  readonly stdout: number
  readonly stderr: number
}

export const DEFAULT_OUTPUT_LIMITS: Readonly<OutputLimits> = Object.freeze({
  stdout: 1_048_576,
  stderr: 262_144,
})

const MAX_LINE = 65_536

/** Follows one output: whole lines as they come, and a beginning that is kept. Reads on beyond the limit, and keeps nothing. */
export class Output {
  readonly #limit: number
  readonly #onLine: (text: string) => void
  readonly #decoder = new StringDecoder('utf8')
  readonly #kept: string[] = []
  #size = 0
  #line = ''
  #isTruncated = false
  /** Resolves when nothing more can come. */
  readonly ended: Promise<void>

  constructor(stream: Readable, limit: number, onLine: (text: string) => void) {
    this.#limit = limit
    this.#onLine = onLine
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    stream.on('data', (data: Buffer) => this.#take(data))
    // A pipe that breaks is at its end.
    stream.on('error', () => resolve())
    stream.on('close', () => resolve())
    stream.on('end', () => {
      this.#flush()
      resolve()
    })
  }

  get text(): string {
    return this.#kept.join('')
  }

  get isTruncated(): boolean {
    return this.#isTruncated
  }

  /** Begins anew, for the next call of the same process. */
  reset(): void {
    this.#kept.length = 0
    this.#size = 0
    this.#line = ''
    this.#isTruncated = false
  }

  /** Tells of a line without an end. */
  #flush(): void {
    if (this.#line !== '') this.#onLine(this.#line)
    this.#line = ''
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
    for (const line of lines) this.#onLine(line.replace(/\r$/, ''))
    if (this.#line.length > MAX_LINE) this.#flush()
    if (data.length > room) this.#cut()
  }

  #cut(): void {
    if (this.#isTruncated) return
    this.#flush()
    this.#isTruncated = true
    this.#onLine(`... more than ${this.#limit} bytes; the rest is not kept`)
  }
}

/** Text without what would move a cursor, change a colour or hide something on a terminal. */
export function withoutControls(text: string): string {
  return stripVTControlCharacters(text).replace(/(?![\t\n])\p{Cc}/gu, '')
}

export function toLine(stream: ScriptLine['stream'], text: string): ScriptLine {
  return { stream, text: withoutControls(text) }
}
