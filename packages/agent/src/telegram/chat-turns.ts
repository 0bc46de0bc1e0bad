import type { Logger } from '@skillstoke/core'
import type { TurnResult } from '../agent-event.ts'
import type { Conversation } from '../conversation.ts'
import type { CallAnswer, PendingCall } from '../pending-calls.ts'
import type { SkillAgent } from '../skill-agent.ts'
import type { TurnInput } from '../turn-input.ts'
import {
  type ApprovalCall,
  type Decisions,
  keyOfCall,
  readDecisions,
  renderKeyboard,
  renderQuestion,
} from './approval-keyboard.ts'
import { type ChatPlace, toConversationId } from './chat-place.ts'
import type { ChatSender } from './chat-sender.ts'
import { CHAT_TEXTS } from './chat-texts.ts'
import type { IncomingPress } from './read-update.ts'

export interface ChatTurnsParts {
  readonly agent: SkillAgent
  readonly sender: ChatSender
  readonly logger: Logger
}

/** The message that asks for the approval of calls in one conversation. */
interface OpenQuestion {
  readonly messageId: number
  readonly decisions: Decisions
}

/** How often one turn may request tools that only another host can run. */
const MAX_CLIENT_ROUNDS = 5
const NO_DECISIONS: Decisions = new Map()

/** Runs the turns of chats, sends the answers, and asks for approvals. The caller keeps the order within a chat. */
export class ChatTurns {
  readonly #parts: ChatTurnsParts
  readonly #questions = new Map<string, OpenQuestion>()
  /** The conversations in which a turn runs. */
  readonly #running = new Set<string>()

  constructor(parts: ChatTurnsParts) {
    this.#parts = parts
  }

  isRunning(place: ChatPlace): boolean {
    return this.#running.has(toConversationId(place))
  }

  /** Opens the conversation of a chat. Opens it again if the agent closed it in the meantime. */
  async open(place: ChatPlace): Promise<Conversation> {
    return await this.#parts.agent.open(toConversationId(place))
  }

  /** Runs a turn and sends the answer. Rejects if the turn fails. */
  async run(place: ChatPlace, input: TurnInput): Promise<void> {
    await this.closeQuestion(place)
    await this.#deliver(place, await this.#answer(place, input))
  }

  /** Repeats a failed turn. If calls wait for approval, asks again. */
  async retry(place: ChatPlace): Promise<void> {
    const { messages, pending } = await this.open(place)
    const approvals = pending.filter(isApproval)
    if (approvals.length > 0) {
      await this.closeQuestion(place)
      await this.#ask(place, approvals)
    } else if (messages.length === 0 || messages.at(-1)?.role === 'assistant')
      await this.#parts.sender.say(place, CHAT_TEXTS.nothingToRetry)
    else await this.run(place, { retry: true })
  }

  /** Records the decision about one call. Continues the turn when all calls are decided. */
  async decide(
    place: ChatPlace,
    messageId: number,
    { queryId, press, keyboard }: IncomingPress,
  ): Promise<void> {
    const { sender } = this.#parts
    const { pending } = await this.open(place)
    const approvals = pending.filter(isApproval)
    if (approvals.every(call => keyOfCall(call) !== press.call)) {
      await sender.answerPress(queryId, CHAT_TEXTS.isClosed)
      await sender.setKeyboard(place, messageId)
      return
    }
    const question = this.#questions.get(toConversationId(place))
    // The shown keyboard is older than the recorded decisions if two buttons were pressed quickly.
    const known = question?.messageId === messageId ? question.decisions : NO_DECISIONS
    const decisions = new Map([...readDecisions(keyboard), ...known])
    if (decisions.has(press.call)) {
      await sender.answerPress(queryId, CHAT_TEXTS.isDecided)
      return
    }
    const isApproved = press.action === 'approve'
    decisions.set(press.call, isApproved)
    this.#questions.set(toConversationId(place), { messageId, decisions })
    await sender.answerPress(queryId, isApproved ? CHAT_TEXTS.approved : CHAT_TEXTS.declined)
    await sender.setKeyboard(place, messageId, renderKeyboard(approvals, decisions))
    if (!approvals.every(call => decisions.has(keyOfCall(call)))) return
    // The keyboard stays, because it shows the decisions.
    this.#questions.delete(toConversationId(place))
    await this.run(place, { answers: pending.map(call => toAnswer(call, decisions)) })
  }

  /** Removes the buttons of the open question. A new message declines the calls. */
  async closeQuestion(place: ChatPlace): Promise<void> {
    const id = toConversationId(place)
    const question = this.#questions.get(id)
    if (question === undefined) return
    this.#questions.delete(id)
    await this.#parts.sender.setKeyboard(place, question.messageId)
  }

  async #answer(place: ChatPlace, input: TurnInput): Promise<TurnResult> {
    const id = toConversationId(place)
    this.#running.add(id)
    try {
      return await this.#parts.sender.whileTyping(place, async () => {
        let result = await (await this.open(place)).send(input)
        for (let round = 0; round < MAX_CLIENT_ROUNDS && needsOtherHost(result); round++) {
          const answers = result.pending.map(call => toAnswer(call, NO_DECISIONS))
          result = await (await this.open(place)).send({ answers })
        }
        return result
      })
    } finally {
      this.#running.delete(id)
    }
  }

  /** Sends the answer. The conversation has stored it, so a failure to send is only logged. */
  async #deliver(place: ChatPlace, { text, steps, hasReachedLimit, pending }: TurnResult): Promise<void> {
    const { sender, logger } = this.#parts
    const approvals = pending.filter(isApproval)
    try {
      const sent = await sender.sendAnswer(place, text)
      if (hasReachedLimit) await sender.say(place, CHAT_TEXTS.stepLimit(steps))
      if (approvals.length > 0) await this.#ask(place, approvals)
      else if (sent === undefined && !hasReachedLimit) await sender.say(place, CHAT_TEXTS.empty)
    } catch (error) {
      logger.error('an answer could not be sent', { error, conversation: toConversationId(place) })
    }
  }

  async #ask(place: ChatPlace, approvals: readonly ApprovalCall[]): Promise<void> {
    const keyboard = renderKeyboard(approvals, NO_DECISIONS)
    const messageId = await this.#parts.sender.sendAnswer(place, renderQuestion(approvals), keyboard)
    if (messageId !== undefined)
      this.#questions.set(toConversationId(place), { messageId, decisions: NO_DECISIONS })
  }
}

function isApproval(call: PendingCall): call is ApprovalCall {
  return call.kind === 'approval'
}

/** True if all pending calls are calls of tools without `execute`, which this host cannot run. */
function needsOtherHost({ pending }: TurnResult): boolean {
  return pending.length > 0 && !pending.some(isApproval)
}

function toAnswer(call: PendingCall, decisions: Decisions): CallAnswer {
  const { callId } = call
  return isApproval(call)
    ? { callId, approved: decisions.get(keyOfCall(call)) ?? false }
    : { callId, output: 'This tool is not available in Telegram.', isError: true }
}
