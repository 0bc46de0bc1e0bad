import { createHash } from 'node:crypto'
import { showHiddenText } from '@skillstoke/core'
import type { PendingCall } from '../pending-calls.ts'
import { cutText } from './cut-text.ts'
import type { ShownKeyboard, TelegramButton, TelegramKeyboard } from './telegram-bot.ts'

export type ApprovalCall = Extract<PendingCall, { kind: 'approval' }>
/** Whether each decided call was approved. The key is `keyOfCall`. */
export type Decisions = ReadonlyMap<string, boolean>

/** A press of a button of the keyboard. */
export interface Press {
  readonly call: string
  readonly action: (typeof ACTIONS)[number]
}

const ACTIONS = ['approve', 'decline', 'approved', 'declined'] as const
const MAX_SHOWN_INPUT = 3_000

/**
 * Identifies a call in the data of a button. Telegram limits this data to 64 bytes, and ids may be longer. The id of the
 * approval is unique. The id of a call is not, because some models count their calls in each turn.
 */
export function keyOfCall({ approvalId }: ApprovalCall): string {
  return createHash('sha256').update(approvalId).digest('hex').slice(0, 16)
}

/** Returns the question that asks for the approval of calls, as Markdown. Shows characters that are invisible. */
export function renderQuestion(calls: readonly ApprovalCall[]): string {
  const shown = calls.map((call, index) => {
    const number = calls.length === 1 ? '' : `${index + 1}. `
    const input = showHiddenText(JSON.stringify(call.input, undefined, 2) ?? 'no input')
    const shownInput = cutText(input, MAX_SHOWN_INPUT)
    const omitted = input.length - shownInput.length
    const rest = omitted > 0 ? `\n(${omitted} more characters are not shown.)` : ''
    return `${number}${showHiddenText(call.name)}\n\`\`\`json\n${shownInput}\n\`\`\`${rest}`
  })
  return [calls.length === 1 ? 'May I make this call?' : 'May I make these calls?', ...shown].join('\n\n')
}

/**
 * Returns one row for each call. The row of a decided call shows the decision, so the keyboard itself records the
 * decisions, and a restart does not lose them.
 */
export function renderKeyboard(calls: readonly ApprovalCall[], decisions: Decisions): TelegramKeyboard {
  return {
    inline_keyboard: calls.map((call, index) => {
      const number = calls.length === 1 ? '' : ` ${index + 1}`
      const button = (text: string, action: Press['action']): TelegramButton => ({
        text: `${text}${number}`,
        callback_data: `stoke:${keyOfCall(call)}:${action}`,
      })
      const decision = decisions.get(keyOfCall(call))
      if (decision === undefined) return [button('Approve', 'approve'), button('Decline', 'decline')]
      return [decision ? button('Approved', 'approved') : button('Declined', 'declined')]
    }),
  }
}

/** Returns the decisions that a keyboard shows. */
export function readDecisions(keyboard: ShownKeyboard | undefined): Decisions {
  const presses = (keyboard?.inline_keyboard ?? [])
    .flat()
    .map(({ callback_data: data = '' }) => readPress(data))
  return new Map(
    presses.flatMap(press =>
      press?.action === 'approved' || press?.action === 'declined'
        ? [[press.call, press.action === 'approved'] as const]
        : [],
    ),
  )
}

/** Returns `undefined` if the data belongs to another keyboard. */
export function readPress(data: string): Press | undefined {
  const [, call, word] = /^stoke:([0-9a-f]{16}):(\w+)$/.exec(data) ?? []
  const action = ACTIONS.find(each => each === word)
  return call === undefined || action === undefined ? undefined : { call, action }
}
