import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { LATE, untilAborted, waitAtMost } from '@skillstoke/core/internal'
import { systemClock } from '@skillstoke/core/source'
import type { Answer, Question } from './script-worker.ts'

const DEADLINE_MS = 3_000
const HEAP_MB = 512
const BROKEN = { kind: 'broken' } as const
const WORKER = new URL(`./script-worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)

/**
 * A worker thread that parses scripts. If a script makes the thread hang or crash, a new thread replaces
 * it.
 */
export class ScriptThread {
  #worker: Worker | undefined

  /**
   * Returns the answer to a question. Only one question can be asked at a time. Resolves with `broken` if the thread takes too long or runs out of memory.
   * @throws {Error} when the machine cannot start a thread
   */
  async ask(question: Question, signal?: AbortSignal): Promise<Answer> {
    const worker = await this.#open()
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const giveUp = (): void => resolve(BROKEN)
    worker.once('message', resolve)
    worker.once('exit', giveUp)
    worker.ref()
    try {
      worker.postMessage(question, [])
      const outcome = untilAborted(signal, promise).catch(() => BROKEN)
      const answer = await waitAtMost(systemClock, DEADLINE_MS, outcome)
      if (answer !== LATE && answer.kind !== 'broken') return answer
      await this.end()
      return BROKEN
    } finally {
      worker.off('message', resolve)
      worker.off('exit', giveUp)
      // An idle thread must not keep the process alive.
      worker.unref()
    }
  }

  async end(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  /**
   * Returns the thread, and starts it if it does not run. The start of the thread does not count towards the deadline of a question.
   */
  async #open(): Promise<Worker> {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(WORKER, {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
    // Ignore the `error` event, because an `exit` event follows and is handled.
    worker.on('error', () => undefined)
    this.#worker = worker
    await once(worker, 'online')
    return worker
  }
}
