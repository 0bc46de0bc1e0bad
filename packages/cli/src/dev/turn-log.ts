import type { PrefixReading } from '@skillstoke/agent'
import type { SessionUpdate } from '@skillstoke/core'
import type { ModelCall, Told, Turn } from '../client/api-types.ts'

const MAX_TURNS = 50
const MAX_ANSWER = 2_000

/** Keeps the last turns of one conversation, for the page. */
export class TurnLog {
  readonly #onChange: () => void
  #turns: readonly Turn[] = []

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  list(): readonly Turn[] {
    return this.#turns
  }

  begin(turn: number, question: string): void {
    const begun: Turn = { turn, question, told: [], calls: [], answer: null, failure: null }
    this.#turns = [...this.#turns, begun].slice(-MAX_TURNS)
    this.#onChange()
  }

  told({ text, tokens }: SessionUpdate): void {
    const told: Told = { text, tokens }
    this.#change(turn => ({ ...turn, told: [...turn.told, told] }))
  }

  called(step: number, prefix: PrefixReading): void {
    const call: ModelCall = {
      step,
      prefix: prefix.digest,
      last: prefix.last ?? null,
      sentBefore: prefix.sentBefore ?? null,
      isUnchanged: prefix.isUnchanged,
    }
    this.#change(turn => ({ ...turn, calls: [...turn.calls, call] }))
  }

  answered(answer: string): void {
    const beginning = answer.length > MAX_ANSWER ? `${answer.slice(0, MAX_ANSWER - 1)}…` : answer
    this.#change(turn => ({ ...turn, answer: beginning }))
  }

  failed(failure: string): void {
    this.#change(turn => ({ ...turn, failure }))
  }

  #change(change: (turn: Turn) => Turn): void {
    const last = this.#turns.at(-1)
    if (last === undefined) return
    this.#turns = [...this.#turns.slice(0, -1), change(last)]
    this.#onChange()
  }
}
