import type { AgentEvent, PrefixReading } from '@skillstoke/agent'
import type { ModelCall, Turn } from '../client/api-types.ts'

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
    const at = new Date().toISOString()
    const begun: Turn = { turn, at, question, told: [], calls: [], answer: null, failure: null }
    this.#turns = [...this.#turns, begun].slice(-MAX_TURNS)
    this.#onChange()
  }

  /** Records an event of the last turn. */
  note(event: AgentEvent): void {
    switch (event.kind) {
      case 'skills-updated': {
        const { text, tokens } = event.update
        this.#change(turn => ({ ...turn, told: [...turn.told, { text, tokens }] }))
        break
      }
      case 'model-call':
        this.#change(turn => ({ ...turn, calls: [...turn.calls, toCall(event.step, event.prefix)] }))
        break
      case 'model-answer': {
        const { step, usage } = event
        this.#change(turn => ({
          ...turn,
          calls: turn.calls.map(call => (call.step === step ? { ...call, usage } : call)),
        }))
        break
      }
      case 'finish': {
        const answer = event.text
        const beginning = answer.length > MAX_ANSWER ? `${answer.slice(0, MAX_ANSWER - 1)}…` : answer
        this.#change(turn => ({ ...turn, answer: beginning }))
        break
      }
      case 'skill-invoked':
      case 'tool-call':
      case 'tool-result':
      case 'text':
      case 'reasoning':
      case 'compacted':
        break // the log shows only notices, model calls and the whole answer
      default:
        event satisfies never
    }
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

function toCall(step: number, prefix: PrefixReading): ModelCall {
  return {
    step,
    prefix: prefix.digest,
    last: prefix.last ?? null,
    sentBefore: prefix.sentBefore ?? null,
    isUnchanged: prefix.isUnchanged,
    usage: null,
  }
}
