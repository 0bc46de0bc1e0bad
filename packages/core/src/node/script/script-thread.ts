import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Answer, Question } from './script-worker.ts'

const DEADLINE_MS = 10_000
const HEAP_MB = 512
const WORKER = new URL(`./script-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/** A thread that may be lost: what is asked of it is somebody's script. */
export class ScriptThread {
  #worker: Worker | undefined
  #queue: Promise<unknown> = Promise.resolve()

  /** One question after the other; `broken` where the answer took too long or more than a thread has. */
  async ask(question: Question): Promise<Answer> {
    const turn = this.#queue.then(() => this.#ask(question))
    this.#queue = turn
    return await turn
  }

  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  async #ask(question: Question): Promise<Answer> {
    this.#worker ??= new Worker(WORKER, {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
    const worker = this.#worker
    worker.ref()
    try {
      const answered = once(worker, 'message', { signal: AbortSignal.timeout(DEADLINE_MS) })
      worker.postMessage(question, [])
      const [answer] = (await answered) as [Answer]
      if (answer.kind === 'broken') await this.close()
      return answer
    } catch {
      await this.close()
      return { kind: 'broken' }
    } finally {
      // Nothing waits for it: it keeps no process alive.
      worker.unref()
    }
  }
}
