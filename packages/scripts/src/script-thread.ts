import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Answer, Question } from './script-worker.ts'

const DEADLINE_MS = 3_000
const HEAP_MB = 512
const WORKER = new URL(`./script-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/** A thread that may be lost: what is asked of it is somebody's script. Another one takes its place then. */
export class ScriptThread {
  #worker: Worker | undefined

  /**
   * The answer to one question at a time; `broken` where it took too long or more than a thread has.
   * @throws {Error} when the machine has no thread for it
   */
  async ask(question: Question, signal?: AbortSignal): Promise<Answer> {
    const worker = await this.#open()
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const giveUp = (): void => resolve({ kind: 'broken' })
    const timer = setTimeout(giveUp, DEADLINE_MS)
    worker.once('message', resolve)
    worker.once('exit', giveUp)
    signal?.addEventListener('abort', giveUp, { once: true })
    worker.ref()
    try {
      worker.postMessage(question, [])
      const answer = await promise
      if (answer.kind === 'broken') await this.end()
      return answer
    } finally {
      clearTimeout(timer)
      worker.off('message', resolve)
      worker.off('exit', giveUp)
      signal?.removeEventListener('abort', giveUp)
      // Nothing waits for it: it keeps no process alive.
      worker.unref()
    }
  }

  async end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  /** The thread, once it runs: a machine with much to do is nobody's fault. */
  async #open(): Promise<Worker> {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(WORKER, {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
    // Its end is what counts.
    worker.on('error', () => undefined)
    this.#worker = worker
    await once(worker, 'online')
    return worker
  }
}
