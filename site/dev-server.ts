import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const STOKE = resolve(import.meta.dirname, '../packages/cli/bin/stoke.js')
const TIMEOUT_MS = 30_000

/** A running dev server, in the folder `support-desk` of a folder that is removed at the end. */
export class DevServer implements AsyncDisposable {
  readonly folder: string
  readonly #parent: string
  readonly #process: ChildProcess
  #output = ''

  /** @param prepare fills the folder, and returns the arguments of `stoke dev` */
  constructor(prepare: (folder: string) => readonly string[]) {
    this.#parent = mkdtempSync(join(tmpdir(), 'skillstoke-pictures-'))
    this.folder = join(this.#parent, 'support-desk')
    mkdirSync(this.folder)
    const args = ['dev', ...prepare(this.folder), '--state', 'state', '--port', '0']
    this.#process = spawn(process.execPath, [STOKE, ...args], {
      cwd: this.folder,
      env: { ...process.env, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#process.stdout?.setEncoding('utf8').on('data', text => (this.#output += text))
  }

  /** Waits until the output matches a pattern. Returns the output up to the end of the match, and drops it. */
  async printed(pattern: RegExp): Promise<string> {
    const end = AbortSignal.timeout(TIMEOUT_MS)
    for (;;) {
      const match = pattern.exec(this.#output)
      if (match !== null) {
        const length = match.index + match[0].length
        const text = this.#output.slice(0, length)
        this.#output = this.#output.slice(length)
        return text
      }
      if (this.#process.stdout === null) throw new Error('the dev server has no output')
      await once(this.#process.stdout, 'data', { signal: end }).catch((error: unknown) => {
        throw new Error(`the dev server did not print ${pattern}; it printed: ${this.#output}`, {
          cause: error,
        })
      })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGINT')
    await once(this.#process, 'exit')
    rmSync(this.#parent, { recursive: true, force: true })
  }
}
