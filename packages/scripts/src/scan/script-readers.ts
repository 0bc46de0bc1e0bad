import { Turns, untilAborted } from '@skillstoke/core/internal'
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

const MAX_THREADS = 2
const MAX_KEPT = 500
const BROKEN = { kind: 'broken' } as const

/** A small pool of threads that parse scripts, shared by all skills. */
export class ScriptReaders {
  readonly #turns = new Turns(MAX_THREADS)
  /** The last question of each skill that has one. */
  readonly #last = new Map<string, Promise<unknown>>()
  readonly #threads: readonly ScriptThread[] = Array.from({ length: MAX_THREADS }, () => new ScriptThread())
  /** The thread that was used last is the last one, so that running threads are used before another one is started. */
  readonly #idle: ScriptThread[] = [...this.#threads]
  /** Identities of questions that broke a thread. These questions are not asked again. */
  readonly #broken = new Set<string>()
  readonly #end = new AbortController()

  /** @throws {Error} when the machine cannot start a thread */
  async ask(asked: Asked): Promise<Answer> {
    const { skill, signal } = asked
    const ending = AbortSignal.any([this.#end.signal, ...(signal === undefined ? [] : [signal])])
    const before = this.#last.get(skill)
    const answer = (async () => {
      await before?.catch(() => undefined)
      return await this.#turns.run(async () => await this.#answer(asked, ending))
    })()
    this.#last.set(skill, answer)
    void answer
      .catch(() => undefined)
      .then(() => this.#last.get(skill) === answer && this.#last.delete(skill))
    // A cancelled question does not wait for its turn.
    return await untilAborted(ending, answer).catch((thrown: unknown) => {
      if (ending.aborted) return BROKEN
      throw thrown
    })
  }

  async close(): Promise<void> {
    this.#end.abort()
    await Promise.all(this.#threads.map(async thread => await thread.end()))
  }

  async #answer({ identity, question }: Asked, signal: AbortSignal): Promise<Answer> {
    if (signal.aborted || this.#broken.has(identity)) return BROKEN
    // A question in its turn always finds a thread.
    const thread = this.#idle.pop() as ScriptThread
    try {
      const answer = await thread.ask(question, signal)
      if (answer.kind === 'broken' && !signal.aborted) this.#remember(identity)
      return answer
    } finally {
      this.#idle.push(thread)
    }
  }

  #remember(identity: string): void {
    const [oldest] = this.#broken
    if (this.#broken.size >= MAX_KEPT && oldest !== undefined) this.#broken.delete(oldest)
    this.#broken.add(identity)
  }
}
