import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { SkillError } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import { killGroup } from '@skillstoke/core/internal/node'
import { spawnGit } from './git-command.ts'

interface Request {
  readonly id: string
  readonly resolve: (bytes: Uint8Array | undefined) => void
  readonly reject: (error: unknown) => void
}

const IDLE_MS = 2_000

/** Reads objects of a bare repository through one git process. The git process ends after a short idle time. */
export class BlobReader {
  readonly #gitDirectory: string
  readonly #queue: Request[] = []
  #child: ChildProcessWithoutNullStreams | undefined
  #chunks: Buffer[] = []
  #length = 0
  #idle: NodeJS.Timeout | undefined

  constructor(gitDirectory: string) {
    this.#gitDirectory = gitDirectory
  }

  /**
   * Returns the bytes of a blob, or `undefined` if the repository does not have it.
   * @throws {SkillError} INVALID_OPTION for a malformed id; IO_FAILED when git cannot be run or ends early
   */
  async read(id: string): Promise<Uint8Array | undefined> {
    if (!/^[0-9a-f]{40,64}$/.test(id))
      throw new SkillError('INVALID_OPTION', `${quote(id)} is not the id of a git object`)
    const child = this.#start()
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>()
    this.#queue.push({ id, resolve, reject })
    child.stdin.write(`${id}\n`)
    return await promise
  }

  /** Ends the process. Pending reads fail. Idempotent. */
  close(): void {
    clearTimeout(this.#idle)
    const child = this.#child
    this.#child = undefined
    killGroup(child)
    this.#fail(new SkillError('CLOSED', 'the repository is closed'))
  }

  #start(): ChildProcessWithoutNullStreams {
    clearTimeout(this.#idle)
    if (this.#child !== undefined) return this.#child
    const child = spawnGit(['cat-file', '--batch'], { gitDirectory: this.#gitDirectory })
    this.#child = child
    const onEnd = (error: unknown): void => {
      if (this.#child !== child) return
      this.#child = undefined
      this.#chunks = []
      this.#length = 0
      this.#fail(error)
    }
    child.on('error', error => onEnd(new SkillError('IO_FAILED', 'git cannot be run', { cause: error })))
    child.on('exit', () => onEnd(new SkillError('IO_FAILED', 'git cat-file ended early')))
    child.stdin.on('error', () => undefined)
    child.stderr.resume()
    child.stdout.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      this.#length += chunk.length
      this.#deliver()
    })
    return child
  }

  #deliver(): void {
    while (this.#queue.length > 0) {
      const answer = this.#take()
      if (answer === undefined) return
      this.#queue.shift()?.resolve(answer.bytes)
    }
    this.#idle = setTimeout(() => this.close(), IDLE_MS).unref()
  }

  /**
   * Removes the first complete answer of git from the received bytes, and returns it. An answer is `<id> blob <size>`,
   * the content and a line feed.
   */
  #take(): { readonly bytes: Uint8Array | undefined } | undefined {
    const first = this.#chunks[0]
    if (first === undefined) return undefined
    let end = first.indexOf(10)
    if (end < 0) {
      end = this.#join().indexOf(10)
      if (end < 0) return undefined
    }
    const [, kind, size] = (this.#chunks[0] as Buffer).subarray(0, end).toString('latin1').split(' ')
    const length = kind === 'missing' ? 0 : Number(size) + 1
    if (this.#length < end + 1 + length) return undefined
    const all = this.#join()
    const bytes = kind === 'blob' ? new Uint8Array(all.subarray(end + 1, end + length)) : undefined
    const rest = all.subarray(end + 1 + length)
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#length = rest.length
    return { bytes }
  }

  #join(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0] as Buffer
  }

  #fail(error: unknown): void {
    for (const { reject } of this.#queue.splice(0)) reject(error)
  }
}
