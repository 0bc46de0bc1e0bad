import { type SessionState, SkillError } from '@skillstoke/core'
import { quote } from '@skillstoke/core/internal'
import { isAdded, NOTICE_TAG } from './compaction.ts'
import {
  type ConversationMessage,
  type ConversationStore,
  omitTakenBack,
  type SkillUse,
  type StoredMessage,
} from './conversation-store.ts'

/** How the answer of a stored turn came about. */
export interface TurnTrace {
  /** Counted from 1. */
  readonly turn: number
  /** Number of turns of the conversation. */
  readonly turns: number
  /** The message that began the turn. If it invoked a skill, the instructions of that skill. */
  readonly question: string
  /** Wall time of the message, in milliseconds since the epoch. */
  readonly at: number
  readonly steps: readonly TurnStep[]
}

/** One step of a turn. `at` is the wall time at which the result of the step was stored. */
export type TurnStep =
  /** The conversation received a notice of changed skills. */
  | ({ readonly kind: 'notice'; readonly text: string } & Known)
  /** The model answered. The request contained the instructions of each `revision`; `toldRevision` was reported. */
  | ({
      readonly kind: 'model-call'
      readonly text: string
      readonly skills: readonly Pick<LedgerEntry, 'name' | 'revision' | 'toldRevision'>[]
    } & Known)
  /** A skill answered a tool call. */
  | ({ readonly kind: 'skill-use'; readonly at: number } & SkillUse)

type LedgerEntry = SessionState['ledger'][number]

/** The newest generation that the conversation knew. Its number counts in the process that stored the message. */
interface Known extends Partial<NonNullable<StoredMessage['skills']>> {
  readonly at: number
}

/** @throws {SkillError} INVALID_OPTION when the conversation has no such turn */
export async function traceTurn(
  store: ConversationStore,
  tenant: string,
  conversation: string,
  turn?: number,
): Promise<TurnTrace> {
  const turns = splitTurns(await store.read(tenant, conversation))
  const number = turn ?? turns.length
  const [question, ...messages] = findTurn(turns, conversation, number)
  const steps: TurnStep[] = []
  const answers = new Set<string>()
  for (const { seq, role, content, at, skills, uses = [] } of messages) {
    const step = { at, ...skills, text: toText(content) }
    const answer = JSON.stringify(content)
    if (role === 'user' && step.text.startsWith(NOTICE_TAG)) steps.push({ kind: 'notice', ...step })
    // A compaction repeats the answers whose results the model has not seen.
    if (role === 'assistant' && !answers.has(answer)) {
      answers.add(answer)
      const state = await store.readSession(tenant, conversation, seq - 1)
      const had = state?.ledger.map(({ name, revision, toldRevision }) => ({ name, revision, toldRevision }))
      steps.push({ kind: 'model-call', ...step, skills: had ?? [] })
    }
    steps.push(...uses.map(use => ({ kind: 'skill-use', at, ...use }) as const))
  }
  return { turn: number, turns: turns.length, question: toText(question.content), at: question.at, steps }
}

/** @throws {SkillError} INVALID_OPTION when the conversation has no such turn */
export function findTurn(turns: readonly Turn[], conversation: string, turn: number = turns.length): Turn {
  const found = turns[turn - 1]
  if (found !== undefined) return found
  const fault =
    turns.length === 0 ? 'has no turns' : `has no turn ${turn}; the number of its turns is ${turns.length}`
  throw new SkillError('INVALID_OPTION', `the conversation ${quote(conversation)} ${fault}`)
}

/** The messages of a turn. The first one is the question. */
type Turn = readonly [StoredMessage, ...StoredMessage[]]

/** Returns the messages of each turn that was not taken back. */
export function splitTurns(stored: readonly StoredMessage[]): readonly Turn[] {
  const turns: [StoredMessage, ...StoredMessage[]][] = []
  const messages = omitTakenBack(stored)
  let isRepeated = false
  messages.forEach((message, index) => {
    // A compaction repeats the question of an open turn, which has no answer yet.
    if (message.startsOver === true) isRepeated = messages[index - 1]?.role !== 'assistant'
    const isQuestion = message.role === 'user' && !isAdded(message)
    if (isQuestion && !isRepeated) turns.push([message])
    else turns.at(-1)?.push(message)
    if (isQuestion) isRepeated = false
  })
  return turns
}

/** Returns the text of a message, without its other parts. */
export function toText(content: ConversationMessage['content']): string {
  if (!Array.isArray(content)) return String(content)
  const parts = content as readonly { readonly type?: unknown; readonly text?: unknown }[]
  return parts.flatMap(({ type, text }) => (type === 'text' ? String(text) : [])).join('')
}
