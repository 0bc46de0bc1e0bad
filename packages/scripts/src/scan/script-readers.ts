import { ScriptThread } from '../script-thread.ts'
import type { Answer, Question } from '../script-worker.ts'

/** A question for a parser thread, with the skill for which it is asked. */
export interface Asked {
  /**
   * The skill that owns the script. The threads work on one question per skill at a time, so a skill with many questions does not delay other skills.
   */
  readonly skill: string
  /** Equal for equal texts. */
  readonly identity: string
  readonly question: Question
  /** Cancels the question. A cancelled question has the answer `broken`. */
  readonly signal?: AbortSignal
}

interface Waiting extends Asked, PromiseWithResolvers<Answer> {}

const MAX_THREADS = 2
const MAX_KEPT = 500
const BROKEN = { kind: 'broken' } as const

/** A small pool of threads that parse scripts, shared by all skills. */
export class ScriptReaders {
  /** Waiting questions by skill. The threads take the next question from the first skill in this map. */
  readonly #waiting = new Map<string, readonly Waiting[]>()
  readonly #idle: ScriptThread[] = Array.from({ length: MAX_THREADS }, () => new ScriptThread())
  readonly #threads: readonly ScriptThread[] = [...this.#idle]
  readonly #busy = new Set<string>()
  /** Identities of questions that broke a thread. These questions are not asked again. */
  readonly #broken = new Set<string>()
  readonly #end = new AbortController()

  /** @throws {Error} when the machine cannot start a thread */
  async ask(asked: Asked): Promise<Answer> {
    const { skill, identity, signal } = asked
    if (this.#end.signal.aborted || signal?.aborted === true || this.#broken.has(identity)) return BROKEN
    const ending = AbortSignal.any([this.#end.signal, ...(signal === undefined ? [] : [signal])])
    const waiting: Waiting = { ...asked, signal: ending, ...Promise.withResolvers<Answer>() }
    const giveUp = (): void => waiting.resolve(BROKEN)
    ending.addEventListener('abort', giveUp, { once: true })
    this.#waiting.set(skill, [...(this.#waiting.get(skill) ?? []), waiting])
    this.#work()
    try {
      return await waiting.promise
    } finally {
      ending.removeEventListener('abort', giveUp)
    }
  }

  async close(): Promise<void> {
    this.#end.abort()
    await Promise.all(this.#threads.map(async thread => await thread.end()))
  }

  #work(): void {
    for (const [skill, [next, ...others]] of this.#waiting) {
      const thread = this.#busy.has(skill) ? undefined : this.#idle.shift()
      if (thread === undefined || next === undefined) continue
      this.#waiting.delete(skill)
      if (others.length > 0) this.#waiting.set(skill, others)
      this.#busy.add(skill)
      void this.#answer(thread, next).then(() => {
        this.#busy.delete(skill)
        // Put the thread first, so that running threads are used before another thread is started.
        this.#idle.unshift(thread)
        this.#work()
      })
    }
  }

  async #answer(
    thread: ScriptThread,
    { question, identity, signal, resolve, reject }: Waiting,
  ): Promise<void> {
    const isGivenUp = (): boolean => signal?.aborted === true
    if (isGivenUp()) return
    try {
      const answer = await thread.ask(question, signal)
      if (answer.kind === 'broken' && !isGivenUp()) this.#remember(identity)
      resolve(answer)
    } catch (thrown) {
      reject(thrown)
    }
  }

  #remember(identity: string): void {
    const [oldest] = this.#broken
    if (this.#broken.size >= MAX_KEPT && oldest !== undefined) this.#broken.delete(oldest)
    this.#broken.add(identity)
  }
}
